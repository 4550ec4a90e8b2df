"""CPU seconds of the program, those of its solvers' processes among them."""

from __future__ import annotations

import os

_alive: dict[int, float] = {}


def cpu_s() -> float:
    """CPU seconds of this process, of those that have ended, and of others as last heard of."""
    # The system counts children only once they were waited for; those alive report by message.
    return own_cpu_s() + sum(_alive.values())


def own_cpu_s() -> float:
    """Return CPU seconds of this process and of those that it has started and seen end."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def listen(process: int, seconds: float) -> None:
    """Record the work of a running process so far."""
    _alive[process] = seconds


def end(process: int) -> None:
    """Forget a process that was waited for: the system counts it from then on."""
    _alive.pop(process, None)
