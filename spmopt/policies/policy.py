"""The door of every policy, own or foreign: whatever it decides becomes an outcome.

See :data:`spmopt.core.scheduler.Policy` for the return values of a policy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from inspect import Parameter, signature
from typing import Any

import numpy as np

from spmopt.assemble.cost import residency_plan_cost
from spmopt.assemble.index import row_at
from spmopt.core.errors import InputError
from spmopt.core.mappings import SEVERAL_MAPPINGS
from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.schedule import Residency, ResidencyPlan, Schedule, Stores
from spmopt.core.scheduler import Request, Scheduler
from spmopt.core.table import Ints
from spmopt.core.timeline import Access, Timeline, fitting_timeline
from spmopt.policies.gaps import free_pages, in_their_steps, join
from spmopt.policies.hide import hide_transfers
from spmopt.policies.ranked import Ranking, keep_by_rank

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
    """Result of ``rule`` in the problem's own order, with transfers hidden.

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
    # The rule unhindered comes first, and alone where time does not count.
    reserves = [0]
    if request.objective.cycle > 0:
        reserves += sorted({capacity // share for share in shares} - {0})
    tried: list[tuple[tuple[Fraction, int], int, ResidencyPlan]] = []
    for done, reserve in enumerate(reserves):
        # The first is always tried: a policy has an answer at any limit.
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
    """Result of a plan in the first mappings that fit, with a note where there were others."""
    first = (SEVERAL_MAPPINGS,) if problem.several_mappings else ()
    return Result(residency_plan=residency_plan, notes=(*first, *notes))


def scheduler_of(policy: Callable[..., Any]) -> Scheduler:
    """Return the scheduler that asks ``policy`` for its decisions."""
    asks = _takes_request(policy)

    def scheduler(problem: Problem, request: Request) -> Result:
        return outcome_of(problem, policy(problem, request) if asks else policy(problem))

    return scheduler


def outcome_of(problem: Problem, decision: object) -> Result:
    """Return the outcome of a policy's decisions.

    Raises
    ------
    InputError
        It is nothing that a policy may return.
    InfeasibleError
        It left the mappings to the program, and an operation fits in none of its own.
    """
    if isinstance(decision, Result):
        return decision
    if isinstance(decision, Schedule):
        return Result(residency_plan=None, schedule=decision)
    if isinstance(decision, ResidencyPlan):
        return Result(residency_plan=decision)
    if not isinstance(decision, Residency):
        decision = _residency(problem, decision)
    arrays = fitting_timeline(problem)
    residency_plan = complete(arrays, decision)
    residency = residency_plan.residency
    # Tensors kept in part would need the gaps of pages.
    if (residency.size_bytes == arrays.size_bytes[residency.tensor]).all():
        residency_plan = hide_transfers(problem.machine, arrays, residency_plan)
    return in_first_mappings(problem, residency_plan)


def free_bytes(problem: Problem) -> Ints:
    """Return the free bytes of each step, beside the needs of its operation.

    Parameters
    ----------
    problem
        As a policy is given it.

    Returns
    -------
    (n,)
        Bytes in whole pages, of each operation in the listed order: the scratchpad without the
        operation's scratch and required-resident operands, in its first mapping that fits. Tensors
        that remain from a use to a later one and take no more of it, each in whole pages, fit
        together.

    Raises
    ------
    InfeasibleError
        An operation fits in none of its mappings.
    """
    arrays, machine = fitting_timeline(problem), problem.machine
    pinned = in_their_steps(arrays, np.flatnonzero(arrays.required_resident))
    return free_pages(machine, arrays, pinned) * machine.page_bytes


def complete(arrays: Timeline, residency: Residency) -> ResidencyPlan:
    """Plan of ``residency``, with resident operands in their steps, and the stores it needs.

    Departing bytes are stored in their last step, as far as DRAM lacks them and something needs
    them.
    """
    found = join(residency)
    pinned = np.flatnonzero(arrays.required_resident)
    pinned = pinned[row_at(found, arrays.step[pinned], arrays.tensor[pinned]) < 0]
    # Required-resident operands are resident in their step, whichever rows the policy says.
    residency = join(found, in_their_steps(arrays, pinned))
    return ResidencyPlan(
        steps=arrays.chosen,
        residency=residency,
        stores=_stores(arrays, residency),
    )


def _stores(arrays: Timeline, residency: Residency) -> Stores:
    """Stores of departing bytes that DRAM lacks."""
    accesses: dict[int, list[int]] = {}
    for access, tensor in enumerate(arrays.tensor.tolist()):
        accesses.setdefault(tensor, []).append(access)
    stores: list[tuple[int, int, int]] = []
    lacking = 0
    rows = residency.rows()
    for row, following in zip(rows, [*rows[1:], (-1, -1, -1, 0)], strict=False):
        tensor, begin, end, size = row
        own = [a for a in accesses.get(tensor, []) if arrays.step[a] < end]
        if any(arrays.kind[a] != Access.READ for a in own if arrays.step[a] >= begin):
            lacking = size
        # A row that goes on with fewer bytes loses its tail only.
        left = following[3] if following[:2] == (tensor, end) else 0
        if lacking > left and own and arrays.live_after[own[-1]]:
            stores.append((end - 1, tensor, lacking - left))
        lacking = min(lacking, left)
    return Stores.of_rows(sorted(stores))


def _residency(problem: Problem, decision: object) -> Residency:
    """Rows of whole tensors from (tensor, first step, step after the last one)."""
    names = {tensor.name: index for index, tensor in enumerate(problem.tensors)}
    count, steps = len(problem.tensors), len(problem.operations)
    rows: list[tuple[int, int, int, int]] = []
    if not isinstance(decision, Iterable):
        raise InputError(
            f"a policy returned {type(decision).__name__}; return (tensor, first step, end) for "
            "each residency interval, a Residency, Plan, Schedule or Result"
        )
    for given in decision:
        try:
            tensor, begin, end = given
            index = names[tensor] if isinstance(tensor, str) else int(tensor)
            begin, end = int(begin), int(end)
        except (KeyError, TypeError, ValueError):
            raise InputError(
                f"a policy returned {given!r}; give (tensor, first step, end), the tensor by "
                "index or name"
            ) from None
        if not (0 <= index < count and 0 <= begin < end <= steps):
            raise InputError(
                f"a policy returned {given!r}; there are {count} tensors and {steps} steps"
            )
        rows.append((index, begin, end, problem.tensors[index].size_bytes))
    return Residency.of_rows(_union(sorted(rows)))


def _union(rows: list[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int]]:
    """Rows of whole tensors without overlaps."""
    found: list[tuple[int, int, int, int]] = []
    for tensor, begin, end, size in rows:
        if found and found[-1][0] == tensor and begin <= found[-1][2]:
            found[-1] = (tensor, found[-1][1], max(end, found[-1][2]), size)
        else:
            found.append((tensor, begin, end, size))
    return found


def _takes_request(policy: Callable[..., Any]) -> bool:
    """Whether the policy is called with the request too: its second parameter needs a value."""
    try:
        given = list(signature(policy).parameters.values())
    except ValueError:  # a builtin that does not say
        return True
    places = [
        each
        for each in given
        if each.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    ]
    if len(places) < 2:
        return any(each.kind is Parameter.VAR_POSITIONAL for each in given)
    return places[1].default is Parameter.empty or places[1].name == "request"
