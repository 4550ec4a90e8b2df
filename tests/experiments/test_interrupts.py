"""What ends a program, and what waits for it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from time import sleep

import pytest

from spmopt.experiments.interrupts import endings_as_interrupt, handle_signals, unbroken


def interrupted(
    done: list[str], error: Exception | None = None, by: signal.Signals = signal.SIGINT
) -> None:
    with endings_as_interrupt(), unbroken():
        os.kill(os.getpid(), by)
        done.append("all of it")
        if error is not None:
            raise error


def test_an_interrupt_waits_for_the_end() -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted(done)
    assert done == ["all of it"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_goes_before_an_interrupt() -> None:
    with pytest.raises(ValueError, match="first"):
        interrupted([], ValueError("first"))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGHUP])
def test_endings_act_as_ctrl_c(ending: signal.Signals) -> None:
    done: list[str] = []
    before = signal.signal(ending, signal.SIG_DFL)  # under nohup one of them is ignored
    try:
        with pytest.raises(KeyboardInterrupt):
            interrupted(done, by=ending)
        assert signal.getsignal(ending) is signal.SIG_DFL
    finally:
        signal.signal(ending, before)
    assert done == ["all of it"]


def test_endings_act_where_ctrl_c_is_ignored() -> None:
    """As in what a shell's script runs in the background."""
    done: list[str] = []
    before = signal.signal(signal.SIGINT, signal.SIG_IGN), signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        interrupted(done)
        with pytest.raises(KeyboardInterrupt):
            interrupted(done, by=signal.SIGTERM)
        with endings_as_interrupt(), pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGINT, before[0])
        signal.signal(signal.SIGTERM, before[1])
    assert done == ["all of it"] * 2


def test_several_endings_at_once_are_one() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    heard: list[int] = []
    try:
        hear = handle_signals([signal.SIGINT], lambda number, frame: heard.append(number))
        with hear, endings_as_interrupt():
            for _ in range(3):
                os.kill(os.getpid(), signal.SIGTERM)
                sleep(0.01)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert heard == [signal.SIGTERM]


def test_nohup_is_kept() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with endings_as_interrupt():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


BROKEN = """
import signal, sys, threading
from functools import partial
from spmopt.experiments.queue import TaskQueue

enter, (where, skipped) = threading.Condition.__enter__, sys.argv[1:]
left = [1] * (int(skipped) + 1)

def interrupted(condition):
    # As where a signal comes just after the lock was taken: nobody is there to give it back.
    found = enter(condition)
    inside = sys._getframe(1).f_code.co_name == where
    if inside and threading.current_thread() is threading.main_thread() and left:
        left.pop()
        if not left:
            signal.raise_signal(signal.SIGINT)
    return found

threading.Condition.__enter__ = interrupted
if __name__ == "__main__":
    try:
        with TaskQueue(2) as queue:
            for number in range(9):
                queue.add((), partial(pow, number, 2), lambda _: None)
            for _ in queue.steps():
                pass
    except KeyboardInterrupt:
        print("interrupted", len(left))
"""


@pytest.mark.parametrize("words", ["put 2", "wait 0", "wait 1"])
def test_no_lock_stays_held(words: str, tmp_path: Path) -> None:
    """Of a queue, or of what waits for futures: the processes would never end."""
    script = tmp_path / "broken.py"
    script.write_text(BROKEN)
    line = [sys.executable, str(script), *words.split()]
    ran = subprocess.run(line, capture_output=True, text=True, timeout=120, check=True)
    assert ran.stdout == "interrupted 0\n"
