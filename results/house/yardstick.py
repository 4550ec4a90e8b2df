"""How fast this machine is: CPU seconds of a fixed piece of work, of the kinds that tests do."""

from __future__ import annotations

from statistics import median
from time import process_time

import numpy as np

REFERENCE_S = 0.224
"""Of the machine whose seconds the budget of the tests counts: one where they took 654.

The same tests of the same sources took 854 where this takes 0.2925 (and a third of them, of two
commits in turn, the same within 2 %): machines differ by more than commits do. Later ones took 263
where it takes 0.1027, which is 574.
"""


def yardstick_s() -> float:
    """Return the median of five runs."""
    return median(_run() for _ in range(5))


def scaled(seconds: float) -> float:
    """Return CPU seconds of this machine as those of the reference, slower or faster."""
    return seconds * REFERENCE_S / yardstick_s()


def _run() -> float:
    began = process_time()
    table: dict[int, tuple[int, int]] = {}
    for number in range(400_000):
        key = number * 7919 % 65_537
        table[key] = (number, table.get(key, (0, 0))[0] + 1)
    rows = np.arange(200_000, dtype=np.float64)
    for _ in range(20):
        rows = np.sort(np.cumsum(rows[::-1]) % 997.0)
    return process_time() - began
