"""Whole-tensor residency of least time (or energy): a mixed-integer program over columns.

To the compact linear program it adds two kinds of 0/1 columns and three families of rows::

    stream_j = s_j (1 - x_j)                   all of it is resident, or nothing       (W4)
    held through interval j = s_j k_j               kept in full, or given up in full       (W5)
    k_j <= x_j,  k_j <= x_(j-1)                                                        (W1)
    sum_j s_j (k_j + x_j) <= room_i            in each busy step, in pages             (W3)

(W3) follows from the capacity of the linear program, but only it shows the solver a knapsack:
with its right-hand side cut to a sum that the sizes can reach it saves most of the search.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.residency.program.columns import ColumnKind, PathColumns
from formulations.residency.program.master import Master, master
from formulations.residency.whole.choices import Choices
from formulations.residency.whole.decisions import NO, YES, Decisions, fit, link, settle
from formulations.residency.whole.timed_columns import HELD
from formulations.residency.whole.transfers import Setting, Timed
from formulations.solver.program import Floats, Program, ProgramBuilder
from spmopt.core.table import Bools


@dataclass(frozen=True, kw_only=True, eq=False)
class TimedProgram:
    """The program, and where its 0/1 columns come from.

    ``resident`` and ``kept`` (a,) are the columns of each use, or ``NO`` or ``YES``.
    """

    setting: Setting
    built: Master
    program: Program
    decisions: Decisions

    def choices(self, values: Floats) -> Choices:
        """Choices that a solution stands for."""
        return Choices.of_solution(self.setting.uses, self.decisions, values)

    def values(self, timed: Timed) -> Floats:
        """The solution that stands for choices and their transfers."""
        steps, columns, theirs = (
            self.setting.intervals.steps,
            self.built.columns,
            timed.built.columns,
        )
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


def timed_program(
    setting: Setting, columns: PathColumns, busy: Bools | None = None
) -> TimedProgram:
    """Build the program over ``columns``, with (W3) in the steps ``busy`` (n,)."""
    base = master(setting.intervals, setting.coefficients, columns, page_bytes=setting.page_bytes)
    decisions = _decide(setting, base.builder)
    _stream(setting, base, decisions)
    _hold(setting, base, decisions)
    link(base.builder, decisions)
    if busy is not None:
        fit(base.builder, setting.uses, decisions, busy=busy)
    return TimedProgram(
        setting=setting, built=base, program=base.builder.program(), decisions=decisions
    )


def _decide(setting: Setting, build: ProgramBuilder) -> Decisions:
    """Columns for what may be either; what never fits is settled, all else is open."""
    uses = setting.uses
    useful = uses.live | uses.live_after
    settled = settle(uses, streams_cost=useful)
    open_ = useful & ~uses.stationary & (settled.resident != NO)
    resident = build.columns(open_, upper=1.0, integer=True)
    kept = build.columns(uses.crossed & (settled.kept != NO), upper=1.0, integer=True)
    return Decisions(
        kept=kept, resident=np.where(uses.stationary, YES, resident), count=build.column_count
    )


def _stream(setting: Setting, base: Master, decisions: Decisions) -> None:
    """(W4) ``stream_j = s_j (1 - x_j)``: what is not resident is streamed in full."""
    column = np.flatnonzero(base.columns.kind == ColumnKind.STREAM)
    access = base.columns.access[column]
    size = setting.intervals.size_bytes[access] / base.unit_bytes
    row = base.builder.rows(column.size, size, size)
    base.builder.add(row, column, 1.0)
    base.builder.add(row, decisions.resident[setting.use[access]], size)


def _hold(setting: Setting, base: Master, decisions: Decisions) -> None:
    """(W5) ``held through j = s_j k_j``: a tensor is held through it in full or not at all."""
    held = np.flatnonzero(np.isin(base.columns.kind, HELD))
    access, place = np.unique(base.columns.access[held], return_inverse=True)
    size = setting.intervals.size_bytes[access] / base.unit_bytes
    row = base.builder.rows(access.size, 0.0, 0.0)
    base.builder.add(row[place], held, 1.0)
    base.builder.add(row, decisions.kept[setting.use[access]], -size)
