"""Tensors that all tiles of a fused group share: weights, and partial sums of the tiles.

They are tracked around the fusion tiles: before the first step of a fusion tile comes the last step
of the fusion tile before. Bytes are sums over the fusion tiles of a class.
"""

from __future__ import annotations

import numpy as np

from formulations.fusion.boundaries import Boundaries
from formulations.fusion.rows import FusedGroupRows
from formulations.fusion.steps import UseTable
from spmopt.core.table import Bools, Ints

_Columns = tuple[Ints, Ints, Ints]
"""(t, steps) columns of a class: bytes resident, loaded, and stored."""


class SharedTensors:
    """Columns and rows of tensors (t,) that all fusion tiles share, and their bytes at the ends."""

    def __init__(self, program: FusedGroupRows, ends: Boundaries, uses: UseTable) -> None:
        self.program, self.ends, self.uses = program, ends, uses
        self.size = uses.size[:, 0]
        self.summed: Bools = uses.writes[np.arange(len(uses.tensors)), uses.first]

    def track(self) -> None:
        """Track them from the begin of the fused group, through all fusion tiles, to its end."""
        program, uses, summed = self.program, self.uses, self.summed
        begins = rest = program.columns(uses.begins, self.size)
        # The first class finds bytes only if the contents exist before the group; later classes
        # always.
        there, parts = uses.begins, list[_Columns]()
        for number in range(len(program.counts)):
            resident, load = self._resident(number)
            most = program.counts[number] * uses.size
            store = program.columns(np.broadcast_to(summed[:, None], load.shape), most)
            program.store(number, store, uses.fixed, uses.ratio)
            parts.append((resident, load, store))
            rest = self._around(number, resident, load, rest, there)
            self._stream(number, resident)
            there = np.ones_like(there)
        left = program.columns(summed & uses.ends, self.size)
        if summed.any():
            self._less(parts)
            self._partial_sums(parts, begins, left)
        now = [resident for resident, *_ in parts]
        self.ends.whole(uses, begins, now, (np.where(uses.ends, rest, -1), left))

    def track_inner(self) -> None:
        """Track them along each tile, as tensors that are cut.

        Others are between its last and first step. Partial sums may be stored by others as well,
        and are found by each fusion tile but the first.
        """
        program, uses = self.program, self.uses
        resident, load = self._resident(0)
        # (G5') Each of the tiles may find all of it: other operations run between two of them.
        found = program.columns(len(uses.tensors), program.micro_batches * self.size)
        before = np.concatenate((found[:, None], resident[:, :-1]), axis=1)
        # A blind write of a sum by the first tile may leave up to its size without a load.
        anew = np.where(uses.writes & ~uses.reads, uses.size, 0.0)
        grows = program.rows(load >= 0, (-np.inf, anew))
        for column, sign in ((resident, 1.0), (before, -1.0), (load, -1.0)):
            program.builder.add(grows, column, sign)
        self._stream(0, resident)
        self._less([(resident, load, load)])
        self.ends.whole(uses, found, [], (found, found))

    def _resident(self, number: int) -> tuple[Ints, Ints]:
        """Add bytes resident in the steps of a class, and bytes loaded."""
        program, uses = self.program, self.uses
        every, most = np.ones(uses.used.shape, bool), program.counts[number] * uses.size
        resident = program.columns(every, most, np.where(uses.fixed, most, 0.0))
        program.room.add(program.at(number), resident, 1.0)
        load = program.columns(every, most)
        program.load(number, load, uses.fixed, uses.ratio)
        return resident, load

    def _around(self, number: int, resident: Ints, load: Ints, rest: Ints, there: Bools) -> Ints:
        """Add rows of bytes that tiles of a class find of the one before.

        Return those that the last leaves.

        Parameters
        ----------
        rest
            (t,) bytes that the fusion tile before the class leaves.
        there
            (t,) whether that is known.
        """
        program, uses, builder = self.program, self.uses, self.program.builder
        count = program.counts[number]
        last = number == len(program.counts) - 1
        first = number == 0
        if count == 1:
            left = resident[:, -1]
        else:  # Of the last class only the tensors carried across the end matter.
            some = uses.ends if last else np.ones_like(uses.ends)
            left = program.columns(some, self.size)
            # The last tile of the class leaves at most its residents of its last step.
            rests = program.rows(some, (-np.inf, 0.0))
            builder.add(rests, left, 1.0)
            builder.add(rests, resident[:, -1], -1.0)
        free = np.where(uses.writes & ~uses.reads, uses.size, 0.0) if first else 0.0
        free = np.broadcast_to(free, load.shape)
        # (G5) R2 around the tiles: the step before the first one is the last one of the tile
        # before.
        grows = program.rows(np.ones(load.shape, bool), (-np.inf, free))
        builder.add(grows, load, -1.0)
        builder.add(grows[:, 0], rest, -1.0)
        builder.add(grows[:, 1:], resident[:, 1:], 1.0)
        builder.add(grows[:, 1:], resident[:, :-1], -1.0)
        if count == 1:
            builder.add(grows[:, 0], resident[:, 0], 1.0)
            return left
        # Summed over the tiles, the first step's row telescopes to the bytes the last tile leaves.
        builder.add(grows[:, 0], left, 1.0)
        if program.steps > 1:  # else each fusion tile finds the bytes that the one before left
            builder.add(grows[:, 0], resident[:, 0], 1.0)
            builder.add(grows[:, 0], resident[:, -1], -1.0)
        # What is never there is streamed by each fusion tile.
        comes = program.rows(uses.used & there[:, None], (-np.inf, 0.0))
        builder.add(comes, resident, 1.0)
        builder.add(comes, rest[:, None], -float(count))
        tensor, step = np.nonzero(comes >= 0)
        builder.add(comes[tensor, step][:, None], load[tensor], -float(count))
        return left

    def _stream(self, number: int, resident: Ints) -> None:
        """Move non-resident bytes.

        A class of the first fusion tile alone has nothing to read of a sum that it writes anew, one
        of the last alone nothing to store of a sum that is dead in the end.
        """
        uses, counts = self.uses, self.program.counts
        rows, count = np.arange(len(uses.tensors)), counts[number]
        # R3, R4: every tile fetches a shared operand; a sum is written back as often.
        into = uses.fetches.copy()
        out = uses.fetches * self.summed[:, None]
        if count == 1 and number == 0:
            into[rows, uses.first] -= self.summed & ~uses.begins
        if count == 1 and number == len(counts) - 1:
            out[rows, uses.last] *= ~(self.summed & ~uses.ends)
        self.program.stream(uses, number, resident, (into, out), float(count))

    def _partial_sums(self, parts: list[_Columns], begins: Ints, left: Ints) -> None:
        """Move partial sums: every load of a sum needs a store before, and one more at last."""
        program, uses, size = self.program, self.uses, self.size
        ends, there = self.summed & uses.ends, self.summed & uses.begins
        # Bytes on chip leave by a store, but for those that are dead when the fused group ends.
        # (G7) Stores + left + streamed >= loads + found: each load of a part needs a store
        # before it.
        least = size * (ends.astype(float) - there)
        least = least - uses.used.sum(axis=1) * program.micro_batches * size
        row = program.rows(self.summed, (least, np.inf))
        for resident, load, store in parts:
            for column, sign in ((store, 1.0), (load, -1.0), (resident, -1.0)):
                some = uses.used if column is resident else np.ones_like(uses.used)
                program.builder.add(np.where(some, row[:, None], -1), column, sign)
        program.builder.add(row, begins, -1.0)
        program.builder.add(row, left, 1.0)

    def _less(self, parts: list[_Columns]) -> None:
        """Move fewer partial sums than each fusion tile would.

        Of a sum that is written anew the first fusion tile has nothing to read; of one that is dead
        in the end the last fusion tile stores nothing.
        """
        program, uses, summed = self.program, self.uses, self.summed
        rows = np.arange(len(uses.tensors))
        first, last = np.ones(rows.size), uses.fetches[rows, uses.last]
        for some, step, fetches, number, amounts in (
            (summed & ~uses.begins, uses.first, first, 0, program.into),
            (summed & ~uses.ends, uses.last, last, -1, program.out),
        ):
            # (G7) One tile alone has its own streams set in _stream; of several, one in the class
            # moves less.
            count, (resident, _, _) = program.counts[number], parts[number]
            if count == 1:
                continue
            less = program.columns(some, fetches * self.size)
            row = program.rows(some, (-np.inf, fetches * count * self.size))
            program.builder.add(row, less, 1.0)
            program.builder.add(row, resident[rows, step], fetches)
            at = step + (number % len(program.counts)) * program.steps
            amounts.add(at, less, -uses.ratio[:, 0])
