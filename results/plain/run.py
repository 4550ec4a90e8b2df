"""The priced model against the plain (tensor, step) model of the relaxation, objective time."""

from __future__ import annotations

import sys
from functools import partial
from itertools import product

from results.shared.bench import NETWORKS, TINY, Bench, BenchLine, Case, Figures
from results.shared.models import plain, priced

WAYS = ("simplex", "simplex, no presolve")  # of which the best counts; bench settings has all


def ratios(figures: Figures) -> Figures:
    """Compare the best plain way to the priced one; nothing if no plain way came to its end."""
    solved = [way for way in WAYS if figures[f"{way}.ending"] == "optimal"]
    if not solved:
        return {}
    best = min(solved, key=lambda way: float(figures[f"{way}.wall_s"]))
    names = ("build_s", "solve_s", "wall_s", "cpu_s", "columns", "peak_mb", "value")
    own = {name: figures[f"{best}.{name}"] for name in names}
    slack = 1e-7 * own["value"]
    if not figures["priced.bound"] - slack <= own["value"] <= figures["priced.value"] + slack:
        return {"error": f"the plain optimum, {own['value']:.9g}, is not that of the priced model"}
    return {
        **own,
        "best": best,
        "ratio": own["wall_s"] / figures["priced.wall_s"],
        "ratio_cpu": own["cpu_s"] / figures["priced.cpu_s"],
    }


CASES = [
    Case(network, spm, mapper=mapper)
    for mapper, network, spm in product(("panel", "ideal"), NETWORKS, ("24MB", "128MB", "442MB"))
]
CASES.append(Case("gnmt", "64MB", {"plain": 1, "steps": 5}))
CASES.append(Case("transformer", "128MB", {"layers": 24}))
BENCH = Bench(
    file=__file__,
    lines=[
        BenchLine(
            (case.title, case.spm, case.mapper),
            {
                "priced": partial(priced, case, 300.0),
                **{way: partial(plain, case, way, 600.0) for way in WAYS},
            },
            {"ratio": "≥ 10"},
        )
        for case in CASES
    ],
    derive=ratios,
    quick=partial(priced, TINY, 10.0),
)

if __name__ == "__main__":
    sys.exit(BENCH.main())
