"""Work that is killed at moments at which files change, and a command that is killed."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.results.pages import RESULTS
from tests.thorough import THOROUGH

KILL_ONCE = """
from results.kills.commands import CAMPAIGNS
from results.kills.kills import measure
found = measure(CAMPAIGNS["tiles"], 0, 1)
print(found)
wrong = ("differing", "status", "left_behind", "other_files")
assert found["kills"] == 1 and not any(found[name] for name in wrong)
"""


def run(*words: str) -> str:
    """Fork in a process of its own, which has one thread."""
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    done = subprocess.run(
        [sys.executable, *words],
        cwd=RESULTS.parent,
        env={**os.environ, **threads},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_work_goes_on_from_every_moment() -> None:
    steps = {"rows": 5, "values": 5, "file": 3, "tune, SQLite": 190}
    few = [f"{name}:{step if THOROUGH else 3 * step}" for name, step in steps.items()]
    said = run("-m", "results.kills.moments", *few).splitlines()
    assert len(said) == len(few)
    assert all(line.endswith(" moments, 0 wrong") for line in said)


def test_a_command_goes_on_from_kills() -> None:
    assert "'kills': 1" in run("-c", KILL_ONCE)
