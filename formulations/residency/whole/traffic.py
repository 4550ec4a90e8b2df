"""Whole-tensor residency of least DRAM traffic, as a 0/1 program (problem statement, section 6)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from formulations.residency.whole.choices import Choices
from formulations.residency.whole.columns import (
    NO,
    YES,
    Columns,
    capacity,
    needed_steps,
    settle,
)
from formulations.residency.whole.entries import Block, linked, pairs, stacked
from formulations.residency.whole.savings import Prices, Savings, byte_prices, savings
from formulations.residency.whole.uses import Uses
from formulations.solver.program import Floats, Program, compressed
from spmopt.core.table import Ints


@dataclass(frozen=True, kw_only=True, eq=False)
class TrafficModel:
    """The program in units of ``unit`` objective units, and where its columns come from.

    ``columns`` come first, then one column a version that may be stored: ``store`` (a,) is its
    number at the access that writes the version, or ``NO`` or ``YES``. Rows from
    ``first_capacity`` on are capacity rows.
    """

    uses: Uses
    program: Program
    columns: Columns
    store: Ints
    first_capacity: int
    savings: Savings
    unit: Fraction

    def choices(self, values: Floats) -> Choices:
        """Choices that a solution stands for, without residency that saves nothing."""
        return Choices.of_columns(self.uses, self.columns, values)

    def cost(self, choices: Choices) -> float:
        """Cost of choices which fit, in units."""
        return float(self.program.cost @ self.values(choices) + self.program.offset)

    def values(self, choices: Choices) -> Floats:
        """The solution that stands for choices which fit."""
        columns, store = self.columns, self.store
        values = np.zeros(self.program.cost.size)
        gaps = int((columns.kept >= 0).sum())
        for state, first, chosen in (
            (columns.kept, 0, choices.kept),
            (columns.resident, gaps, choices.resident),
            (store, columns.count, choices.dropped(self.uses)),
        ):
            own = state >= first
            values[state[own]] = chosen[own]
        return values


def build(uses: Uses, prices: Prices) -> TrafficModel:
    """Minimise what the bytes over the channel cost.

    Columns: ``k_j`` the gap of access ``j`` is kept, ``x_j`` its tensor is resident in its
    step, ``w_v`` version ``v`` is stored::

        sum_j a_j (1 - x_j) + b_j (1 - k_j) + sum_v e_v w_v              objective
        k_j <= x_j,  k_j <= x_(j-1)                                            (W1)
        w_v >= 1 - k_j           for every gap of a written version v          (W2)
        sum_j s_j (k_j + x_j) <= room_i          in each step, in pages        (W3)
    """
    absent, back, store_price = byte_prices(uses, prices)
    columns = settle(uses, streams_cost=absent > 0)
    store = _stores(uses, columns)
    count = columns.count + int((store >= 0).sum())
    cost = np.zeros(count, np.int64)
    constant = int(absent.sum() + back.sum())
    for state, price in ((columns.kept, -back), (columns.resident, -absent), (store, store_price)):
        constant += int(price[state == YES].sum())
        np.add.at(cost, state[state >= 0], price[state >= 0])
    unit = int(np.gcd.reduce(cost)) or 1
    links = [linked(columns), _stored(uses, columns, store)]
    rows = stacked([*links, _fitting(uses, columns)])
    program = Program(
        cost=cost / unit,
        lower=np.zeros(count),
        upper=np.ones(count),
        row_lower=rows.lower,
        row_upper=rows.upper,
        matrix=compressed(rows.row, rows.column, rows.value, rows.lower.size, by_rows=True),
        integer=np.ones(count, bool),
        offset=constant / unit,
    )
    return TrafficModel(
        uses=uses,
        program=program,
        columns=columns,
        store=store,
        first_capacity=sum(block.lower.size for block in links),
        savings=savings(uses, prices),
        unit=unit * prices.unit,
    )


def _stores(uses: Uses, columns: Columns) -> Ints:
    """(a,) Whether the version that each access writes is stored, wherever that is."""
    gap = np.flatnonzero(uses.gap)
    version, kept = uses.version[gap - 1], columns.kept[gap]
    written = version >= 0
    store = np.full(uses.step.size, NO, np.int64)
    store[version[written & (kept >= 0)]] = 0
    store[version[written & (kept == NO)]] = YES
    store[uses.version[uses.final]] = YES
    there = np.flatnonzero(store == 0)
    store[there] = columns.count + np.arange(there.size)
    return store


def _stored(uses: Uses, columns: Columns, store: Ints) -> Block:
    """(W2) A written version that is dropped is stored."""
    gap = np.flatnonzero(columns.kept >= 0)
    gap = gap[uses.version[gap - 1] >= 0]
    column = store[uses.version[gap - 1]]
    real = column >= 0
    return pairs(columns.kept[gap[real]], column[real], (1, 1), 1, np.inf)


def _fitting(uses: Uses, columns: Columns) -> Block:
    """(W3) What is resident fits, in the steps that no other row covers."""
    row, room = capacity(uses, columns)
    needed = needed_steps(uses, columns, row, room)
    real = needed[row.step]
    number = (np.cumsum(needed) - 1)[row.step[real]]
    upper = room[needed].astype(np.float64)
    return Block(
        row=number,
        column=row.column[real],
        value=row.pages[real].astype(np.float64),
        lower=np.full(upper.size, -np.inf),
        upper=upper,
    )
