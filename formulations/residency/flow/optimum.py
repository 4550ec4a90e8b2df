"""The optimum where intervals depend on each other by the capacity alone."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from formulations.residency.bound.duals import CostCoefficients, Multipliers, certificate
from formulations.residency.flow.network import Packing, pack
from formulations.residency.flow.savings import SavingIntervals, keep_residency_plan, spare_units
from formulations.solver.program import Floats
from spmopt.assemble.cost import residency_plan_cost
from spmopt.core.operation import Operation
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints
from spmopt.core.timeline import fitting_timeline

_PARTS = 4  # of a page, where dual values suffice


@dataclass(frozen=True, kw_only=True, eq=False)
class Optimum:
    """A residency plan of least ``value``, and duals that prove it but for ``gap`` (not exact)."""

    residency_plan: ResidencyPlan
    value: Fraction
    gap: float
    certificate: Certificate


def page_optimum(problem: Problem, request: Request) -> Optimum | None:
    """Find the best plan in pages; None where no :class:`SavingIntervals` apply or time is short.

    The bound knows bytes, not pages: where last pages are not full it may be less than the value.
    If it is by more than the tolerance, a second flow, of parts of pages, gives dual values for it.

    Raises
    ------
    InfeasibleError
        An operation's required-resident operands and scratch do not fit the SPM.
    """
    case = _flow_case(problem, request)
    found = None if case is None else case.in_pages()
    if case is None or found is None:
        return None
    kept_bytes, duals = found
    best = case.optimum(kept_bytes, duals)
    if best.gap > request.tolerance:
        finer = case.in_units(problem.machine.page_bytes // _PARTS)
        best = best if finer is None else case.optimum(kept_bytes, finer[1])
    return best


def fluid_optimum(problem: Problem, request: Request) -> Optimum | None:
    """Return the best plan in bytes that spread over pages at will, which is no legal one."""
    case = _flow_case(problem, request)
    found = None if case is None else case.in_units(1)
    return None if case is None or found is None else case.optimum(*found)


def _flow_case(problem: Problem, request: Request) -> _FlowCase | None:
    # Most problems need no more than a look.
    if request.objective.cycle or not all(map(_rigid, problem.operations)):
        return None
    intervals = SavingIntervals.of(fitting_timeline(problem), request.objective)
    return None if intervals is None else _FlowCase(problem, request, intervals)


@dataclass(frozen=True, eq=False)
class _FlowCase:
    problem: Problem
    request: Request
    intervals: SavingIntervals

    def in_pages(self) -> tuple[Ints, Floats] | None:
        """Pack full pages, and last ones apart: (k,) bytes kept, and (n,) dual values of a byte."""
        intervals, page = self.intervals, self.problem.machine.page_bytes
        # A last page that is not full takes a page and saves less: an item of its own.
        full, rest = intervals.size_bytes // page, intervals.size_bytes % page
        whole, part = np.flatnonzero(full), np.flatnonzero(rest)
        stay = np.concatenate((whole, part))
        each = np.concatenate((np.full_like(whole, page), rest[part]))
        packing = Packing(
            capacity=self._spare(page),
            begin=intervals.begin[stay],
            end=intervals.end[stay],
            most=np.concatenate((full[whole], np.ones_like(part))),
            saving=intervals.saving[stay] * each,
        )
        packed = pack(packing, self.request)
        if packed is None:
            return None
        pages = np.zeros_like(full)
        np.add.at(pages, stay, packed.kept)
        duals: Floats = (packed.dual / page).astype(np.float64) * float(intervals.unit)
        return np.minimum(pages * page, intervals.size_bytes), duals

    def in_units(self, least_bytes: int) -> tuple[Ints, Floats] | None:
        """Return (k,) the bytes kept, and (n,) dual values of a byte, where bytes may share pages.

        In whole units, to the nearest: the largest that every size is a multiple of, or
        ``least_bytes``, with which prices are only nearly the best; exact ones would take several
        times as long.
        """
        intervals, page = self.intervals, self.problem.machine.page_bytes
        unit = max(least_bytes, int(np.gcd.reduce(intervals.reuse.size_bytes, initial=page)))
        packing = Packing(
            capacity=self._spare(1) // unit,
            begin=intervals.begin,
            end=intervals.end,
            most=(intervals.size_bytes + unit // 2) // unit,
            saving=intervals.saving,
        )
        packed = pack(packing, self.request)
        if packed is None:
            return None
        return packed.kept * unit, packed.dual.astype(np.float64) * float(intervals.unit)

    def _spare(self, unit_bytes: int) -> Ints:
        return spare_units(self.problem.machine, self.intervals.reuse.line, unit_bytes)

    def optimum(self, kept_bytes: Ints, duals: Floats) -> Optimum:
        """Return plan and proof; the gap is the most that others could save at these duals."""
        intervals = self.intervals
        unit = float(self.intervals.unit)
        line = self.intervals.reuse.line
        objective = self.request.objective
        residency_plan = keep_residency_plan(intervals, kept_bytes)
        value = residency_plan_cost(self.problem.machine, line, residency_plan).value(
            objective, line
        )
        upto = np.concatenate(([0.0], np.cumsum(duals)))
        gain = intervals.saving * unit - (upto[intervals.end] - upto[intervals.begin])
        most = float((duals * self._spare(1)).sum())
        most += float((np.maximum(gain, 0.0) * intervals.size_bytes).sum())
        # Weak duality: what the duals value above the plan is the gap.
        excess = most - unit * float((intervals.saving * kept_bytes).sum())
        bound = float(value) - excess
        coefficients = CostCoefficients(self.problem, line, objective)
        nothing = np.zeros_like(duals)
        multipliers = Multipliers.legal(coefficients, duals, nothing, nothing)
        return Optimum(
            residency_plan=residency_plan,
            value=value,
            gap=0.0 if excess <= 0 else excess / bound if bound > 0 else np.inf,
            certificate=certificate(self.problem, objective, coefficients, multipliers),
        )


def _rigid(operation: Operation) -> bool:
    """Return whether it has one mapping, and that keeps every operand resident."""
    first = operation.mappings[0]
    return len(operation.mappings) == 1 and all(
        operand.required_resident for operand in first.operands
    )
