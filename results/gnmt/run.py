"""GNMT of 50 steps and four gates, some 20,000 operations: seconds to 1 % and 0.2 %, memory."""

from __future__ import annotations

import sys
from functools import partial

from results.shared.bench import GNMT, TINY, Bench, BenchLine, Case
from results.shared.certified import reach

BENCH = Bench(
    file=__file__,
    lines=[
        BenchLine(
            (case.title, case.spm, f"{100 * gap:g} %"),
            {"": partial(reach, case, "page", "time", gap, 600.0)},
            {"wall_s": f"≤ {wall_s}", "gap": f"≤ {gap}", "peak_mb": "≤ 1000"},
        )
        for case in (Case("gnmt", "64MB", parameters) for parameters in GNMT)
        for gap, wall_s in ((1e-2, 60), (2e-3, 120))
    ],
    quick=partial(reach, TINY, "page", "time", 1e-2, 10.0),
)

if __name__ == "__main__":
    sys.exit(BENCH.main())
