"""Sweeps that are killed: the same command goes on where they were."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.run import Run
from tests.sweeps.test_command import LINE, SWEEP, untimed


@pytest.mark.parametrize(
    ("ending", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGTERM, 130)]
)
def test_killed_and_taken_up_again(
    run: Run, tmp_path: Path, ending: signal.Signals, code: int
) -> None:
    """By a signal that no process can handle, or by a batch system; its processes end with it."""
    path = tmp_path / "s.csv"
    line = f"{SWEEP} --jobs 2 -o {path}"
    killed = subprocess.Popen([sys.executable, "-m", "spmopt", *line.split()])
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (not path.exists() or path.read_text().count("\n") < 3):
        time.sleep(0.01)
    killed.send_signal(ending)
    assert killed.wait() == code
    assert len(untimed(path)) >= 3
    other = tmp_path / "other.csv"
    assert run(f"{LINE} -o {path}").code == run(f"{LINE} -o {other}").code == 0
    assert untimed(path) == untimed(other)
