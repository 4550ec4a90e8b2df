"""The best loads and stores for given choices: a linear program, its columns generated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from formulations.residency.bound.prices import CostCoefficients, Multipliers
from formulations.residency.bound.ranked import RankedIntervals
from formulations.residency.pages.profiles import profiles
from formulations.residency.pages.rounding import to_plan
from formulations.residency.program.columns import PathColumns
from formulations.residency.program.master import Master, master
from formulations.residency.whole.choices import Choices
from formulations.residency.whole.intervals import PagedIntervals
from formulations.residency.whole.timed_columns import allowed, nearby
from formulations.solver.highs import Option, interior_point, solve_within
from formulations.solver.program import SolverResult
from spmopt.assemble.cost import plan_value
from spmopt.assemble.index import resident_bytes
from spmopt.core.instance import Instance
from spmopt.core.schedule import Plan
from spmopt.core.scheduler import Request
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Timeline

_DEPTH = 2
_ROUNDS = 3
_SIMPLEX: Mapping[str, Option] = {"solver": "simplex"}
_SMALL = 3_000  # columns up to which a vertex, of which rounding spoils less, is as fast


@dataclass(frozen=True, kw_only=True, eq=False)
class Setting:
    """An instance in one mode an operation, as everything here needs it.

    ``use`` (a,) is the position in ``uses`` of each access of ``intervals``.
    """

    instance: Instance
    request: Request
    line: Timeline
    uses: PagedIntervals
    intervals: RankedIntervals
    coefficients: CostCoefficients
    use: Ints

    @staticmethod
    def of(instance: Instance, request: Request, line: Timeline, uses: PagedIntervals) -> Setting:
        """Arrange the accesses both ways."""
        intervals = RankedIntervals.by_rank(line)
        place = np.empty_like(uses.access)
        place[uses.access] = np.arange(uses.access.size)
        return Setting(
            instance=instance,
            request=request,
            line=line,
            uses=uses,
            intervals=intervals,
            coefficients=CostCoefficients.of(instance, line, request.objective),
            use=place[intervals.access],
        )

    @property
    def page_bytes(self) -> int:
        """Page size of the scratchpad."""
        return self.instance.machine.page_bytes

    def open(self, columns: PathColumns, choices: Choices) -> Bools:
        """(c,) Columns that ``choices`` leave open."""
        return allowed(self.intervals, columns, choices.resident[self.use], choices.kept[self.use])


@dataclass(frozen=True, kw_only=True, eq=False)
class Timed:
    """Choices with their transfers: a legal plan, its exact value, and the program's answer."""

    choices: Choices
    plan: Plan
    value: Fraction
    built: Master
    answer: SolverResult
    prices: Multipliers

    @property
    def relaxed_value(self) -> float:
        """Objective of the linear program: before rounding to pages and whole cycles."""
        unit = self.built.price_unit * self.built.unit_bytes
        return unit * (self.answer.objective or 0.0)


def best_transfers(setting: Setting, choices: Choices, columns: PathColumns) -> Timed | None:
    """Loads and stores of least objective for ``choices``; None if time ran out.

    Starts from ``columns``; the prices of each program name the steps that the next one adds.
    """
    best: Timed | None = None
    steps, request = setting.intervals.steps, setting.request
    for _ in range(_ROUNDS):
        timed = _solved(setting, choices, columns.take(setting.open(columns, choices)))
        if timed is None:
            break
        gained = best is None or timed.relaxed_value < best.relaxed_value * (1 - 1e-6)
        if best is None or timed.value < best.value:
            best = timed
        if not gained or request.remaining_s() <= 0:
            break
        columns = columns.union(
            nearby(setting.intervals, setting.coefficients, timed.prices, _DEPTH), steps
        )
    return best


def _solved(setting: Setting, choices: Choices, columns: PathColumns) -> Timed | None:
    built = master(setting.intervals, setting.coefficients, columns, page_bytes=setting.page_bytes)
    request = setting.request
    options = interior_point(1e-8) if len(columns) > _SMALL else _SIMPLEX
    answer = solve_within(built.program, request, options=options)
    if answer.primal is None or answer.row_dual is None or not answer.feasible:
        return None
    plan = _plan(setting, built, answer)
    if plan is None:
        return None
    return Timed(
        choices=choices,
        plan=plan,
        value=plan_value(setting.instance, plan, request.objective),
        built=built,
        answer=answer,
        prices=built.multipliers(answer),
    )


def _plan(setting: Setting, built: Master, answer: SolverResult) -> Plan | None:
    """Round to pages; None unless every tensor is whole wherever it is used."""
    line = setting.line
    plan = to_plan(
        setting.intervals,
        line,
        profiles(setting.intervals, line, built.columns, built.amounts(answer)),
        np.zeros(setting.intervals.steps),
        page_bytes=setting.page_bytes,
        capacity_pages=setting.uses.capacity_pages,
    )
    if plan is None:
        return None
    resident = resident_bytes(plan.residency, line.step, line.tensor)
    whole = (resident == 0) | (resident == line.size_bytes[line.tensor])
    return plan if whole.all() else None
