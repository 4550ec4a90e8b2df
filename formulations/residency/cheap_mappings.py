"""Mappings by dual values, for problems of any size.

Of operations in one mapping each the relaxation's dual values price every other mapping: its
cycles, its room in the scratchpad, and its fetches of bytes that are not resident. Each
operation takes its cheapest, and the problem is solved in these, until that gains no more. It is a
descent: it proves nothing, and is done where an integer program of mappings would be too large.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from formulations.residency.bound.duals import MoveDuals
from formulations.residency.column_generation import ColumnGeneration
from formulations.solver.program import Floats
from spmopt.assemble.cost import residency_plan_value
from spmopt.assemble.index import resident_bytes
from spmopt.core.mappings import fits_alone, fitting_mappings, in_mappings
from spmopt.core.operands import ranges
from spmopt.core.operation import FIGURES
from spmopt.core.order import other_order
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access

_NEW = 0.5
"""Weight of the latest prices: dual values of one round alone exaggerate (Wentges, 1997)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CheapMappings:
    """Mappings (n,), a plan in whole pages that runs them, and dual values in them."""

    mapping: Ints
    plan: ResidencyPlan
    value: Fraction
    certificate: Certificate | None


def choose_by_duals(problem: Problem, request: Request) -> CheapMappings | None:
    """Return mappings no worse than the request's, in the listed order; None without a plan.

    Raises
    ------
    InfeasibleError
        An operation's required-resident operands and scratch do not fit the SPM in any mapping.
    """
    gap, start, best = request.params.orders.compared_gap, request.start, None
    mapping, fit = fitting_mappings(problem), fits_alone(problem)
    if start is not None and other_order(start.steps.operation) is None:
        mapping = start.steps.mapping
        value = residency_plan_value(problem, start, request.objective)
        best = CheapMappings(mapping=mapping, plan=start, value=value, certificate=request.duals)
    tolerance = max(request.tolerance, gap)
    prices, duals, tried = None, request.duals, set[bytes]()
    while mapping.tobytes() not in tried:
        tried.add(mapping.tobytes())
        part = replace(request, start=None, others=(), duals=duals)
        part = part.phase(request.remaining_s() / 2)
        search = ColumnGeneration(in_mappings(problem, mapping), part)
        search.run(tolerance)
        if search.residency_plan is None or search.value is None or search.duals is None:
            break
        duals = search.certificate
        if best is None or search.value < best.value:
            plan = in_numbers(search.residency_plan, mapping)
            best = CheapMappings(mapping=mapping, plan=plan, value=search.value, certificate=duals)
        new = price_mappings(problem, request, search)
        prices = new if prices is None else (1 - _NEW) * prices + _NEW * new
        first, allowed = problem.operands.first_mapping[:-1], np.where(fit, prices, np.inf)
        cheapest = _cheapest(problem, allowed)
        gain = (allowed[first + mapping] - allowed[first + cheapest]).sum()
        if gain <= gap * float(search.value) or request.is_over():
            break
        mapping = cheapest
    return best


def in_numbers(plan: ResidencyPlan, mapping: Ints) -> ResidencyPlan:
    """Return a plan of a problem of one mapping each in the numbers of all mappings."""
    steps = plan.steps
    return replace(plan, steps=replace(steps, mapping=mapping[steps.operation]))


def price_mappings(problem: Problem, request: Request, search: ColumnGeneration) -> Floats:
    """Return (k,) the cost of each mapping at the dual values and residency of a search.

    The search is of the problem in one mapping each, in the listed order.
    """
    assert search.duals is not None
    table, duals, objective = problem.operands, search.duals, request.objective
    operation = np.repeat(np.arange(len(problem.operations)), np.diff(table.first_mapping))
    figures = dict(zip(FIGURES, table.mappings.figures[:, table.mapping], strict=True))
    page = problem.machine.page_bytes
    room = -(-figures["scratch_bytes"] // page) * page
    prices: Floats = duals.slack_dual(search.coefficients)[operation] * figures["compute_cycles"]
    prices += duals.spm[operation] * room
    if objective.weighs_mappings:
        names = "spm_read_bytes", "spm_write_bytes", "macs", "own_picojoules"
        for unit, name in zip(np.eye(len(names), dtype=int).tolist(), names, strict=True):
            prices += float(objective.of_mappings(*unit)) * figures[name]
    # One row for each operand of each mapping.
    counts = np.diff(table.first)[operation]
    access = ranges(table.first[operation], counts)
    operand = ranges(table.mappings.first[table.mapping], counts)
    once, again = _prices_of_bytes(search, table.mappings.required_resident[operand], access)
    each = once + again * (table.mappings.fetches[operand] - 1)
    mapping = np.repeat(np.arange(operation.size), counts)
    return prices + np.bincount(mapping, each, operation.size)


def _prices_of_bytes(
    search: ColumnGeneration, required: Bools, access: Ints
) -> tuple[Floats, Floats]:
    """Return the cost of an operand's bytes that are not resident, and of each fetch but the first.

    ``required``: the operand must be resident, so that they are held, loaded and stored first.
    """
    line, plan, duals = search.line, search.residency_plan, search.duals
    assert plan is not None
    assert duals is not None
    moves, kind = MoveDuals(search.coefficients, duals), line.kind[access]
    step, tensor = line.step[access], line.tensor[access]
    resident = resident_bytes(plan.residency, step, tensor)
    absent = (line.size_bytes[tensor] - resident).astype(np.float64)
    read = kind != Access.WRITE
    written = (kind != Access.READ) & line.live_after[access]
    into, out = (np.where(written, each[step], 0.0) for each in (moves.loaded, moves.stored))
    into = np.where(read, moves.loaded[step], into)
    streamed = np.where(read, into, 0.0) + out
    firm = read * moves.loaded_fixed + written * moves.stored_fixed + moves.held[step]
    once: Floats = absent * np.where(required, firm, streamed)
    again: Floats = np.where(required, 0.0, absent * (into + out))
    return once, again


def _cheapest(problem: Problem, prices: Floats) -> Ints:
    """Return (n,) the cheapest mapping of each operation."""
    first = problem.operands.first_mapping
    operation = np.repeat(np.arange(first.size - 1), np.diff(first))
    order = np.lexsort((prices, operation))
    found: Ints = order[first[:-1]] - first[:-1]
    return found
