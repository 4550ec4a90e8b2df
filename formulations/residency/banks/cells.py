"""Cells (tensor, step) in which a program may load, store or move; between them bytes just stay."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.residency.cells import Cells, all_cells
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access, Timeline


@dataclass(frozen=True, kw_only=True, eq=False)
class ChosenCells:
    """Some cells (k,) of a timeline, by tensor and step, all accesses among them.

    A *life* is a run of steps in which a tensor's contents are needed: from its start in DRAM, or
    a blind write, to the last use of these contents.

    Attributes
    ----------
    tensor, step : (k,)
    access : (k,)
        Of the timeline, or -1.
    kind : (k,)
        :class:`~spmopt.core.timeline.Access`, or -1.
    first : (k,) bool
        No cell of the same life is before.
    following : (k,)
        The next cell of the same life, or -1.
    dead : (k,) bool
        An access after which the contents are needed no more.
    loads : (k,) bool
        Bytes may be loaded: this step or a later one reads them.
    was_dirty, dirty : (k,) bool
        Before and after the step there may be bytes that are needed and not in DRAM.
    """

    tensor: Ints
    step: Ints
    access: Ints
    kind: Ints
    first: Bools
    following: Ints
    dead: Bools
    loads: Bools
    was_dirty: Bools
    dirty: Bools

    def __len__(self) -> int:
        return int(self.tensor.size)


@dataclass(frozen=True, kw_only=True, eq=False)
class Field:
    """All cells of a timeline, and how far each is from the accesses of its life."""

    line: Timeline
    cells: Cells
    life: Ints
    since: Ints
    until: Ints

    @staticmethod
    def of(line: Timeline) -> Field:
        """All cells of ``line``."""
        cells = all_cells(line)
        life = np.cumsum(cells.previous < 0, dtype=np.int64)
        place, own = np.arange(len(cells)), cells.access >= 0
        return Field(
            line=line,
            cells=cells,
            life=life,
            since=place - _latest(own, life),
            until=(place - _latest(own[::-1], life[::-1]))[::-1],
        )

    def near(self, distance: int) -> Bools:
        """(cells,) Accesses, ends, and cells up to ``distance`` steps from an access."""
        chosen: Bools = (self.cells.access >= 0) | self.cells.last
        return chosen | (self.since <= distance) | (self.until <= distance)

    def at(self, tensor: Ints, step: Ints) -> Bools:
        """(cells,) The cells of these pairs."""
        steps = self.line.steps
        return np.isin(self.cells.tensor * steps + self.cells.step, tensor * steps + step)

    def choose(self, chosen: Bools) -> ChosenCells:
        """The cells where ``chosen`` (cells,)."""
        k, cells, line = np.flatnonzero(chosen), self.cells, self.line
        access, life = cells.access[k], self.life[k]
        own = access >= 0
        joined = np.zeros(k.size, bool)
        joined[1:] = life[1:] == life[:-1]
        following = np.full(k.size, -1, np.int64)
        following[:-1] = np.where(joined[1:], np.arange(1, k.size), -1)
        before = cells.previous[k]
        return ChosenCells(
            tensor=cells.tensor[k],
            step=cells.step[k],
            access=access,
            kind=np.where(own, line.kind[access], -1),
            first=~joined,
            following=following,
            dead=own & ~line.live_after[access],
            loads=cells.loads[k],
            was_dirty=(before >= 0) & cells.dirty[before],
            dirty=cells.dirty[k] & ~cells.last[k],
        )


def _latest(flag: Bools, life: Ints) -> Ints:
    """Index of the last flagged entry up to each, of the same life; far before where none is."""
    place = np.arange(flag.size)
    far = -flag.size - 1
    latest = np.maximum.accumulate(np.where(flag, place, -1)) if flag.size else place
    same = (latest >= 0) & (life[latest] == life)
    return np.where(same, latest, far)


def is_blind(cells: ChosenCells) -> Bools:
    """(k,) The step overwrites the tensor without reading it."""
    blind: Bools = cells.kind == Access.WRITE
    return blind
