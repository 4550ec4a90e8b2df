"""Decisions of a sweep, and the bytes that it has left on chip."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from formulations.residency.bound.ranked import RankedIntervals
from formulations.residency.program.columns import (
    AT_ACCESS,
    DIRTY,
    ColumnKind,
    PathColumns,
    Usage,
    of_kind,
    require,
)
from formulations.residency.windows.intervals import WindowIntervals
from formulations.residency.windows.window import CarriedBytes, KeptBytes
from formulations.solver.program import Floats
from spmopt.core.table import Bools, Ints

_ENTERING = (ColumnKind.LOAD, ColumnKind.CLEAN)
_HOLDING = (ColumnKind.HOLD_DIRTY, ColumnKind.HOLD_CLEAN)
_COMING_CLEAN = (ColumnKind.HOLD_CLEAN, *_ENTERING)
_LEAST_BYTES = 1e-6  # tolerance of HiGHS


@dataclass(frozen=True, kw_only=True, eq=False)
class Amounts:
    """Columns, each with its bytes (c,)."""

    columns: PathColumns
    size_bytes: Floats

    def take(self, rows: Bools) -> Amounts:
        """Return some."""
        return Amounts(columns=self.columns.take(rows), size_bytes=self.size_bytes[rows])

    @staticmethod
    def together(*parts: Amounts) -> Amounts:
        """Return all parts."""
        return Amounts(
            columns=PathColumns.together(*(part.columns for part in parts)),
            size_bytes=np.concatenate([part.size_bytes for part in parts]),
        )


NOTHING = Amounts(columns=PathColumns.empty(), size_bytes=np.empty(0))


class State:
    """Bytes on chip before a step.

    Attributes
    ----------
    step
        Step before which events are decided.
    open, last
        Accesses that end intervals with bytes on chip; last accesses of tensors still dirty.
    dirty, clean, final : (a,)
        Bytes newer than DRAM and valid there, in the interval that an access ends; newer ones
        after a last access.
    parcels
        Columns that the clean bytes came by. Those that a later window evicts never came, or were
        stored and then left.
    """

    def __init__(self, intervals: RankedIntervals, step: int = 0) -> None:
        self.intervals, self.step = intervals, step
        self.dirty, self.clean, self.final = np.zeros((3, intervals.step.size))
        self.open = self.last = np.empty(0, np.int64)
        self.parcels = NOTHING
        self._done: list[Amounts] = []

    @classmethod
    def at(cls, intervals: RankedIntervals, step: int, amounts: Amounts) -> tuple[Self, Amounts]:
        """Take the bytes that ``amounts`` of all steps leave on chip before one.

        With later arrivals.
        """
        state, columns = cls(intervals, step), amounts.columns
        kind, access = columns.kind, columns.access
        final, used = kind == ColumnKind.FINAL, intervals.step[access]
        event = np.where(kind < len(AT_ACCESS), used, columns.step)
        before = intervals.previous[access]
        begun = np.where(final, used < step, (before < 0) | (intervals.step[before] < step))
        came = np.where(kind == ColumnKind.HOLD_CLEAN, begun, event < step)
        parcels = np.isin(kind, _COMING_CLEAN) & came & (used >= step)
        later = (event >= step) & ~parcels
        newer = later & begun & np.isin(kind, DIRTY)
        state.parcels = amounts.take(parcels)
        state._done.append(amounts.take(~parcels & ~later))
        np.add.at(state.clean, access[parcels], amounts.size_bytes[parcels])
        for held, some in ((state.dirty, newer & ~final), (state.final, newer & final)):
            np.add.at(held, access[some], amounts.size_bytes[some])
        state.open = np.unique(access[parcels | (newer & ~final)])
        state.last = np.flatnonzero(state.final)
        return state, amounts.take(later)

    def carried_bytes(self, window: WindowIntervals) -> CarriedBytes:
        """Return the bytes of a window's carriers, and zeros."""
        dirty, clean = np.zeros((2, window.origin.size))
        dirty[: self.open.size] = self.dirty[self.open]
        clean[: self.open.size] = self.clean[self.open]
        dirty[self.open.size : window.carriers] = self.final[self.last]
        return CarriedBytes(dirty=dirty, clean=clean)

    def bytes_to_leave(self, window: WindowIntervals) -> KeptBytes:
        """Return the bytes that a window that ends here has to leave."""
        ends = np.zeros(window.origin.size, bool)
        ends[window.inner :] = True
        last = ~ends
        last[: window.carried] = False
        return KeptBytes(
            dirty=np.where(ends, self.dirty[window.origin], 0.0),
            clean=np.where(ends, self.clean[window.origin], 0.0),
            final=np.where(last, self.final[window.origin], 0.0),
        )

    def advance(
        self, window: WindowIntervals, columns: PathColumns, use: Usage, amounts: Floats, until: int
    ) -> None:
        """Fix the events before step ``until`` by the amounts of a window's columns (c,)."""
        some = amounts > _LEAST_BYTES
        kind, local, amount = columns.kind[some], columns.access[some], amounts[some]
        at, width = until - window.first_step, window.steps
        holds = np.isin(kind, _HOLDING)
        event = np.where(holds, window.step[local], use.at[some])
        final = kind == ColumnKind.FINAL
        # It is stored after the window.
        event[final & (event < 0)] = width
        open_after = ~final & (window.step[local] >= at)
        before = window.previous[local]
        begun = np.where(final, window.step[local] < at, before < 0)
        begun |= (before >= 0) & (window.step[before] < at) & ~final
        kept = (kind == ColumnKind.HOLD_CLEAN) & (before < window.carriers)
        self._scale(window, local[kept], amount[kept])
        moved = Amounts(
            columns=PathColumns(
                kind=kind,
                access=window.origin[local],
                step=np.where(columns.step[some] < 0, -1, columns.step[some] + window.first_step),
            ),
            size_bytes=amount,
        )
        arrived = np.isin(kind, _ENTERING) & (event < at) & open_after
        arrived |= (kind == ColumnKind.HOLD_CLEAN) & ~kept & begun & open_after
        self._done.append(moved.take((event < at) & ~arrived & ~kept))
        self.parcels = Amounts.together(self.parcels, moved.take(arrived))
        closed = self.intervals.step[self.parcels.columns.access] < until
        self._done.append(self.parcels.take(closed))
        self.parcels = self.parcels.take(~closed)
        # Dirty bytes whose store is not yet decided go to the next window.
        waiting = np.isin(kind, DIRTY) & (event >= at) & begun
        self._carry(window, local, amount, waiting & ~final, waiting & final)
        self.step = until

    def _scale(self, window: WindowIntervals, local: Ints, amount: Floats) -> None:
        """Give up parcels of intervals in which less remains clean than there was."""
        staying = np.zeros(window.origin.size)
        staying[local] = amount
        real = np.flatnonzero(window.previous >= 0)
        real = real[window.previous[real] < window.carried]
        of_carrier = np.zeros(window.carried)
        of_carrier[window.previous[real]] = staying[real]
        before = self.clean[self.open]
        factor = np.minimum(of_carrier / np.maximum(before, _LEAST_BYTES), 1.0)
        self.clean[self.open] = factor
        shares = self.clean[self.parcels.columns.access]
        lost = self.parcels.size_bytes * (1 - shares)
        stored = (self.parcels.columns.kind == ColumnKind.CLEAN) & (lost > _LEAST_BYTES)
        if stored.any():
            rows = self.parcels.columns.take(stored)
            dropped = of_kind(ColumnKind.DROP, rows.access, rows.step)
            self._done.append(Amounts(columns=dropped, size_bytes=lost[stored]))
        kept = self.parcels.size_bytes * shares
        self.parcels = Amounts(columns=self.parcels.columns, size_bytes=kept).take(
            kept > _LEAST_BYTES
        )

    def _carry(
        self, window: WindowIntervals, local: Ints, amount: Floats, dirty: Bools, final: Bools
    ) -> None:
        """Sum up bytes on chip."""
        self.dirty[self.open] = self.clean[self.open] = 0.0
        self.final[self.last] = 0.0
        count = window.origin.size
        newer = np.bincount(local[dirty], amount[dirty], count)
        ends = np.flatnonzero(newer)
        self.dirty[window.origin[ends]] = newer[ends]
        access = self.parcels.columns.access
        np.add.at(self.clean, access, self.parcels.size_bytes)
        self.open = np.unique(np.concatenate((window.origin[ends], access)))
        ended = np.bincount(local[final], amount[final], count)
        rows = np.flatnonzero(ended)
        self.last = window.origin[rows]
        self.final[self.last] = ended[rows]

    def decide(self) -> Amounts:
        """Return all events before ``step``, and none of the bytes on chip then."""
        return Amounts.together(NOTHING, *self._done)

    def stream(self, end: int) -> Amounts:
        """Return the decisions, and the continuation without anything on chip, until ``end``.

        Bytes newer than DRAM are stored in the step before ``step``, by the access there if it is
        in that step that they came.
        """
        intervals, step = self.intervals, self.step
        done = self.decide()
        parcels = self.parcels
        cleaned = parcels.take(parcels.columns.kind == ColumnKind.CLEAN)
        dropped = Amounts(
            columns=of_kind(ColumnKind.DROP, cleaned.columns.access, cleaned.columns.step),
            size_bytes=cleaned.size_bytes,
        )
        parts = [dropped]
        newer = self.open[self.dirty[self.open] > 0]
        for kind, at, source, amount in (
            (ColumnKind.DROP, newer, intervals.previous[newer], self.dirty[newer]),
            (ColumnKind.FINAL, self.last, self.last, self.final[self.last]),
        ):
            fresh = intervals.step[source] == step - 1
            old = ~fresh
            parts.append(Amounts(columns=of_kind(kind, at[old], step - 1), size_bytes=amount[old]))
            writes = fresh & ~intervals.read[source]
            parts.append(
                Amounts(
                    columns=of_kind(ColumnKind.WRITE_THROUGH, source[writes]),
                    size_bytes=amount[writes],
                )
            )
            reads = source[fresh & intervals.read[source]]
            held = np.isin(done.columns.access, reads)
            held &= done.columns.kind == ColumnKind.HOLD_DIRTY
            columns = done.columns
            done = Amounts(
                columns=PathColumns(
                    kind=np.where(held, ColumnKind.CLEAN, columns.kind),
                    access=columns.access,
                    step=np.where(held, step - 1, columns.step),
                ),
                size_bytes=done.size_bytes,
            )
        rest = require(intervals)
        used = intervals.step[rest.access]
        rest = rest.take((used >= step) & (used < end))
        sizes = intervals.size_bytes[rest.access].astype(np.float64)
        return Amounts.together(done, *parts, Amounts(columns=rest, size_bytes=sizes))
