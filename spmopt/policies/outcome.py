"""Common part of all greedy schedulers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from spmopt.assemble.cost import residency_plan_cost
from spmopt.core.mappings import SEVERAL_MAPPINGS
from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.core.timeline import Timeline, fitting_timeline
from spmopt.policies.residency.ranked import Ranking, keep_by_rank
from spmopt.policies.transfers.hide import hide_transfers

RESERVED_SHARES = (32, 8, 4)
"""Parts 1/k of the scratchpad that are left free in turn, as buffers for the next transfers."""

Rule = Callable[[Timeline, int], ResidencyPlan]
"""A greedy rule: the residency plan that leaves so many pages free where it has the choice."""


def policy_outcome(
    problem: Problem,
    request: Request,
    rule: Rule,
    shares: tuple[int, ...] = RESERVED_SHARES,
    granularity: str = "tensor",
) -> Result:
    """Return the result of ``rule`` in the problem's own order, with transfers hidden.

    A rule that fills the scratchpad leaves no room to prefetch into. So, where time has a
    weight in the objective, the rule also runs with each of ``shares`` left free, and the best
    plan by the objective, then by traffic, wins. Otherwise the rule runs once, unhindered.
    ``granularity`` is ``tensor``, or ``page`` where the rule keeps tensors in part.

    Raises
    ------
    InfeasibleError
        An operation fits in none of its mappings.
    """
    arrays = fitting_timeline(problem)
    capacity = problem.machine.spm_pages
    reserves = [0]
    if request.objective.cycle > 0:
        reserves += sorted({capacity // share for share in shares} - {0})
    tried: list[tuple[tuple[Fraction, int], int, ResidencyPlan]] = []
    for done, reserve in enumerate(reserves):
        if tried and request.remaining_s() <= 0:
            break
        request.report(f"keeping {capacity - reserve} of {capacity} pages", done / len(reserves))
        residency_plan = hide_transfers(problem.machine, arrays, rule(arrays, reserve), granularity)
        cost = residency_plan_cost(problem.machine, arrays, residency_plan)
        traffic = cost.dram_in_bytes + cost.dram_out_bytes
        tried.append(((cost.value(request.objective, arrays), traffic), reserve, residency_plan))
    _, reserve, residency_plan = min(tried, key=lambda entry: entry[:2])
    reserved = f"{reserve} of {capacity} pages left free to prefetch into"
    return in_first_mappings(problem, residency_plan, *((reserved,) if reserve else ()))


def rank_outcomes(
    problem: Problem,
    request: Request,
    rank: Callable[[Timeline], Ranking],
    granularity: str,
    keep: Callable[[Problem, Timeline, Ranking, int, str], ResidencyPlan] = keep_by_rank,
) -> Result:
    """:func:`policy_outcome` of the rule that ranks by ``rank`` and keeps by ``keep``."""

    def rule(timeline: Timeline, reserve_pages: int) -> ResidencyPlan:
        return keep(problem, timeline, rank(timeline), reserve_pages, granularity)

    return policy_outcome(problem, request, rule, granularity=granularity)


def in_first_mappings(problem: Problem, residency_plan: ResidencyPlan, *notes: str) -> Result:
    """Return a plan in the first mappings that fit, with a note where there were others."""
    first = (SEVERAL_MAPPINGS,) if problem.several_mappings else ()
    return Result(residency_plan=residency_plan, notes=(*first, *notes))
