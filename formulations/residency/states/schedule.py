"""The best schedule of a small instance, and a proof by enumeration that it is the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from formulations.residency.states.facts import Facts, facts
from formulations.residency.states.prices import POINT, Ascent
from formulations.residency.states.search import StateSearch
from formulations.residency.states.work import Effort, TooLargeError
from formulations.solver.program import Floats
from spmopt.assemble.cost import plan_value
from spmopt.core.instance import Instance
from spmopt.core.order import other_order
from spmopt.core.result import Certificate
from spmopt.core.schedule import Plan, Residency, Steps, Stores
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints

ENUMERATION = "an enumeration"
"""What proves its bounds, for notes."""
STEPS, TENSORS, PAGES = 12, 24, 16
"""Most of each that an instance may have."""
CLIMB = 80
"""Steps on the prices before each search."""
BEAMS = tuple(Effort(moves=10**7, states=states) for states in (30, 300, 2000))
FINER = 8
"""Times as many parts, where stores share too much."""
MOVES = 10_000_000
"""That exhaustive searches look at in all: some seconds."""


@dataclass(frozen=True, kw_only=True)
class Enumerated:
    """The best plan known, its value, and what every legal schedule in the listed order costs."""

    plan: Plan
    value: Fraction
    bound: Fraction


def enumerated(
    instance: Instance, request: Request, plan: Plan, prices: Certificate | None
) -> Enumerated | None:
    """Improve a plan, and prove what it may be above the optimum; None of too large an instance.

    Parameters
    ----------
    plan
        To begin with; where it is in another order, nothing is done.
    prices
        To begin with.
    """
    if other_order(plan.steps.operation) is not None or request.remaining_s() <= 0:
        return None
    layout = _facts(instance, request)
    return None if layout is None else _Proof(instance, request, layout, plan, prices).run()


def least_value(
    instance: Instance, request: Request, plan: Plan
) -> tuple[Fraction, Fraction] | None:
    """Return the value of the best plan known, and a lower bound; None of too large an instance."""
    found = enumerated(instance, request, plan, None)
    return None if found is None else (found.value, found.bound)


def _facts(instance: Instance, request: Request) -> Facts | None:
    objective, page = request.objective, instance.machine.page_bytes
    if len(instance.operations) > STEPS or len(instance.tensors) > TENSORS:
        return None
    most = max((-(-tensor.size_bytes // page) for tensor in instance.tensors), default=0)
    if min(most, instance.machine.spm_pages) > PAGES or objective.bank_read_byte:
        return None
    return facts(instance, objective)


class _Proof:
    def __init__(
        self,
        instance: Instance,
        request: Request,
        layout: Facts,
        plan: Plan,
        prices: Certificate | None,
    ) -> None:
        self.instance, self.request, self.facts = instance, request, layout
        self.plan = plan
        self.value = plan_value(instance, plan, request.objective)
        self.ascent = Ascent(layout, self._start(prices))
        self.bound = Fraction(0)

    def _start(self, prices: Certificate | None) -> list[Floats]:
        layout, count = self.facts.layout, len(self.facts.steps)
        if prices is None:
            nothing = np.zeros(count)
            return [nothing, nothing + layout.cycle / 2, nothing + layout.cycle / 2]
        unit = layout.scale * 2.0**-prices.bits
        page, cycle = unit * layout.page, unit * layout.rate / layout.per
        return [
            np.asarray(each, np.float64)
            for each in (prices.spm * page, prices.dram_in * cycle, prices.dram_out * cycle)
        ]

    @property
    def below(self) -> int:
        """The least whole cost that is not less than that of the best plan."""
        return -(-self.value * self.facts.layout.scale // 1)

    def run(self) -> Enumerated:
        """Look for better plans, then for all."""
        for effort in BEAMS:
            # The better the schedule known, the better the steps.
            best = self.ascent.climb(self.below, CLIMB)
            self.prove(-(-best.bound >> POINT))
            if self._closed or self._late():
                break
            self._search(effort)
        parts, moves = [1] * len(self.facts.steps), MOVES
        while not (self._closed or self._late()):
            search = self._search(Effort(moves=moves, parts=tuple(parts)))
            if search is None:
                break
            moves -= search.work.moves
            rough = search.rough()
            for step in rough:
                parts[step] *= FINER
            if not rough:
                break
        return Enumerated(plan=self.plan, value=self.value, bound=min(self.bound, self.value))

    def _search(self, effort: Effort) -> StateSearch | None:
        """Take what a search finds and proves; return it if it came to an end with a plan."""
        search = StateSearch(self.ascent.best, self.below, effort, self._late)
        try:
            found = search.run()
        except TooLargeError:
            return None
        if search.work.exhaustive:
            self.prove(self.below if found is None else int(found.cost[0]))
        if found is None:
            return None
        self.offer(search)
        return search

    @property
    def _closed(self) -> bool:
        return self.value <= self.bound * (1 + Fraction(self.request.tolerance))

    def _late(self) -> bool:
        return self.request.remaining_s() <= 0

    def prove(self, cost: int) -> None:
        """Take a bound, in units of cost."""
        self.bound = max(self.bound, Fraction(cost, self.facts.layout.scale))

    def offer(self, search: StateSearch) -> None:
        """Take the plan that a search found, if it is better."""
        plan = _plan(self.facts, search.path())
        value = plan_value(self.instance, plan, self.request.objective)
        if value < self.value:
            self.plan, self.value = plan, value
            self.request.report_incumbent(value=value)


def _plan(facts: Facts, path: Sequence[tuple[int, Ints, Ints]]) -> Plan:
    """Return the plan of a path."""
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
    modes = [facts.steps[step].modes[mode].index for step, (mode, _, _) in enumerate(path)]
    return Plan(
        steps=Steps.listed(np.array(modes, np.int64)),
        residency=Residency(
            tensor=held_rows[0], begin=held_rows[1], end=held_rows[2], size_bytes=held_rows[3]
        ),
        stores=Stores(step=stored_rows[0], tensor=stored_rows[1], size_bytes=stored_rows[2]),
    )
