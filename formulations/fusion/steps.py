"""Tensors of a group as arrays over its steps: how they are used, and when they are tracked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from formulations.fusion.uses import Use
from formulations.solver.program import Floats
from spmopt.core.table import Bools, Ints


class Amounts:
    """Columns that count in steps, each so many times."""

    def __init__(self) -> None:
        self._parts: list[tuple[Ints, Ints, Floats]] = []

    def add(self, step: Ints, column: Ints, times: Floats | float) -> None:
        """Add columns in steps, all of one shape; those of -1 are none."""
        some = column >= 0
        if isinstance(times, float):
            each = np.full(np.count_nonzero(some), times)
        else:
            some &= times != 0
            each = (times * some)[some]
        self._parts.append(((step * some)[some], column[some], each))

    @staticmethod
    def all(*several: Amounts) -> tuple[Ints, Ints, Floats]:
        """Return steps, columns and times; a column that counts twice in a step once."""
        nothing = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
        parts = [nothing, *(part for each in several for part in each._parts)]
        step, column, times = (np.concatenate(each) for each in zip(*parts, strict=True))
        width = int(column.max(initial=0)) + 1
        # The program builder takes each (row, column) once.
        key, place = np.unique(step * width + column, return_inverse=True)
        return key // width, key % width, np.bincount(place, times, key.size).astype(np.float64)


@dataclass(eq=False)
class Used:
    """Bytes of tensors that are used alike, one tensor to a program.

    Attributes
    ----------
    owners
        These tensors.
    uses
        Steps, in order, and uses.
    size
        Of all.
    tiles
        (tiles,) of it by the first fusion tile that uses it; none where these are equal.
    """

    owners: list[int]
    uses: list[tuple[int, Use]]
    size: float
    tiles: Floats | None = None


class UseTable:
    """Tensors (t,) of one kind in a fused group, and how they are used (t, steps).

    Parameters
    ----------
    ratios
        Of every tensor.

    Attributes
    ----------
    owners
        Of each tensor those that it stands for.
    tiles
        As of :class:`Used`, of each tensor.
    used, reads, writes, live, fixed : (t, steps) bool
    fetches : (t, steps)
    ratio : (t, 1)
        Bytes that move per byte.
    first, last : (t,)
        Steps of the first and the last use.
    begins, ends : (t,) bool
        Whether contents are there before the first, and needed after the last.
    """

    def __init__(
        self,
        steps: int,
        every: Sequence[Used],
        ratios: Sequence[float],
    ) -> None:
        self.steps = steps
        self.owners, self.tiles = [each.owners for each in every], [each.tiles for each in every]
        self.tensors = [each[0] for each in self.owners]
        count = len(self.tensors)
        self.size = np.array([each.size for each in every], float).reshape(count, 1)
        self.ratio = np.array([ratios[tensor] for tensor in self.tensors]).reshape(count, 1)
        self.used, self.reads, self.writes, self.live, self.fixed = np.zeros(
            (5, count, steps), bool
        )
        self.fetches = np.zeros((count, steps))
        for at, each in enumerate(every):
            for step, use in each.uses:
                self.used[at, step], self.reads[at, step] = True, use.reads
                self.writes[at, step], self.live[at, step] = use.writes, use.live_after
                self.fetches[at, step], self.fixed[at, step] = use.fetches, use.required_resident
        self.first = np.array([each.uses[0][0] for each in every], np.int64)
        self.last = np.array([each.uses[-1][0] for each in every], np.int64)
        rows = np.arange(count)
        self.begins, self.ends = self.reads[rows, self.first], self.live[rows, self.last]

    def by_tile(self, count: int, later: int = 0) -> Floats:
        """Return (t, count) sizes by the first tile that uses them, or by one so much later."""
        found = np.repeat(self.size / count, count, axis=1)
        for at, own in enumerate(self.tiles):
            if own is not None and count > 1:
                found[at] = np.roll(own, later)  # none is used beyond the last tile
        return found


class Spans:
    """Steps (t, steps) in which tensors that are cut are tracked.

    Attributes
    ----------
    there, loaded
        Bytes may be resident, or come.
    grown
        Resident bytes were there before or came.
    held, stored
        Bytes are newer than DRAM as the step begins; they may be stored in it.
    """

    def __init__(self, uses: UseTable, followed: Bools) -> None:
        """Track those of (t,) ``followed`` to the end of the group if they are needed then."""
        shape = uses.used.shape
        carried = followed & uses.ends
        self.there, self.loaded, self.grown, self.held, self.stored = np.zeros((5, *shape), bool)
        live, dirty = uses.begins.copy(), np.zeros(shape[0], bool)
        for step in range(shape[1]):
            used = uses.used[:, step]
            before = (step <= uses.last) | carried
            reads, writes = uses.reads[:, step], uses.writes[:, step]
            follows = live & (before | dirty)
            self.there[:, step] = used | follows
            self.grown[:, step] = np.where(used, reads, follows)
            # After the last use a load would be for another group: Boundaries has those.
            self.loaded[:, step] = self.grown[:, step] & before
            self.held[:, step] = self.grown[:, step] & dirty
            live = np.where(used, uses.live[:, step], live)
            # Contents that are dead need no store (R5), so they are never dirty.
            dirty = live & (dirty | writes)
            self.stored[:, step] = dirty & self.there[:, step]
