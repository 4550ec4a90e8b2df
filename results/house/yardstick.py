"""How fast this machine is: CPU seconds of a fixed piece of work, of the kinds that tests do.

Run as a script it prints them, which CI does again and again while the tests run.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median
from time import process_time

import numpy as np

REFERENCE_S = 0.284
"""Of the machine whose seconds the budget of the tests counts, while they load it.

Alone the work took 0.224 there, where the tests took 654, and a fifth less than under that load:
two processes share a core's caches and units. By the time alone, one machine's scaled seconds
of the same sources moved by 7 %.
"""


def yardstick_s(samples: Path | None = None) -> float:
    """Return the median of five runs, or of those in a file of ``samples``, one a line."""
    if samples is not None:
        return median(map(float, samples.read_text().split()))
    return median(run_once() for _ in range(5))


def scaled(seconds: float, samples: Path | None = None) -> float:
    """Return CPU seconds of this machine as those of the reference, slower or faster."""
    return seconds * REFERENCE_S / yardstick_s(samples)


def run_once() -> float:
    """Return the CPU seconds of the work."""
    began = process_time()
    table: dict[int, tuple[int, int]] = {}
    for number in range(400_000):
        key = number * 7919 % 65_537
        table[key] = (number, table.get(key, (0, 0))[0] + 1)
    rows = np.arange(200_000, dtype=np.float64)
    for _ in range(20):
        rows = np.sort(np.cumsum(rows[::-1]) % 997.0)
    return process_time() - began


if __name__ == "__main__":
    print(run_once())
