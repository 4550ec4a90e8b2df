"""A bench of a moment for each measurement, to be killed."""

from __future__ import annotations

import sys
from functools import partial
from math import comb
from time import sleep

from results.shared.bench import Bench, BenchLine, Figures


def measure(number: int, seed: int) -> Figures:
    """Count something."""
    sleep(0.05)
    return {"kills": comb(number, 2), "series": seed}


_LINES = [
    BenchLine((f"{number}", "tiny"), {"": partial(measure, number)}) for number in range(2, 5)
]
BENCH = Bench(file=__file__, lines=_LINES, quick=partial(measure, 3, 0), seeded=True)

if __name__ == "__main__":
    sys.exit(BENCH.main())
