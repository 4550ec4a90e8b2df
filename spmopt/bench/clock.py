"""What a stretch of work takes: wall and CPU seconds, and the memory of its process."""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import TypeVar

from spmopt.core.clock import cpu_s

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """Seconds; CPU seconds are those of all threads, and of solvers' processes."""

    wall_s: float
    cpu_s: float


def timed(work: Callable[[], T]) -> tuple[T, Taken]:
    """Call ``work``; give its value and what it took."""
    wall, cpu = monotonic(), cpu_s()
    value = work()
    return value, Taken(wall_s=monotonic() - wall, cpu_s=cpu_s() - cpu)


def peak_mb() -> float:
    """Most memory that this process had so far, 10^6 bytes.

    On Linux that is at least what its parent had when it started it, so the parent is kept small.
    """
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
