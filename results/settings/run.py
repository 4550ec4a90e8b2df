"""Every way to solve the plain model of the relaxation, to know its best."""

from __future__ import annotations

import sys
from functools import partial
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from results.shared.bench import TINY, Bench, Case, Line
from results.shared.models import SETTINGS, plain

CASES = (Case(network="resnet50", spm="24MB"), Case(network="mobilenetv2", spm="442MB"))
BENCH = Bench(
    file=__file__,
    heads=["network", "SPM", "setting"],
    lines=[
        Line(
            cells=(case.title, case.spm, way),
            parts={"": partial(plain, case, way, 60.0)},
            targets={},
        )
        for case, way in product(CASES, SETTINGS)
    ],
    columns={
        **{"build_s": "build s", "solve_s": "solve s", "cpu_s": "CPU s", "columns": "columns|n"},
        **{"ending": "ended", "value_ms": "value ms|ms"},
    },
    quick=partial(plain, TINY, "simplex", 10.0),
)

if __name__ == "__main__":
    sys.exit(BENCH.main())
