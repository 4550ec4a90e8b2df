"""Mappings by dual values, for problems of any size.

Of operations in one mapping each the relaxation's dual values price every other mapping: its
cycles, its room in the scratchpad, and the worth of its operands' bytes on their cheapest paths.
Each operation takes its cheapest, and the problem is solved in these, until that gains no more. It
is a descent, and done where an integer program of mappings would be too large. Its dual values
prove a bound over all mappings.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from formulations.residency.bound.dual import DualFunction
from formulations.residency.bound.duals import certificate
from formulations.residency.column_generation import ColumnGeneration
from formulations.residency.mapping_duals import cheapest_mappings, mapping_duals, worth_on_paths
from formulations.solver.program import Floats
from spmopt.assemble.cost import residency_plan_value
from spmopt.core.mappings import fits_alone, fitting_mappings, in_mappings
from spmopt.core.order import other_order
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints

_FAR = 0.1
"""Distance to the bound over all mappings at which those of a plan to compare are chosen anew.

Rounds that gain less take the time of other plans: a dozen of them gained 0.2 % of the first plan
of ResNet-50, and were all that 15 s had room for; one of GPT-2 gains 15 %."""
_NEW = 0.5
"""Weight of the latest prices: dual values of one round alone exaggerate (Wentges, 1997)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CheapMappings:
    """Mappings (n,), a plan in whole pages that runs them, and the best dual values so far.

    ``bound``: their bound over all mappings, in floating point.
    """

    mapping: Ints
    plan: ResidencyPlan
    value: Fraction
    certificate: Certificate | None
    bound: float


def choose_by_duals(
    problem: Problem,
    request: Request,
    gap: float | None = None,
    first: Ints | None = None,
    *,
    coarse: bool = False,
) -> CheapMappings | None:
    """Return mappings no worse than the request's, in the listed order; None without a plan.

    The descent ends where another round could gain no more than ``gap``, by default that to which
    orders are compared. ``first`` (n,): mappings to begin with, that fit, where the request has no
    plan. ``coarse``: it is one of many to compare, of which the first round may take all of the
    time; others follow only while they gain, and the mappings may be far from the best.

    Raises
    ------
    InfeasibleError
        An operation's required-resident operands and scratch do not fit the SPM in any mapping.
    """
    gap = request.params.orders.compared_gap if gap is None else gap
    start, best = request.start, None
    mapping, fit = fitting_mappings(problem) if first is None else first, fits_alone(problem)
    if start is not None and other_order(start.steps.operation) is None:
        mapping = start.steps.mapping
        value = residency_plan_value(problem, start, request.objective)
        best = CheapMappings(
            mapping=mapping, plan=start, value=value, certificate=request.duals, bound=-np.inf
        )
    tolerance = max(request.tolerance, gap)
    prices, duals, tried = None, request.duals, set[bytes]()
    while mapping.tobytes() not in tried:
        left_s = request.remaining_s()
        if not coarse or tried:
            left_s /= 2
        tried.add(mapping.tobytes())
        part = replace(request, start=None, others=(), duals=duals).part(bounds=False)
        part = part.phase(left_s)
        search = ColumnGeneration(in_mappings(problem, mapping), part)
        if best is not None and best.mapping is mapping:
            alone = replace(best.plan.steps, mapping=np.zeros_like(mapping))
            search.offer_residency_plan(replace(best.plan, steps=alone))
        search.run(tolerance)
        if search.residency_plan is None or search.value is None or search.duals is None:
            break
        new, bound, duals = _price(problem, request, search, mapping)
        request.report_incumbent(bound=bound)
        better = best is None or search.value < best.value
        if best is None or better:
            plan, known = in_numbers(search.residency_plan, mapping), best
            best = CheapMappings(
                mapping=mapping, plan=plan, value=search.value, certificate=duals, bound=bound
            )
            if known is not None and known.bound > bound:
                best = replace(best, certificate=known.certificate, bound=known.bound)
        elif bound > best.bound:
            best = replace(best, certificate=duals, bound=bound)
        prices = new if prices is None else (1 - _NEW) * prices + _NEW * new
        begins, allowed = problem.operands.first_mapping[:-1], np.where(fit, prices, np.inf)
        cheapest = cheapest_mappings(problem, allowed)
        gain = (allowed[begins + mapping] - allowed[begins + cheapest]).sum()
        # No mapping is left to try where all of them together could not gain the tolerance.
        near = max(request.tolerance, _FAR if coarse else 0.0)
        closed = float(best.value) <= best.bound * (1 + near)
        stale = coarse and not better
        if closed or stale or gain <= gap * float(search.value) or request.is_over():
            break
        mapping = cheapest
    return best


def in_numbers(plan: ResidencyPlan, mapping: Ints) -> ResidencyPlan:
    """Return a plan of a problem of one mapping each in the numbers of all mappings."""
    steps = plan.steps
    return replace(plan, steps=replace(steps, mapping=mapping[steps.operation]))


def _price(
    problem: Problem, request: Request, search: ColumnGeneration, mapping: Ints
) -> tuple[Floats, float, Certificate]:
    """Return (k,) the costs of mappings by a search in one each, and the bound over all of them.

    The bound is in floating point.
    """
    coefficients, duals, objective = search.coefficients, search.duals, request.objective
    assert duals is not None
    dual = DualFunction(search.intervals, coefficients, duals)
    worth = worth_on_paths(dual)
    own = mapping_duals(problem, search.line, coefficients, objective, duals=duals, worth=worth)
    # The duals prove the value of these mappings; others may cost less at them.
    run = own.plain[problem.operands.first_mapping[:-1] + mapping]
    bound = dual.value + float((own.least(problem) - run).sum())
    proof = certificate(problem, objective, coefficients, duals, uses=own.uses, rooms=own.rooms)
    return own.costs, bound, proof
