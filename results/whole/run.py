"""Whole tensors, objective traffic: seconds to a gap of 0.01 %, and to a proof."""

from __future__ import annotations

import sys
from functools import partial

from results.shared.bench import NETWORKS, SIZES, TINY, Bench, BenchLine, Case
from results.shared.certified import reach

SEARCH = {"": (1e-4, 30.0), "proof": (0.0, 10.0)}  # gap and seconds
BENCH = Bench(
    file=__file__,
    lines=[
        BenchLine(
            (network, spm),
            {
                label: partial(
                    reach, Case(network, spm), "residency:granularity=tensor", "traffic", *effort
                )
                for label, effort in SEARCH.items()
            },
            {"wall_s": "≤ 10", "class_gap": "≤ 0.0001"},
        )
        for network in NETWORKS
        for spm in SIZES
    ],
    quick=partial(reach, TINY, "residency:granularity=tensor", "traffic", 1e-4, 10.0),
)

if __name__ == "__main__":
    sys.exit(BENCH.main())
