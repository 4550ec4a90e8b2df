"""Seconds to a certified gap of 0.1 % (residency) and 0.01 % (lp-bound), objective time."""

from __future__ import annotations

import sys
from fractions import Fraction
from functools import partial

from formulations.residency.column_generation import ColumnGeneration
from results.shared.bench import (
    NETWORKS,
    SIZES,
    TINY,
    Bench,
    BenchLine,
    Case,
    Figures,
    peak_mb,
    timed,
)
from results.shared.certified import reach
from spmopt.core.errors import ScheduleError
from spmopt.core.scheduler import Request
from spmopt.verifier import bound


def priced(case: Case, limit_s: float) -> Figures:
    """Solve priced columns to a relative gap of 0.01 % between solution and bound.

    ``gap`` holds the solution's value, which is of the relaxation and no schedule, against the
    exact bound at the dual values.

    Raises
    ------
    ScheduleError
        No solution within the limit.
    """
    problem = case.problem()
    request = Request(tolerance=1e-4, time_limit_s=limit_s, threads=2)
    search, building = timed(lambda: ColumnGeneration(problem, request, fluid=True))
    _, solving = timed(lambda: search.run(request.tolerance))
    peak, certificate = peak_mb(), search.certificate
    if certificate is None or search.value is None:
        raise ScheduleError(f"priced model: no solution within {limit_s:g} s")
    least = bound(problem, certificate)
    return {
        "operations": len(problem.operations),
        "build_s": building["wall_s"],
        "solve_s": solving["wall_s"],
        **{name: building[name] + solving[name] for name in building},
        "peak_mb": peak,
        "programs": len(search.log) - 1,
        "columns": search.log[-1],
        "gap": float(Fraction(search.value) / least - 1),
        "bound": float(least),
        "value": float(search.value),
    }


PAGE, FLUID = {"wall_s": "≤ 1", "gap": "≤ 0.001"}, {"wall_s": "≤ 2", "gap": "≤ 0.0001"}
LINES = []
for case in (Case(network, spm) for network in NETWORKS for spm in SIZES):
    page, fluid = partial(reach, case, "residency", "time", 1e-3, 30.0), partial(priced, case, 30.0)
    LINES.append(BenchLine((case.network, case.spm, "residency"), {"": page}, PAGE))
    LINES.append(BenchLine((case.network, case.spm, "lp-bound"), {"": fluid}, FLUID))
BENCH = Bench(
    file=__file__, lines=LINES, quick=partial(reach, TINY, "residency", "time", 1e-3, 10.0)
)

if __name__ == "__main__":
    sys.exit(BENCH.main())
