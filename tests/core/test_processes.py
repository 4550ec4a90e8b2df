"""Whether a process has ended, by its name: whatever became of its number since."""

from __future__ import annotations

import os
import subprocess
import sys
from time import monotonic, sleep

import pytest

from spmopt.core.processes import has_ended, machine, number_here, own_name

NAP = [sys.executable, "-c", "import sys; sys.stdin.read()"]
PRINT = [sys.executable, "-c", "from spmopt.core.processes import own_name; print(own_name())"]


def test_this_one_lives() -> None:
    assert number_here(own_name()) == os.getpid()
    assert not has_ended(own_name())
    assert not has_ended(f"{machine()}:{os.getpid()}")  # as older versions name it


@pytest.mark.parametrize("name", ["", "far:pid:[1]:12", "x", f"{machine()}:", f"{machine()}:x"])
def test_what_is_not_of_this_machine_is_not_known(name: str) -> None:
    assert number_here(name) is None
    assert not has_ended(name)


def test_one_that_has_ended() -> None:
    name = subprocess.run(PRINT, capture_output=True, text=True, check=True).stdout.strip()
    assert has_ended(name)


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="the system does not say")
def test_one_whose_number_another_has() -> None:
    assert has_ended(f"{machine()}:{os.getpid()}.1")


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="the system does not say")
def test_one_that_nobody_has_waited_for() -> None:
    with subprocess.Popen(NAP, stdin=subprocess.PIPE) as process:
        name = f"{machine()}:{process.pid}"
        assert not has_ended(name)
        process.kill()
        due = monotonic() + 10
        while not has_ended(name) and monotonic() < due:
            sleep(0.01)
        assert has_ended(name)
        assert process.returncode is None
