"""What every greedy scheduler does around its own rule."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from spmopt.assemble.cost import plan_cost
from spmopt.core.instance import Instance
from spmopt.core.modes import SEVERAL_MODES
from spmopt.core.result import Outcome
from spmopt.core.schedule import Plan
from spmopt.core.scheduler import Request
from spmopt.core.timeline import Timeline, fitting_timeline
from spmopt.policies.residency.ranked import Ranking, keep_by_rank
from spmopt.policies.transfers.hide import hide_transfers

RESERVED_SHARES = (32, 8, 4)
"""Parts 1/k of the scratchpad that are left free in turn, as buffers for what comes next."""

Rule = Callable[[Timeline, int], Plan]
"""A greedy rule: the plan that leaves so many pages free where it has the choice."""


def policy_outcome(
    instance: Instance,
    request: Request,
    rule: Rule,
    shares: tuple[int, ...] = RESERVED_SHARES,
    granularity: str = "whole",
) -> Outcome:
    """Outcome of ``rule`` in the instance's own order, with transfers hidden.

    A rule that fills the scratchpad leaves no room to prefetch into. So, where time has a
    weight in the objective, the rule also runs with each of ``shares`` left free, and the best
    plan by the objective, then by traffic, wins. Otherwise the rule runs once, unhindered.
    ``granularity`` is ``whole``, or ``page`` where the rule keeps tensors in part.

    Raises
    ------
    InfeasibleError
        An operation fits in none of its modes.
    """
    arrays = fitting_timeline(instance)
    capacity = instance.machine.spm_pages
    reserves = [0]
    if request.objective.cycle > 0:
        reserves += sorted({capacity // share for share in shares} - {0})
    tried: list[tuple[tuple[Fraction, int], int, Plan]] = []
    for done, reserve in enumerate(reserves):
        if tried and request.remaining_s() <= 0:
            break
        request.report(f"keeping {capacity - reserve} of {capacity} pages", done / len(reserves))
        plan = hide_transfers(instance.machine, arrays, rule(arrays, reserve), granularity)
        cost = plan_cost(instance.machine, arrays, plan)
        traffic = cost.dram_in_bytes + cost.dram_out_bytes
        tried.append(((cost.value(request.objective, arrays), traffic), reserve, plan))
    _, reserve, plan = min(tried, key=lambda entry: entry[:2])
    reserved = f"{reserve} of {capacity} pages left free to prefetch into"
    return in_first_modes(instance, plan, *((reserved,) if reserve else ()))


def ranked_outcome(
    instance: Instance,
    request: Request,
    rank: Callable[[Timeline], Ranking],
    granularity: str,
    keep: Callable[[Instance, Timeline, Ranking, int, str], Plan] = keep_by_rank,
) -> Outcome:
    """:func:`policy_outcome` of the rule that ranks by ``rank`` and keeps by ``keep``."""

    def rule(timeline: Timeline, reserve_pages: int) -> Plan:
        return keep(instance, timeline, rank(timeline), reserve_pages, granularity)

    return policy_outcome(instance, request, rule, granularity=granularity)


def in_first_modes(instance: Instance, plan: Plan, *notes: str) -> Outcome:
    """Outcome of a plan in the first modes that fit, with a note where there were others."""
    first = (SEVERAL_MODES,) if instance.several_modes else ()
    return Outcome(plan=plan, notes=(*first, *notes))
