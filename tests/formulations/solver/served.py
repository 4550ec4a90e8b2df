"""Functions that ``test_apart`` calls in other processes, which start soon: little is imported."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from time import sleep


def dies(flag: str, times: int) -> str:
    """Kill the process at the first calls, then answer; every call adds a letter to a file."""
    path = Path(flag)
    done = path.read_text() if path.exists() else ""
    path.write_text(done + "x")
    if len(done) < times:
        os.kill(os.getpid(), signal.SIGKILL)
    return "answer"


def dies_after_two(flag: str) -> Iterator[int]:
    """Yield numbers from 0 on; the first time only two of them."""
    for number in range(4):
        if number == 2 and not Path(flag).exists():
            Path(flag).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        yield number


def counts() -> Iterator[int]:
    """Yield numbers, then nothing for long."""
    yield from range(4)
    sleep(60)


def naps() -> Iterator[tuple[int, int]]:
    """Start a program, say both numbers, and wait for it."""
    with subprocess.Popen(["sleep", "60"]) as program:
        yield os.getpid(), program.pid
        program.wait()


class OnlyThere:
    """Raises where it is loaded, unless that is in the process that says so."""

    def __init__(self, process: int) -> None:
        self.process = process

    def __reduce__(self) -> tuple[object, ...]:
        return load_only_in, (self.process,)


def load_only_in(process: int) -> OnlyThere:
    if os.getpid() != process:
        raise LookupError("unknown in this process")
    return OnlyThere(process)
