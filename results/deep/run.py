"""A Transformer of 96 layers, some 11,000 operations: seconds to 0.1 %."""

from __future__ import annotations

import sys
from functools import partial

from results.shared.bench import TINY, Bench, BenchLine, Case
from results.shared.certified import reach

CASES = [Case("transformer", spm, {"layers": 96}) for spm in ("64MB", "128MB", "296MB")]
TARGETS = {"wall_s": "≤ 15", "gap": "≤ 0.001"}
BENCH = Bench(
    file=__file__,
    lines=[
        BenchLine(
            (case.title, case.spm, "0.1 %"),
            {"": partial(reach, case, "page", "time", 1e-3, 120.0)},
            TARGETS,
        )
        for case in CASES
    ],
    quick=partial(reach, TINY, "page", "time", 1e-3, 10.0),
)

if __name__ == "__main__":
    sys.exit(BENCH.main())
