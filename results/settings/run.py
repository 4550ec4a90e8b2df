"""Every way to solve the plain model of the relaxation, to know its best."""

from __future__ import annotations

import sys
from functools import partial

from results.shared.bench import TINY, Bench, BenchLine, Case
from results.shared.models import SETTINGS, plain

CASES = (Case("resnet50", "24MB"), Case("mobilenetv2", "442MB"))
BENCH = Bench(
    file=__file__,
    lines=[
        BenchLine((case.title, case.spm, way), {"": partial(plain, case, way, 60.0)})
        for case in CASES
        for way in SETTINGS
    ],
    quick=partial(plain, TINY, "simplex", 10.0),
)

if __name__ == "__main__":
    sys.exit(BENCH.main())
