"""What a bound of whole tensors takes off the gap of `whole`, objective time, and its seconds."""

from __future__ import annotations

import sys
from fractions import Fraction
from functools import partial

from formulations.residency.column_generation import ColumnGeneration
from formulations.residency.whole.absent import never_resident
from results.shared.bench import NETWORKS, TINY, Bench, BenchLine, Case, Figures, timed
from results.shared.certified import staged
from spmopt.core.errors import ScheduleError
from spmopt.core.objective import MAKESPAN
from spmopt.core.problem import Problem
from spmopt.core.scheduler import Request
from spmopt.verifier import bound

SIZES = ("8MB", "24MB", "64MB", "128MB", "296MB")
_BOUND_GAP = 1e-3


def measured(case: Case, limit_s: float) -> Figures:
    """Schedule whole tensors; the gap to the bound of all schedules and to that of the class.

    ``bound_s`` is the search for the dual values of the class alone, from nothing.

    Raises
    ------
    ScheduleError
        A bound is missing, or above the schedule.
    """
    problem = case.problem()
    request = Request(objective=MAKESPAN, time_limit_s=limit_s)
    outcome, _, totals, figures = staged(problem, "whole", request)
    value, known = totals.value(MAKESPAN), outcome.class_bound
    if outcome.certificate is None or known is None or known.certificate is None:
        raise ScheduleError("whole: a bound is missing")
    every, duals = bound(problem, outcome.certificate), known.certificate
    of_class, checking = timed(lambda: bound(problem, duals, known.holds_for))
    if max(every, of_class) > value:
        raise ScheduleError("whole: a bound is above the schedule, one of them is wrong")
    _, searching = timed(lambda: _search(problem, limit_s))
    return {
        **figures,
        "gap": _over(value, every),
        "class_gap": _over(value, of_class),
        "bound_s": searching["wall_s"],
        "bound_cpu_s": searching["cpu_s"],
        "check_s": checking["wall_s"],
        "value": float(value),
    }


def _search(problem: Problem, limit_s: float) -> float:
    absent = partial(never_resident, problem.machine)
    request = Request(objective=MAKESPAN, time_limit_s=limit_s)
    search = ColumnGeneration(problem, request, absent=absent)
    search.run(_BOUND_GAP)
    return search.bound


def _over(value: Fraction, least: Fraction) -> float:
    return float(value / least - 1)


BENCH = Bench(
    file=__file__,
    lines=[
        BenchLine((network, spm), {"": partial(measured, Case(network, spm), 60.0)})
        for network in NETWORKS
        for spm in SIZES
    ],
    quick=partial(measured, TINY, 10.0),
)

if __name__ == "__main__":
    sys.exit(BENCH.main())
