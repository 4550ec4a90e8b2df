"""Rows of the compact program, and the coefficients that stand in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.residency.bound.gaps import Gaps
from formulations.residency.bound.prices import Economy
from formulations.residency.bound.rangemin import Floats
from formulations.residency.program.usage import Usage
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access


@dataclass(frozen=True, kw_only=True, eq=False)
class Rows:
    """Row numbers; -1 where an access has no such row.

    ``whole`` (C1) splits the tensor's bytes at an access, ``dirty`` (C2) and ``clean`` (C3)
    carry states on, ``occupy`` (C4) adds up the SPM, ``channel`` (C5) fills each step's
    duration with DMA, ``serial`` (C6, one per step or -1) with what cannot overlap.
    """

    whole: Ints
    dirty: Ints
    clean: Ints
    occupy: int
    load: int
    store: int
    serial: Ints
    count: int

    @staticmethod
    def of(gaps: Gaps, economy: Economy, use: Usage) -> Rows:
        """Number the rows that this instance has."""
        read, write = gaps.kind == Access.READ, gaps.kind == Access.WRITE
        leads = (gaps.next >= 0) & gaps.live[gaps.next]
        kept = np.zeros(gaps.step.size, bool)
        kept[gaps.last] = True
        holds_dirty = np.where(read, gaps.dirty & ~gaps.dead, ~write & ~gaps.dead)
        whole, count = _numbered(~(write & gaps.dead), 0)
        dirty, count = _numbered(holds_dirty & (leads | kept), count)
        clean, count = _numbered(leads, count)
        occupy, count = count, count + gaps.steps
        timed = economy.cycle > 0
        load, count = count, count + gaps.steps * timed
        store = load
        if timed and economy.duplex:
            store, count = count, count + gaps.steps
        # Elsewhere the least duration, a bound of the variable, says the same.
        waits = np.bincount(use.at[use.serial], minlength=gaps.steps) > 0
        serial, count = _numbered(waits & timed, count)
        return Rows(
            whole=whole,
            dirty=dirty,
            clean=clean,
            occupy=occupy,
            load=load,
            store=store,
            serial=serial,
            count=count,
        )


def _numbered(there: Bools, first: int) -> tuple[Ints, int]:
    number = np.where(there, np.cumsum(there) - 1 + first, -1)
    return number, first + int(there.sum())


class Entries:
    """Coefficients, collected by (row, column); rows of -1 are left out."""

    def __init__(self) -> None:
        self._rows: list[Ints] = []
        self._columns: list[Ints] = []
        self._values: list[Floats] = []

    def add(self, row: Ints, column: Ints, value: Floats | float) -> None:
        """Add ``value`` at (row, column), element by element."""
        there = row >= 0
        values = np.broadcast_to(np.asarray(value, np.float64), row.shape)
        self._rows.append(row[there])
        self._columns.append(column[there])
        self._values.append(values[there])

    def triplets(self) -> tuple[Ints, Ints, Floats]:
        """Rows, columns, values."""
        return (
            np.concatenate(self._rows),
            np.concatenate(self._columns),
            np.concatenate(self._values),
        )
