"""Whole-tensor residency of least DRAM traffic, as a 0/1 program (PROBLEM.md, section 6)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from formulations.residency.whole.choices import Choices
from formulations.residency.whole.decisions import NO, YES, Decisions, fit, link, settle
from formulations.residency.whole.intervals import PagedIntervals
from formulations.residency.whole.savings import BytePrices, Savings, byte_prices, savings
from formulations.solver.program import Floats, Program, ProgramBuilder
from spmopt.core.table import Ints


@dataclass(frozen=True, kw_only=True, eq=False)
class TrafficProgram:
    """The program in units of ``unit`` objective units, and where its columns come from.

    ``decisions`` come first, then one column a version that may be stored: ``store`` (a,) is its
    number at the access that writes the version, or ``NO`` or ``YES``. Rows from
    ``first_capacity`` on are capacity rows.
    """

    uses: PagedIntervals
    program: Program
    decisions: Decisions
    store: Ints
    first_capacity: int
    savings: Savings
    unit: Fraction

    def choices(self, values: Floats) -> Choices:
        """Choices that a solution stands for, without residency that saves nothing."""
        return Choices.of_solution(self.uses, self.decisions, values)

    def cost(self, choices: Choices) -> float:
        """Cost of choices which fit, in units."""
        return float(self.program.cost @ self.values(choices) + self.program.offset)

    def values(self, choices: Choices) -> Floats:
        """The solution that stands for choices which fit."""
        decisions, store = self.decisions, self.store
        values = np.zeros(self.program.cost.size)
        intervals = int((decisions.kept >= 0).sum())
        for state, first, chosen in (
            (decisions.kept, 0, choices.kept),
            (decisions.resident, intervals, choices.resident),
            (store, decisions.count, choices.dropped(self.uses)),
        ):
            own = state >= first
            values[state[own]] = chosen[own]
        return values


def traffic_program(uses: PagedIntervals, prices: BytePrices) -> TrafficProgram:
    """Minimize what the bytes over the channel cost.

    Columns: ``k_j`` the interval of access ``j`` is kept, ``x_j`` its tensor is resident in its
    step, ``w_v`` version ``v`` is stored::

        sum_j a_j (1 - x_j) + b_j (1 - k_j) + sum_v e_v w_v              objective
        k_j <= x_j,  k_j <= x_(j-1)                                            (W1)
        w_v >= 1 - k_j           for every interval of a written version v          (W2)
        sum_j s_j (k_j + x_j) <= room_i          in each step, in pages        (W3)
    """
    absent, back, store_price = byte_prices(uses, prices)
    decisions = settle(uses, streams_cost=absent > 0)
    store = _stores(uses, decisions)
    count = decisions.count + int((store >= 0).sum())
    cost = np.zeros(count, np.int64)
    constant = int(absent.sum() + back.sum())
    priced = ((decisions.kept, -back), (decisions.resident, -absent), (store, store_price))
    for state, price in priced:
        constant += int(price[state == YES].sum())
        np.add.at(cost, state[state >= 0], price[state >= 0])
    unit = int(np.gcd.reduce(cost)) or 1
    build = ProgramBuilder()
    build.columns(count, cost=cost / unit, upper=1.0, integer=True)
    link(build, decisions)
    _store(build, uses, decisions, store)
    first_capacity = build.row_count
    fit(build, uses, decisions)
    return TrafficProgram(
        uses=uses,
        program=build.program(by_rows=True, offset=constant / unit),
        decisions=decisions,
        store=store,
        first_capacity=first_capacity,
        savings=savings(uses, prices),
        unit=unit * prices.unit,
    )


def _stores(uses: PagedIntervals, decisions: Decisions) -> Ints:
    """(a,) Whether the version that each access writes is stored, wherever that is."""
    interval = np.flatnonzero(uses.crossed)
    version, kept = uses.version[interval - 1], decisions.kept[interval]
    written = version >= 0
    store = np.full(uses.step.size, NO, np.int64)
    store[version[written & (kept >= 0)]] = 0
    store[version[written & (kept == NO)]] = YES
    store[uses.version[uses.final]] = YES
    there = np.flatnonzero(store == 0)
    store[there] = decisions.count + np.arange(there.size)
    return store


def _store(build: ProgramBuilder, uses: PagedIntervals, decisions: Decisions, store: Ints) -> None:
    """(W2) ``w_v >= 1 - k_j`` for every interval of a written version: dropped, it is stored."""
    interval = np.flatnonzero(decisions.kept >= 0)
    interval = interval[uses.version[interval - 1] >= 0]
    column = store[uses.version[interval - 1]]
    real = column >= 0
    row = build.rows(int(real.sum()), 1.0)
    build.add(row, decisions.kept[interval[real]], 1.0)
    build.add(row, column[real], 1.0)
