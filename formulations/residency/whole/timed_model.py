"""Whole-tensor residency of least time (or energy): a mixed-integer program over columns.

To the compact linear program it adds two kinds of 0/1 columns and three families of rows::

    stream_j = s_j (1 - x_j)                   all of it is resident, or nothing       (W4)
    held through gap j = s_j k_j               kept in full, or given up in full       (W5)
    k_j <= x_j,  k_j <= x_(j-1)                                                        (W1)
    sum_j s_j (k_j + x_j) <= room_i            in each busy step, in pages             (W3)

(W3) follows from the capacity of the linear program, but only it shows the solver a knapsack:
with its right-hand side cut to a sum that the sizes can reach it saves most of the search.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.residency.program.columns import Columns, Kind
from formulations.residency.program.master import Master, master
from formulations.residency.whole.choices import Choices
from formulations.residency.whole.columns import NO, YES, capacity, needed_steps, settle
from formulations.residency.whole.columns import Columns as Decisions
from formulations.residency.whole.entries import Block, linked, stacked
from formulations.residency.whole.sums import largest_sums
from formulations.residency.whole.timed_columns import HELD
from formulations.residency.whole.transfers import Setting, Timed
from formulations.solver.program import Floats, Program, compressed
from spmopt.core.table import Bools


@dataclass(frozen=True, kw_only=True, eq=False)
class TimedModel:
    """The program, and where its 0/1 columns come from.

    ``resident`` and ``kept`` (a,) are the columns of each use, or ``NO`` or ``YES``.
    """

    setting: Setting
    built: Master
    program: Program
    decisions: Decisions

    def choices(self, values: Floats) -> Choices:
        """Choices that a solution stands for."""
        return Choices.of_columns(self.setting.uses, self.decisions, values)

    def values(self, timed: Timed) -> Floats:
        """The solution that stands for choices and their transfers."""
        steps, columns, theirs = self.setting.gaps.steps, self.built.columns, timed.built.columns
        values = np.zeros(self.program.cost.size)
        primal = timed.answer.primal
        if primal is None:
            raise ValueError("the transfers have no solution")
        place = np.searchsorted(columns.key(steps), theirs.key(steps))
        values[place] = primal[: len(theirs)]
        others = primal[len(theirs) :]
        values[len(columns) : len(columns) + others.size] = others
        for state, chosen in (
            (self.decisions.resident, timed.choices.resident),
            (self.decisions.kept, timed.choices.kept),
        ):
            values[state[state >= 0]] = chosen[state >= 0]
        return values


def build(setting: Setting, columns: Columns, busy: Bools | None = None) -> TimedModel:
    """Build the program over ``columns``, with (W3) in the steps ``busy`` (n,)."""
    built = master(setting.gaps, setting.economy, columns, page_bytes=setting.page_bytes)
    first = built.program.cost.size
    decisions = _decisions(setting, first)
    blocks = [_streamed(setting, built, decisions), _held(setting, built, decisions)]
    blocks.append(linked(decisions))
    if busy is not None:
        blocks.append(_fitting(setting, decisions, busy))
    base, rows = built.program, stacked(blocks)
    count = decisions.count - first
    matrix = base.matrix
    old = np.repeat(np.arange(first), np.diff(matrix.start))
    below = base.row_lower.size
    program = Program(
        cost=np.concatenate((base.cost, np.zeros(count))),
        lower=np.concatenate((base.lower, np.zeros(count))),
        upper=np.concatenate((base.upper, np.ones(count))),
        row_lower=np.concatenate((base.row_lower, rows.lower)),
        row_upper=np.concatenate((base.row_upper, rows.upper)),
        matrix=compressed(
            np.concatenate((old, rows.column)),
            np.concatenate((matrix.index, below + rows.row)),
            np.concatenate((matrix.value, rows.value)),
            decisions.count,
            by_rows=False,
        ),
        integer=np.arange(decisions.count) >= first,
        offset=base.offset,
    )
    return TimedModel(setting=setting, built=built, program=program, decisions=decisions)


def _decisions(setting: Setting, first: int) -> Decisions:
    """Columns for what may be either; what never fits is settled, all else is open."""
    uses = setting.uses
    useful = uses.live_before | uses.live_after
    settled = settle(uses, streams_cost=useful)
    resident = np.where(uses.stationary, YES, settled.resident)
    for_either = useful & ~uses.stationary & (resident != NO)
    resident[for_either] = first + np.arange(int(for_either.sum()))
    resident[~useful & ~uses.stationary] = NO
    first += int(for_either.sum())
    gap = uses.gap & (settled.kept != NO)
    kept = np.where(gap, first + np.cumsum(gap) - 1, NO)
    return Decisions(kept=kept, resident=resident, count=first + int(gap.sum()))


def _streamed(setting: Setting, built: Master, decisions: Decisions) -> Block:
    """(W4) What is not resident is streamed in full."""
    stream = np.flatnonzero(built.columns.kind == Kind.STREAM)
    access = built.columns.access[stream]
    size = setting.gaps.size_bytes[access] / built.unit_bytes
    state = decisions.resident[setting.use[access]]
    row, chosen = np.arange(stream.size), state >= 0
    return Block(
        row=np.concatenate((row, row[chosen])),
        column=np.concatenate((stream, state[chosen])),
        value=np.concatenate((np.ones(stream.size), size[chosen])),
        lower=size,
        upper=size,
    )


def _held(setting: Setting, built: Master, decisions: Decisions) -> Block:
    """(W5) A tensor is held through a gap in full or not at all."""
    held = np.flatnonzero(np.isin(built.columns.kind, HELD))
    access, row = np.unique(built.columns.access[held], return_inverse=True)
    size = setting.gaps.size_bytes[access] / built.unit_bytes
    state = decisions.kept[setting.use[access]]
    chosen = np.flatnonzero(state >= 0)
    nothing = np.zeros(access.size)
    return Block(
        row=np.concatenate((row, chosen)),
        column=np.concatenate((held, state[chosen])),
        value=np.concatenate((np.ones(held.size), -size[chosen])),
        lower=nothing,
        upper=nothing,
    )


def _fitting(setting: Setting, decisions: Decisions, busy: Bools) -> Block:
    """(W3) What is resident in full fits, in busy steps."""
    row, room = capacity(setting.uses, decisions)
    needed = busy & needed_steps(setting.uses, decisions, row, room)
    real = np.flatnonzero(needed[row.step])
    number = (np.cumsum(needed) - 1)[row.step[real]]
    order = np.argsort(number, kind="stable")
    real, number = real[order], number[order]
    start = np.searchsorted(number, np.arange(int(needed.sum()) + 1))
    upper = largest_sums(start, row.pages[real], room[needed])
    return Block(
        row=number,
        column=row.column[real],
        value=row.pages[real].astype(np.float64),
        lower=np.full(upper.size, -np.inf),
        upper=upper.astype(np.float64),
    )
