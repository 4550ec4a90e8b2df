"""The best schedule of a small problem, and a proof by enumeration that it is the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from formulations.residency.states.duals import POINT, Ascent
from formulations.residency.states.facts import Facts, facts
from formulations.residency.states.search import StateSearch
from formulations.residency.states.work import Effort, TooLargeError
from formulations.solver.program import Floats
from spmopt.assemble.cost import residency_plan_value
from spmopt.core.order import other_order
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate
from spmopt.core.schedule import Residency, ResidencyPlan, Steps, Stores
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints

ENUMERATION = "an enumeration"
"""Proof of its bounds, for notes."""
STEPS, TENSORS, PAGES = 12, 24, 16
"""Most of each that a problem may have."""
CLIMB = 80
"""Steps on the dual values before each search."""
BEAMS = tuple(Effort(moves=10**7, states=states) for states in (30, 300, 2000))
FINER = 8
"""Times as many parts, where stores share too much."""
MOVES = 10_000_000
"""That exhaustive searches look at in all: some seconds."""


@dataclass(frozen=True, kw_only=True)
class Enumerated:
    """The best residency plan known, its value, and a lower bound in the listed order."""

    residency_plan: ResidencyPlan
    value: Fraction
    bound: Fraction


def enumerate_all(
    problem: Problem, request: Request, residency_plan: ResidencyPlan, duals: Certificate | None
) -> Enumerated | None:
    """Improve a residency plan, and bound its distance to the optimum; None of too large a problem.

    Parameters
    ----------
    residency_plan
        To begin with; where it is in another order, nothing is done.
    duals
        To begin with.
    """
    if other_order(residency_plan.steps.operation) is not None or request.remaining_s() <= 0:
        return None
    layout = _facts(problem, request)
    return None if layout is None else _Proof(problem, request, layout, residency_plan, duals).run()


def least_value(
    problem: Problem, request: Request, residency_plan: ResidencyPlan
) -> tuple[Fraction, Fraction] | None:
    """Return the value of the best plan known, and a lower bound; None of too large a problem."""
    found = enumerate_all(problem, request, residency_plan, None)
    return None if found is None else (found.value, found.bound)


def _facts(problem: Problem, request: Request) -> Facts | None:
    objective, page = request.objective, problem.machine.page_bytes
    if len(problem.operations) > STEPS or len(problem.tensors) > TENSORS:
        return None
    most = max((-(-tensor.size_bytes // page) for tensor in problem.tensors), default=0)
    if min(most, problem.machine.spm_pages) > PAGES or objective.bank_read_byte:
        return None
    return facts(problem, objective)


class _Proof:
    def __init__(
        self,
        problem: Problem,
        request: Request,
        layout: Facts,
        residency_plan: ResidencyPlan,
        duals: Certificate | None,
    ) -> None:
        self.problem, self.request, self.facts = problem, request, layout
        self.residency_plan = residency_plan
        self.value = residency_plan_value(problem, residency_plan, request.objective)
        self.ascent = Ascent(layout, self._start(duals))
        self.bound = Fraction(0)

    def _start(self, duals: Certificate | None) -> list[Floats]:
        layout, count = self.facts.layout, len(self.facts.steps)
        if duals is None:
            nothing = np.zeros(count)
            return [nothing, nothing + layout.cycle / 2, nothing + layout.cycle / 2]
        unit = layout.scale * 2.0**-duals.bits
        page, cycle = unit * layout.page, unit * layout.rate / layout.per
        return [
            np.asarray(each, np.float64)
            for each in (duals.spm * page, duals.dram_in * cycle, duals.dram_out * cycle)
        ]

    @property
    def below(self) -> int:
        """The least whole cost that is not less than that of the best residency plan."""
        # Costs are whole in units of 1 / scale, so the bound is rounded up.
        return -(-self.value * self.facts.layout.scale // 1)

    def run(self) -> Enumerated:
        """Look for better plans, then for all."""
        for effort in BEAMS:
            # The better the schedule known, the better the steps.
            best = self.ascent.climb(self.below, CLIMB)
            self.prove(-(-best.bound >> POINT))
            if self._is_closed or self._late():
                break
            self._search(effort)
        parts, moves = [1] * len(self.facts.steps), MOVES
        while not (self._is_closed or self._late()):
            search = self._search(Effort(moves=moves, parts=tuple(parts)))
            if search is None:
                break
            moves -= search.work.moves
            rough = search.rough()
            # Stores that share an idle channel are cut finer where that may have been wrong.
            for step in rough:
                parts[step] *= FINER
            if not rough:
                break
        return Enumerated(
            residency_plan=self.residency_plan, value=self.value, bound=min(self.bound, self.value)
        )

    def _search(self, effort: Effort) -> StateSearch | None:
        """Take the plan and the bound of a search; return it if it came to an end with a plan."""
        search = StateSearch(self.ascent.best, self.below, effort, self._late)
        try:
            found = search.run()
        except TooLargeError:
            return None
        # A search that left states out proves nothing.
        if search.work.exhaustive:
            self.prove(self.below if found is None else int(found.cost[0]))
        if found is None:
            return None
        self.offer(search)
        return search

    @property
    def _is_closed(self) -> bool:
        return self.value <= self.bound * (1 + Fraction(self.request.tolerance))

    def _late(self) -> bool:
        return self.request.remaining_s() <= 0

    def prove(self, cost: int) -> None:
        """Take a bound, in units of cost."""
        self.bound = max(self.bound, Fraction(cost, self.facts.layout.scale))

    def offer(self, search: StateSearch) -> None:
        """Take the residency plan that a search found, if it is better."""
        residency_plan = _residency_plan(self.facts, search.path())
        value = residency_plan_value(self.problem, residency_plan, self.request.objective)
        if value < self.value:
            self.residency_plan, self.value = residency_plan, value
            self.request.report_incumbent(value=value)


def _residency_plan(facts: Facts, path: Sequence[tuple[int, Ints, Ints]]) -> ResidencyPlan:
    """Return the residency plan of a path."""
    layout, tensors = facts.layout, np.arange(facts.layout.pages.size)
    rows, stores = list[tuple[int, int, int, int]](), list[tuple[int, int, int]]()
    for step, (_, held, stored) in enumerate(path):
        size = layout.size[tensors, held]
        for tensor in np.flatnonzero(size):
            rows.append((int(layout.tensor[tensor]), step, step + 1, int(size[tensor])))
        for tensor in np.flatnonzero(stored):
            stores.append((step, int(layout.tensor[tensor]), int(stored[tensor])))
    held_rows = np.array(sorted(rows), np.int64).reshape(-1, 4).T
    stored_rows = np.array(sorted(stores), np.int64).reshape(-1, 3).T
    mappings = [
        facts.steps[step].mappings[mapping].index for step, (mapping, _, _) in enumerate(path)
    ]
    return ResidencyPlan(
        steps=Steps.listed(np.array(mappings, np.int64)),
        residency=Residency(
            tensor=held_rows[0], begin=held_rows[1], end=held_rows[2], size_bytes=held_rows[3]
        ),
        stores=Stores(step=stored_rows[0], tensor=stored_rows[1], size_bytes=stored_rows[2]),
    )
