"""Whole tensors, objective traffic: seconds to a gap of 0.01 %, and to a proof."""

from __future__ import annotations

import sys
from functools import partial
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from results.shared.bench import NETWORKS, TINY, Bench, Case, Line
from results.shared.certified import SECONDS, reach

SIZES = ("24MB", "64MB", "128MB", "296MB", "442MB", "1000MB")
BENCH = Bench(
    file=__file__,
    heads=["network", "SPM"],
    lines=[
        Line(
            cells=(network, spm),
            parts={
                "": partial(reach, case, "whole", "traffic", 1e-4, 30.0),
                "proof": partial(reach, case, "whole", "traffic", 0.0, 10.0),
            },
            targets={"wall_s": "≤ 10", "class_gap": "≤ 0.0001"},
        )
        for network, spm in product(NETWORKS, SIZES)
        for case in [Case(network=network, spm=spm)]
    ],
    columns={
        **{"operations": "operations|n", **SECONDS, "class_gap": "gap of its class %"},
        **{"proof.wall_s": "proof s", "proof.class_gap": "gap after it %"},
        **{"gap": "certified gap %", "verified": "verified", "verify_s": "verifier s"},
    },
    quick=partial(reach, TINY, "whole", "traffic", 1e-4, 10.0),
)

if __name__ == "__main__":
    sys.exit(BENCH.main())
