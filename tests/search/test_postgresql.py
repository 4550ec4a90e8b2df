"""A study in PostgreSQL, where its server is installed (Debian: postgresql)."""

from __future__ import annotations

import multiprocessing
import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from optuna.trial import TrialState

from spmopt.core.errors import InputError
from spmopt.search.storage import PROCESS, open_storage
from spmopt.search.study import begin, counts, look_up
from tests.search.study import small_setup
from tests.search.test_processes import WAIT_S, share, started

SERVERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
NOBODY = "nobody"


def command(folder: Path, *words: str) -> None:
    """Run a program of the server, which refuses to run as root."""
    as_other = ["setpriv", f"--reuid={NOBODY}", "--clear-groups"] if os.getuid() == 0 else []
    subprocess.run([*as_other, str(SERVERS[-1] / words[0]), *words[1:]], check=True, cwd=folder)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    if not SERVERS or shutil.which("setpriv") is None:
        pytest.skip("no PostgreSQL server is installed (Debian package postgresql)")
    with TemporaryDirectory() as name:
        folder, user = Path(name), pwd.getpwuid(os.getuid()).pw_name
        if os.getuid() == 0:
            user = NOBODY
            os.chown(folder, pwd.getpwnam(NOBODY).pw_uid, -1)
        data, log = str(folder / "data"), str(folder / "log")
        command(folder, "initdb", "-D", data, "-A", "trust", "-U", user, "--no-sync")
        # A socket in a folder of its own: no port that another server may have.
        options = f"-k {folder} -c listen_addresses='' -c fsync=off"
        command(folder, "pg_ctl", "-D", data, "-o", options, "-l", log, "-w", "start")
        yield f"postgresql+psycopg://{user}@/postgres?host={folder}"
        command(folder, "pg_ctl", "-D", data, "-m", "immediate", "stop")


def test_two_processes_share_a_study(url: str) -> None:
    begin(open_storage(url), "s", small_setup())
    barrier = multiprocessing.get_context("spawn").Barrier(2)
    processes = [started(share, url, 8, barrier) for _ in range(2)]
    for process in processes:
        process.join(WAIT_S)
        assert process.exitcode == 0
    study, setup = look_up(open_storage(url), None)
    assert setup == small_setup()
    done = [trial for trial in study.get_trials() if counts(trial)]
    assert [trial.state for trial in done] == [TrialState.COMPLETE] * 8
    assert len({trial.user_attrs[PROCESS] for trial in done}) == 2


def test_a_server_that_does_not_answer_is_one_line() -> None:
    with pytest.raises(InputError, match=r"--storage postgresql.*: cannot be read"):
        open_storage("postgresql+psycopg://nobody@127.0.0.1:1/none")
