"""Whole-tensor residency of least DRAM traffic, as a 0/1 program (problem statement, section 6)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gcd

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
from formulations.residency.whole.greedy import density
from formulations.residency.whole.uses import Uses
from formulations.solver.program import Floats, Program, compressed
from spmopt.core.objective import Objective
from spmopt.core.table import Ints
from spmopt.core.timeline import Access

_LARGEST_PRICE = 2**20


@dataclass(frozen=True, kw_only=True, eq=False)
class Prices:
    """Integer prices of a byte read and written, in units of ``unit`` objective units."""

    into: int
    out: int
    unit: Fraction

    @staticmethod
    def of(objective: Objective) -> Prices:
        """Exact where both prices are small multiples of one unit; else rounded down."""
        into, out = objective.dram_in_byte, objective.dram_out_byte
        scale = into.denominator * out.denominator
        a, b = int(into * scale), int(out * scale)
        unit = Fraction(gcd(a, b) or 1, scale)
        unit = max(unit, max(into, out) / _LARGEST_PRICE)
        return Prices(into=int(into / unit), out=int(out / unit), unit=unit)


@dataclass(frozen=True, kw_only=True, eq=False)
class TrafficModel:
    """The program in units of ``unit`` objective units, and where its columns come from.

    ``columns`` come first, then one column a version that may be stored: ``store`` (a,) is its
    number at the access that writes the version, or ``NO`` or ``YES``. Rows from
    ``first_capacity`` on are capacity rows. ``keep`` and ``enter`` (a,) are roughly what keeping
    a gap saves per page and step, and being resident at an access per page.
    """

    uses: Uses
    program: Program
    columns: Columns
    store: Ints
    first_capacity: int
    keep: Floats
    enter: Floats
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


def byte_prices(uses: Uses, prices: Prices) -> tuple[Ints, Ints, Ints]:
    """(a,) What it costs not to be resident, to come back after a gap, and to be stored.

    With ``p`` passes a reader pays ``p s`` streamed, ``s`` loaded and nothing kept: being
    absent costs ``(p - 1) s`` on top of coming back. A result that is streamed pays ``p s`` out
    and ``(p - 1) s`` in, against one store.
    """
    written = (uses.kind != Access.READ) & uses.live_after
    needed = uses.live_before | uses.live_after
    extra = (uses.passes - 1) * uses.size_bytes
    absent = extra * (prices.into * needed + prices.out * written)
    back = uses.live_before * uses.size_bytes * prices.into
    return np.where(uses.stationary, 0, absent), back, written * uses.size_bytes * prices.out


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
        keep=density(uses, _worth(uses, back, store_price)),
        enter=absent / uses.pages,
        unit=unit * prices.unit,
    )


def _worth(uses: Uses, back: Ints, store_price: Ints) -> Floats:
    """(a,) What keeping each gap saves, if a version's gaps share the price of its store."""
    version = np.concatenate(([-1], uses.version[:-1]))
    mine = uses.gap & (version >= 0)
    gaps = np.bincount(version[mine], minlength=uses.step.size)
    final = np.zeros(uses.step.size, bool)
    final[uses.version[uses.final]] = True
    shared = np.where(final, 0, store_price / np.maximum(gaps, 1))
    return np.where(uses.gap, back, 0) + np.where(mine, shared[version], 0)


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
