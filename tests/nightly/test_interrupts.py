"""An interrupt where a lock was just taken."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

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
    ran = subprocess.run(line, capture_output=True, text=True, timeout=900, check=True)
    assert ran.stdout == "interrupted 0\n"
