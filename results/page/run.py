"""Seconds to a certified gap of 0.1 % (page) and 0.01 % (fluid), objective time."""

from __future__ import annotations

import sys
from functools import partial

from results.shared.bench import NETWORKS, SIZES, TINY, Bench, BenchLine, Case
from results.shared.certified import reach
from results.shared.models import priced

PAGE, FLUID = {"wall_s": "≤ 1", "gap": "≤ 0.001"}, {"wall_s": "≤ 2", "gap": "≤ 0.0001"}
LINES = []
for case in (Case(network, spm) for network in NETWORKS for spm in SIZES):
    page, fluid = partial(reach, case, "residency", "time", 1e-3, 30.0), partial(priced, case, 30.0)
    LINES.append(BenchLine((case.network, case.spm, "residency"), {"": page}, PAGE))
    LINES.append(BenchLine((case.network, case.spm, "fluid"), {"": fluid}, FLUID))
BENCH = Bench(
    file=__file__, lines=LINES, quick=partial(reach, TINY, "residency", "time", 1e-3, 10.0)
)

if __name__ == "__main__":
    sys.exit(BENCH.main())
