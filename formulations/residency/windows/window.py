"""The compact program of a window: its own rows, what the past left, what the future pays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.residency.bound.prices import CostCoefficients
from formulations.residency.bound.rangemin import RangeMinimum, StepRanges
from formulations.residency.program.columns import ColumnKind, PathColumns, Usage, of_keys, of_kind
from formulations.residency.program.master import Bounds, Master
from formulations.residency.windows.outlook import Outlook
from formulations.residency.windows.section import Section
from formulations.solver.program import Floats
from spmopt.core.table import Bools, Ints

_OF_DIRTY = (ColumnKind.DROP, ColumnKind.CLEAN)
_ARRIVING_EARLY = (
    ColumnKind.HOLD_CLEAN,
    ColumnKind.LOAD,
    ColumnKind.CLEAN,
)


_PART = 25
"""Steps of which the cheapest one is recourse."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Left:
    """Bytes (l,) that the past has left: newer than DRAM and valid there, by carrier."""

    dirty: Floats
    clean: Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class Beyond:
    """What a byte at the window's end costs more than one in DRAM only.

    ``dirty`` and ``clean`` (l,) are valid at the section's ends; ``final`` after a last access.
    """

    dirty: Floats
    clean: Floats
    final: float

    @staticmethod
    def of(section: Section, outlook: Outlook) -> Beyond:
        """Look beyond a window."""
        end, ends = section.first_step + section.steps, section.origin[section.inner :]
        dirty, clean = (np.zeros(section.origin.size) for _ in range(2))
        dirty[section.inner :], clean[section.inner :] = outlook.beyond(end, ends)
        over = end == outlook.stored.size
        return Beyond(dirty=dirty, clean=clean, final=0.0 if over else outlook.final(end))


class WindowProgram(Master):
    """The compact program over the columns of a section.

    A final byte that is stored after the window has the window's width as its step.
    """

    def __init__(
        self,
        section: Section,
        coefficients: CostCoefficients,
        columns: PathColumns,
        *,
        left: Left,
        beyond: Beyond,
        room: Floats,
        page_bytes: int,
        tie: float,
    ) -> None:
        self.left, self.beyond, self._room_bytes = left, beyond, room
        super().__init__(section, coefficients, columns, page_bytes=page_bytes, tie=tie)

    def _usage(self) -> Usage:
        use, width = super()._usage(), self.section.steps
        use.begin, use.end = np.minimum(use.begin, width), np.minimum(use.end, width)
        later = use.at >= width
        use.moved_out[later] = 0.0
        use.at[later] = -1
        return use

    def _costs(self, tie: float) -> Floats:
        section, kind, access = self.section, self.columns.kind, self.columns.access
        later = (kind == ColumnKind.FINAL) & (self.use.at < 0)
        cost = super()._costs(tie)
        worth = np.zeros(cost.size)
        end = access >= section.inner
        stays = end & np.isin(kind, _ARRIVING_EARLY)
        worth[stays] = self.beyond.clean[access[stays]]
        dirty = end & (kind == ColumnKind.HOLD_DIRTY)
        worth[dirty] = self.beyond.dirty[access[dirty]]
        worth[later] = self.beyond.final
        return cost + worth / self.price_unit

    @property
    def section(self) -> Section:
        """The accesses of the window."""
        section = self.intervals
        assert isinstance(section, Section)
        return section

    def _limits(self) -> Floats:
        limit = super()._limits()
        held = self._is(ColumnKind.HOLD_CLEAN)
        carrier = self.section.previous[self.columns.access]
        held &= carrier < self.section.carriers
        limit[held] = self.left.clean[carrier[held]] / self.unit_bytes
        return limit

    def _room(self) -> Floats:
        return self._room_bytes

    def _split_rows(self) -> Bounds:
        section = self.section
        where, lower, upper = super()._split_rows()
        where[: section.carriers] = False
        # At an end, what does not arrive is not seen.
        loaded = np.zeros(where.size, bool)
        loaded[self.columns.access[self._is(ColumnKind.LOAD)]] = True
        where[section.inner :] = loaded[section.inner :]
        lower = lower.copy()
        lower[section.inner :] = -np.inf
        return where, lower, upper

    def _dirty_rows(self) -> Bounds:
        section = self.section
        where, lower, _ = super()._dirty_rows()
        where[: section.carriers] = self.left.dirty[: section.carriers] > 0
        where[section.inner :] = False
        lower[: section.carriers] = -self.left.dirty[: section.carriers]
        return where, lower, lower

    def _clean_rows(self) -> Bools:
        section = self.section
        where = np.zeros(section.origin.size, bool)
        where[section.previous[self.columns.access[self._is(ColumnKind.HOLD_CLEAN)]]] = True
        where[: section.carriers] = False
        where[section.inner :] = False
        return where


def window_columns(
    section: Section,
    pool: PathColumns,
    outlook: Outlook,
    *,
    left: Left,
    beyond: Beyond,
) -> PathColumns:
    """Return the columns of a window.

    ``pool`` are those with their event in the window, in local numbers. They lack what only
    bytes off the paths at the prices need: ``recourse``.
    """
    carriers, previous, width = section.carriers, section.previous, section.steps
    real = np.arange(section.origin.size) >= carriers
    comes = real & (previous >= 0) & ~section.absent[previous]
    last = section.final & ~section.absent
    newer, clean = comes & section.dirty, np.zeros_like(comes)
    from_past = comes & (previous < carriers)
    newer[from_past] = left.dirty[previous[from_past]] > 0
    clean[from_past] = left.clean[previous[from_past]] > 0
    dirty = np.isin(pool.kind, _OF_DIRTY) & ~newer[pool.access]
    held = pool.kind == ColumnKind.HOLD_CLEAN
    held &= ~comes[pool.access] | from_past[pool.access]
    # Of bytes that arrive at an end, those that are worth it.
    clean[section.inner :] |= (comes & ~from_past & section.live & (beyond.clean < 0))[
        section.inner :
    ]
    stays = ~section.absent
    stays[section.inner :] = True
    parts = [
        pool.take(~(dirty | held | (pool.kind == ColumnKind.HOLD_DIRTY))),
        of_kind(ColumnKind.HOLD_DIRTY, np.flatnonzero(newer & np.isfinite(beyond.dirty) & stays)),
        of_kind(ColumnKind.HOLD_CLEAN, np.flatnonzero(clean & stays)),
    ]
    ended = section.first_step + width
    if ended < outlook.stored.size:
        parts.append(of_kind(ColumnKind.FINAL, np.flatnonzero(last), width))
    parts += _recourse(section, np.flatnonzero(newer), outlook)
    parts += _at_once(section, np.flatnonzero(newer & from_past))
    return of_keys([part.key(width + 1) for part in parts], width + 1)


def _at_once(section: Section, newer: Ints) -> list[PathColumns]:
    """Return columns by which what the past left dirty leaves in the first step.

    The window before had room for it in that step, so that no window is infeasible.
    """
    later = newer[section.step[newer] > 0]
    here = newer[section.step[newer] == 0]
    last = np.arange(section.carried, section.carriers)
    stored = here[~section.read[here] & ~section.dead[here]]
    return [
        of_kind(ColumnKind.DROP, later, 0),
        of_kind(ColumnKind.FINAL, last, 0),
        of_kind(ColumnKind.CLEAN, here[section.read[here]], 0),
        of_kind(ColumnKind.WRITE_THROUGH, stored),
    ]


def _recourse(section: Section, newer: Ints, outlook: Outlook) -> list[PathColumns]:
    """Return the cheapest steps to store and to load in every part of a window, and loads here."""
    begin, width = section.first_step, section.steps
    drops = RangeMinimum(outlook.drops(begin, begin + width))
    loads = RangeMinimum(outlook.loads(begin, begin + width))
    inner = np.arange(section.carriers, section.inner)
    inner = inner[(section.live & ~section.absent)[inner]]
    last = np.flatnonzero(section.final & ~section.absent)
    parts = [of_kind(ColumnKind.LOAD_HERE, inner)]
    for low in range(0, width, _PART):
        high = min(low + _PART, width)
        for kind, table, at, first, end in (
            (ColumnKind.DROP, drops, newer, section.begin[newer], section.step[newer]),
            (ColumnKind.FINAL, drops, last, section.step[last] + 1, np.full_like(last, width)),
            (ColumnKind.LOAD, loads, inner, section.begin[inner], section.step[inner]),
        ):
            low_step, high_step = np.maximum(first, low), np.minimum(end, high)
            some = low_step < high_step
            ranges = StepRanges(low_step[some], high_step[some])
            parts.append(of_kind(kind, at[some], table.argmin(ranges)))
    return parts
