"""What one range of addresses a tensor costs, objective time."""

from __future__ import annotations

import sys
from functools import partial

from results.shared.bench import GNMT, NETWORKS, TINY, Bench, BenchLine, Case, Figures
from spmopt.core.errors import ScheduleError
from spmopt.core.scheduler import Request
from spmopt.solving import compare

SIZES = ("24MB", "64MB", "128MB")


def contiguity(case: Case, tolerance: float, limit_s: float) -> Figures:
    """Measure the cost of one range of addresses a tensor, against pages anywhere.

    ``cost`` is the step time of the best schedule found over that of the best one in pages.
    """
    problem, request = case.problem(), Request(tolerance=tolerance, time_limit_s=limit_s)
    paged, ranges = compare(problem, ["residency", "contiguous"], request)
    first, second = paged.totals, ranges.totals
    if first is None or second is None or paged.gap is None or ranges.gap is None:
        raise ScheduleError("page or contiguous: no schedule, or no bound")
    per_ms = problem.machine.clock_hz / 1000
    return {
        "operations": len(problem.operations),
        "page_ms": first.makespan_cycles / per_ms,
        "ms": second.makespan_cycles / per_ms,
        "cost": second.makespan_cycles / first.makespan_cycles - 1,
        "page_gap": paged.gap,
        "gap": ranges.gap,
        "traffic": second.traffic_bytes / first.traffic_bytes - 1,
        "page_s": paged.solve_s,
        "wall_s": ranges.solve_s,
        "cpu_s": ranges.cpu_s,
        "verified": paged.verified and ranges.verified,
    }


CASES = [(Case(network, spm), (1e-4, 120.0)) for network in NETWORKS for spm in SIZES]
CASES += [(Case("gnmt", spm, GNMT[0]), (1e-3, 600.0)) for spm in SIZES]
BENCH = Bench(
    file=__file__,
    lines=[
        BenchLine(
            (case.title, case.spm), {"": partial(contiguity, case, *effort)}, {"cost": "≤ 0.01"}
        )
        for case, effort in CASES
    ],
    quick=partial(contiguity, TINY, 1e-4, 5.0),
)

if __name__ == "__main__":
    sys.exit(BENCH.main())
