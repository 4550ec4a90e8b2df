"""Cells (tensor, step) in which a program may load, store or move; between them it only holds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from formulations.residency.cells import Cells, all_cells
from formulations.solver.program import Floats
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Timeline


class Boundary(NamedTuple):
    """Payments of bytes before a window of steps, and after it.

    Attributes
    ----------
    ahead, back : (s, m)
        Objective units, by state; infinite where a byte of the tensor cannot be in it.
    """

    ahead: Floats
    back: Floats


class Field:
    """All cells of a timeline, and how far each is from the accesses of its life.

    Attributes
    ----------
    entered, leaves : (cells,) bool
        Of a window of steps: bytes come from before it, and go on after it.
    """

    def __init__(
        self,
        line: Timeline,
        cells: Cells | None = None,
        entered: Bools | None = None,
        leaves: Bools | None = None,
    ) -> None:
        self.line, self.cells = line, all_cells(line) if cells is None else cells
        none = np.zeros(len(self.cells), bool)
        self.entered = none if entered is None else entered
        self.leaves = none if leaves is None else leaves
        self.life = np.cumsum(self.cells.previous < 0, dtype=np.int64)
        place, own = np.arange(len(self.cells)), self.cells.access >= 0
        self.since = place - _latest(own, self.life)
        self.until = (place - _latest(own[::-1], self.life[::-1]))[::-1]

    def near(self, distance: int) -> Bools:
        """Return (cells,) the accesses, ends, and cells up to ``distance`` steps from an access."""
        chosen: Bools = (self.cells.access >= 0) | self.cells.last | self.entered | self.leaves
        return chosen | (self.since <= distance) | (self.until <= distance)


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
    blind : (k,) bool
        The step overwrites the tensor without reading it.
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
    entered, leaves : (k,) bool
        As of the field.
    boundary
        Of a window of steps, else None.
    """

    def __init__(self, field: Field, chosen: Bools, boundary: Boundary | None = None) -> None:
        """Take the cells of a field where ``chosen`` (cells,)."""
        k, cells, line = np.flatnonzero(chosen), field.cells, field.line
        self.tensor, self.step, self.access = cells.tensor[k], cells.step[k], cells.access[k]
        own, before = self.access >= 0, cells.previous[k]
        self.kind = np.where(own, line.kind[self.access], -1)
        self.blind, self.loads = cells.blind[k], cells.loads[k]
        begins = np.diff(field.life[k], prepend=-1) != 0
        self.entered, self.leaves, self.boundary = field.entered[k], field.leaves[k], boundary
        self.first = begins & ~self.entered
        last = np.append(begins[1:], True)[: k.size]
        self.following = np.where(last, -1, np.arange(1, k.size + 1))
        self.dead = own & ~line.live_after[self.access]
        self.was_dirty = (before >= 0) & cells.dirty[before]
        if boundary is not None:
            newer = np.isfinite(boundary.ahead[(boundary.ahead.shape[0] + 1) // 2 :]).max(axis=0)
            self.was_dirty |= self.entered & newer[self.tensor]
        self.dirty = cells.dirty[k] & ~cells.last[k]

    def __len__(self) -> int:
        return int(self.tensor.size)


def _latest(flag: Bools, life: Ints) -> Ints:
    """Find the last flagged entry up to each, of the same life; far before where none is."""
    place = np.arange(flag.size)
    far = -flag.size - 1
    latest = np.maximum.accumulate(np.where(flag, place, -1)) if flag.size else place
    same = (latest >= 0) & (life[latest] == life)
    return np.where(same, latest, far)
