"""Seconds to a certified gap of 0.1 % (page) and 0.01 % (fluid), objective time."""

from __future__ import annotations

import sys
from functools import partial
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from results.shared.bench import NETWORKS, TINY, Bench, Case, Line
from results.shared.certified import SECONDS, reach
from results.shared.models import priced

SIZES = ("24MB", "64MB", "128MB", "296MB", "442MB", "1000MB")
BENCH = Bench(
    file=__file__,
    heads=["network", "SPM", "scheduler"],
    lines=[
        Line(cells=(network, spm, name), parts={"": part}, targets=targets)
        for network, spm in product(NETWORKS, SIZES)
        for case in [Case(network=network, spm=spm)]
        for name, part, targets in (
            (
                "page",
                partial(reach, case, "page", "time", 1e-3, 30.0),
                {"wall_s": "≤ 1", "gap": "≤ 0.001"},
            ),
            ("fluid", partial(priced, case, 30.0), {"wall_s": "≤ 2", "gap": "≤ 0.0001"}),
        )
    ],
    columns={
        **{"operations": "operations|n", **SECONDS, "gap": "certified gap %"},
        **{"peak_mb": "peak MB|n", "verified": "verified", "verify_s": "verifier s"},
    },
    quick=partial(reach, TINY, "page", "time", 1e-3, 10.0),
)

if __name__ == "__main__":
    sys.exit(BENCH.main())
