"""The compact program of a window: its own rows, bytes of the past, costs to go."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.residency.bound.duals import CostCoefficients
from formulations.residency.bound.rangemin import RangeMinimum, StepRanges
from formulations.residency.program.columns import ColumnKind, PathColumns, Usage, of_keys, of_kind
from formulations.residency.program.master import Bounds, Master
from formulations.residency.windows.costs_to_go import CostsToGo
from formulations.residency.windows.intervals import WindowIntervals
from formulations.solver.program import Floats
from spmopt.core.table import Bools, Ints

_OF_DIRTY = (ColumnKind.DROP, ColumnKind.CLEAN)
_ARRIVING_EARLY = (ColumnKind.HOLD_CLEAN, ColumnKind.LOAD, ColumnKind.CLEAN)


@dataclass(frozen=True, kw_only=True, eq=False)
class CarriedBytes:
    """Bytes (l,) that the past has left: newer than DRAM and valid there, by carrier."""

    dirty: Floats
    clean: Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class KeptBytes:
    """Bytes (l,) that a window has to leave on chip: newer than DRAM and valid there, at its ends.

    ``final`` are newer ones after a last access.
    """

    dirty: Floats
    clean: Floats
    final: Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class EndCosts:
    """Extra cost of a byte at the window's end over one in DRAM only.

    ``dirty`` and ``clean`` (l,) are valid at the window's ends; ``final`` after a last access.
    """

    dirty: Floats
    clean: Floats
    final: float

    @staticmethod
    def keeping(window: WindowIntervals, kept: KeptBytes) -> EndCosts:
        """Have columns of kept bytes alone; rows say how much that is."""
        dirty = np.zeros(window.origin.size)
        dirty[window.inner :] = np.where(kept.dirty > 0, 0.0, np.inf)[window.inner :]
        return EndCosts(dirty=dirty, clean=np.where(kept.clean > 0, -1.0, 0.0), final=0.0)

    @staticmethod
    def of(window: WindowIntervals, to_go: CostsToGo) -> EndCosts:
        """Look beyond a window."""
        end, ends = window.first_step + window.steps, window.origin[window.inner :]
        dirty, clean = (np.zeros(window.origin.size) for _ in range(2))
        dirty[window.inner :], clean[window.inner :] = to_go.beyond(end, ends)
        over = end == to_go.stored.size
        return EndCosts(dirty=dirty, clean=clean, final=0.0 if over else to_go.final(end))


class WindowProgram(Master):
    """The compact program over the columns of a window.

    A final byte that is stored after the window has the window's width as its step.
    """

    def __init__(
        self,
        window: WindowIntervals,
        coefficients: CostCoefficients,
        columns: PathColumns,
        *,
        left: CarriedBytes,
        beyond: EndCosts,
        kept: KeptBytes | None = None,
        room: Floats,
        page_bytes: int,
        tie: float,
    ) -> None:
        self.left, self.beyond, self._room_bytes = left, beyond, room
        super().__init__(window, coefficients, columns, page_bytes=page_bytes, tie=tie)
        if kept is not None:
            self._keep(kept)

    def _keep(self, kept: KeptBytes) -> None:
        """Leave as much at the window's end as is to be kept."""
        access, end = self.columns.access, self.columns.access >= self.window.inner
        final = self._is(ColumnKind.FINAL) & (self.use.at < 0)
        for what, columns in (
            (kept.dirty, end & self._is(ColumnKind.HOLD_DIRTY)),
            (kept.clean, end & self._is(*_ARRIVING_EARLY)),
            (kept.final, final),
        ):
            some = np.zeros(what.size, bool)
            some[access[columns]] = True
            row = self._rows((some, what, what))
            self.builder.add(row[access[columns]], self.amount[columns], 1.0)

    def _usage(self) -> Usage:
        use, width = super()._usage(), self.window.steps
        # Steps beyond the window are priced at its end, not counted.
        use.begin, use.end = np.minimum(use.begin, width), np.minimum(use.end, width)
        later = use.at >= width
        use.moved_out[later] = 0.0
        use.at[later] = -1
        return use

    def _costs(self, tie: float) -> Floats:
        window, kind, access = self.window, self.columns.kind, self.columns.access
        later = (kind == ColumnKind.FINAL) & (self.use.at < 0)
        cost = super()._costs(tie)
        at_end = np.zeros(cost.size)
        end = access >= window.inner
        stays = end & np.isin(kind, _ARRIVING_EARLY)
        at_end[stays] = self.beyond.clean[access[stays]]
        dirty = end & (kind == ColumnKind.HOLD_DIRTY)
        at_end[dirty] = self.beyond.dirty[access[dirty]]
        at_end[later] = self.beyond.final
        return cost + at_end / self.dual_unit

    @property
    def window(self) -> WindowIntervals:
        """The accesses of the window."""
        window = self.intervals
        assert isinstance(window, WindowIntervals)
        return window

    def _limits(self) -> Floats:
        limit = super()._limits()
        held = self._is(ColumnKind.HOLD_CLEAN)
        carrier = self.window.previous[self.columns.access]
        held &= carrier < self.window.carriers
        # Clean bytes may leave for nothing, so that they bound the columns from above alone.
        limit[held] = self.left.clean[carrier[held]] / self.unit_bytes
        return limit

    def _room(self) -> Floats:
        return self._room_bytes

    def _split_rows(self) -> Bounds:
        window = self.window
        where, lower, upper = super()._split_rows()
        where[: window.carriers] = False
        # At an end, bytes that do not arrive are not seen.
        loaded = np.zeros(where.size, bool)
        loaded[self.columns.access[self._is(ColumnKind.LOAD)]] = True
        where[window.inner :] = loaded[window.inner :]
        # An end may take less than the tensor: bytes that do not arrive are in DRAM.
        lower = lower.copy()
        lower[window.inner :] = -np.inf
        return where, lower, upper

    def _dirty_rows(self) -> Bounds:
        window = self.window
        where, lower, _ = super()._dirty_rows()
        where[: window.carriers] = self.left.dirty[: window.carriers] > 0
        where[window.inner :] = False
        # Bytes that the past has left dirty must be taken up by columns: none is lost (R7).
        lower[: window.carriers] = -self.left.dirty[: window.carriers]
        return where, lower, lower

    def _clean_rows(self) -> Bools:
        window = self.window
        where = np.zeros(window.origin.size, bool)
        where[window.previous[self.columns.access[self._is(ColumnKind.HOLD_CLEAN)]]] = True
        where[: window.carriers] = False
        where[window.inner :] = False
        return where


def window_columns(
    window: WindowIntervals,
    pool: PathColumns,
    to_go: CostsToGo,
    *,
    left: CarriedBytes,
    beyond: EndCosts,
    part: int,
) -> PathColumns:
    """Return the columns of a window.

    ``pool`` are those with their event in the window, in local numbers. They lack rows that only
    bytes off the paths at the dual values need: recourse, in every ``part`` steps.
    """
    carriers, previous, width = window.carriers, window.previous, window.steps
    real = np.arange(window.origin.size) >= carriers
    comes = real & (previous >= 0) & ~window.absent[previous]
    last = window.final & ~window.absent
    newer, clean = comes & window.dirty, np.zeros_like(comes)
    from_past = comes & (previous < carriers)
    newer[from_past] = left.dirty[previous[from_past]] > 0
    clean[from_past] = left.clean[previous[from_past]] > 0
    dirty = np.isin(pool.kind, _OF_DIRTY) & ~newer[pool.access]
    held = pool.kind == ColumnKind.HOLD_CLEAN
    held &= ~comes[pool.access] | from_past[pool.access]
    # Of bytes that arrive at an end, those that save something there.
    clean[window.inner :] |= (comes & ~from_past & window.live & (beyond.clean < 0))[window.inner :]
    stays = ~window.absent
    stays[window.inner :] = True
    parts = [
        pool.take(~(dirty | held | (pool.kind == ColumnKind.HOLD_DIRTY))),
        of_kind(ColumnKind.HOLD_DIRTY, np.flatnonzero(newer & np.isfinite(beyond.dirty) & stays)),
        of_kind(ColumnKind.HOLD_CLEAN, np.flatnonzero(clean & stays)),
    ]
    # Stores after the window are one column, at their price.
    ended = window.first_step + width
    if ended < to_go.stored.size:
        parts.append(of_kind(ColumnKind.FINAL, np.flatnonzero(last), width))
    parts += _recourse(window, np.flatnonzero(newer), to_go, part)
    parts += _run_parallel(window, np.flatnonzero(newer & from_past))
    return of_keys([part.key(width + 1) for part in parts], width + 1)


def _run_parallel(window: WindowIntervals, newer: Ints) -> list[PathColumns]:
    """Return columns by which dirty bytes of the past leave in the first step.

    The window before had room for it in that step, so that no window is infeasible.
    """
    later = newer[window.step[newer] > 0]
    here = newer[window.step[newer] == 0]
    last = np.arange(window.carried, window.carriers)
    stored = here[~window.read[here] & ~window.dead[here]]
    return [
        of_kind(ColumnKind.DROP, later, 0),
        of_kind(ColumnKind.FINAL, last, 0),
        of_kind(ColumnKind.CLEAN, here[window.read[here]], 0),
        of_kind(ColumnKind.WRITE_THROUGH, stored),
    ]


def _recourse(
    window: WindowIntervals, newer: Ints, to_go: CostsToGo, part: int
) -> list[PathColumns]:
    """Return the cheapest steps to store and to load in every part of a window, and loads here."""
    begin, width = window.first_step, window.steps
    drops = RangeMinimum(to_go.drops(begin, begin + width))
    loads = RangeMinimum(to_go.loads(begin, begin + width))
    inner = np.arange(window.carriers, window.inner)
    inner = inner[(window.live & ~window.absent)[inner]]
    last = np.flatnonzero(window.final & ~window.absent)
    parts = [of_kind(ColumnKind.LOAD_HERE, inner)]
    for low in range(0, width, part):
        high = min(low + part, width)
        for kind, table, at, first, end in (
            (ColumnKind.DROP, drops, newer, window.begin[newer], window.step[newer]),
            (ColumnKind.FINAL, drops, last, window.step[last] + 1, np.full_like(last, width)),
            (ColumnKind.LOAD, loads, inner, window.begin[inner], window.step[inner]),
        ):
            low_step, high_step = np.maximum(first, low), np.minimum(end, high)
            some = low_step < high_step
            ranges = StepRanges(low_step[some], high_step[some])
            parts.append(of_kind(kind, at[some], table.argmin(ranges)))
    return parts
