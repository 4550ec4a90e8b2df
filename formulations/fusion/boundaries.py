"""Bytes that a group finds on chip, and leaves there: rows at its two ends, and between its tiles.

Tensors are carried across boundaries in groups (:attr:`~.listed.Listed.groups`). Bytes that a
fusion tile finds were loaded by an earlier one (*ahead*), or have been there since the fused group
began (*here*); bytes that it leaves newer than DRAM are stored by a later one (*behind*), or remain
until the fused group ends (``stays``). Unused bytes are held *through* the fused group, or are
loaded for *later*. All that takes room in other fusion tiles' steps than those of its own: a byte
of fusion tile k that was here all k - 1 before it, one that is left all after it, one ahead from
its load on, one behind until its store.

Stores of bytes that are counted as staying, or through, take no room of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from formulations.fusion.rows import FusedGroupRows
from formulations.fusion.steps import Amounts, UseTable
from formulations.fusion.tileable import READ, REST
from formulations.solver.program import Floats
from spmopt.core.table import Bools, Ints

Columns = tuple[Ints, Ints, Ints]
"""Groups of columns, by number, their classes, and the columns."""
UPPER = (-np.inf, 0.0)  # limits of a row: at most 0
_MOST_TILES = 512
"""Fusion tiles that have a column each of the bytes that they find, and of those they leave."""


class Boundaries:
    """Rows at the ends of a group's program: first :meth:`cut` and :meth:`whole`, then close."""

    def __init__(self, program: FusedGroupRows) -> None:
        self.program = program
        listed, fused_group = program.listed, program.fused_group
        inside = (fused_group.begin > 0, fused_group.end < listed.count)
        # Before the first operation and after the last the scratchpad is empty (h = 0).
        self.held = tuple(program.held if each else 0.0 for each in inside)
        self.crossing: tuple[dict[int, float], dict[int, float]] = ({}, {})
        if program.carried:
            self.crossing = listed.crossing[fused_group.begin], listed.crossing[fused_group.end]
        self.groups = sorted({*self.crossing[0], *self.crossing[1], REST})
        self.number = {group: place for place, group in enumerate(self.groups)}
        count = len(self.groups)
        # Very many tiles of one class have one column for the bytes that they find, which take no
        # room: a column of each would take minutes.
        counts, tiles = program.counts, program.micro_batches
        self.tiles = 1 if len(counts) == 1 and tiles > _MOST_TILES else tiles
        self.sizes = np.zeros((2, count, self.tiles))
        # The least of its tensors: of the bytes that a group moves no more is known.
        self.ratios = np.array([listed.least_ratios.get(group, 1.0) for group in self.groups])
        self._of_cut = np.full(count, np.inf)
        self.touched, self.written, self.ending = np.zeros((3, count), bool)
        self.last_read = 0.0
        self._found, self._newer, self._last = ([_nothing()] for _ in range(3))
        self._whole_found, self._whole_rest, self._whole_left = ([_nothing()] for _ in range(3))
        self.carried: list[tuple[int, int, bool, int]] = []
        self._most: list[float] = []
        self._caps: list[Ints] = []
        self._used: dict[tuple[int, int], list[int]] = {}

    def cut(self, uses: UseTable, number: int, begins: Ints, now: Ints, newer: Ints) -> None:
        """Add, for tensors that are cut, the bytes that a class finds, and those at its end.

        Parameters
        ----------
        now
            (t, m) resident bytes in each step.
        newer
            (t,) the part of those in the last that is newer than DRAM.
        """
        of = self._of(uses)
        self._use(uses, of, now)
        # Contents that are dead at the end of the group need no room there.
        last = np.where(uses.ends, now[:, -1], -1)
        np.minimum.at(self._of_cut, of, uses.ratio[:, 0])
        if number == 0:
            self._count(uses, of)
            later = uses.steps // self.program.steps - 1
            for sizes, some, tile in (
                (self.sizes[0], uses.begins, 0),
                (self.sizes[1], uses.ends, later),
            ):
                np.add.at(sizes, of, uses.by_tile(self.tiles, tile) * some[:, None])
        for kept, columns in (
            (self._found, begins),
            (self._last, last),
            (self._newer, newer),
        ):
            some = columns >= 0
            kept.append((of[some], np.full(some.sum(), number), columns[some]))

    def _use(self, uses: UseTable, of: Ints, now: Ints) -> None:
        """Note the bytes that uses of old contents find on chip, up to the first write."""
        written = uses.writes.cumsum(axis=1) - uses.writes > 0
        # Contents that a blind write replaces are dead before it.
        old = uses.reads & uses.begins[:, None] & ~written & (now >= 0)
        seen = set[tuple[int, int]]()
        for at, step in np.argwhere(old).tolist():
            own = step % self.program.steps
            # A later stripe that reads a byte once more is another use of the same operation.
            if (at, own) not in seen:
                self._used.setdefault((int(of[at]), own), []).append(int(now[at, step]))
            seen.add((at, own))

    def whole(
        self, uses: UseTable, begins: Ints, now: Sequence[Ints], ends: tuple[Ints, Ints]
    ) -> None:
        """Add, for tensors that all fusion tiles share, the bytes before and after all.

        Parameters
        ----------
        now
            (t, m) resident bytes in each step of each class.
        ends
            (t,) bytes that are left, and sums among them.
        """
        rest, left = ends
        of = self._of(uses)
        self._count(uses, of)
        for each in now:
            self._use(uses, of, each)
        for kept, columns in (
            (self._whole_found, begins),
            (self._whole_rest, rest),
            (self._whole_left, left),
        ):
            some = columns >= 0
            kept.append((of[some], np.zeros(some.sum(), np.int64), columns[some]))

    def _of(self, uses: UseTable) -> Ints:
        """Return (t,) the numbers of groups of tensors, and note how these are used."""
        groups = [self.program.group(tensor) for tensor in uses.tensors]
        # A group that crosses neither end is never carried across a boundary.
        of = np.array([self.number.get(group, self.number[REST]) for group in groups], np.int64)
        self.touched[of] = True
        self.written[of] |= uses.writes.any(axis=1)
        self.ending[of] |= uses.ends
        return of

    def _count(self, uses: UseTable, of: Ints) -> None:
        """Count bytes never written that are carried on after a use, not only through."""
        reads = np.isin(of, [self.number.get(READ, -1)])
        size = uses.size[:, 0]
        # Bytes never written that are used here reach the end by their own columns, not as
        # "through".
        self.last_read += float(size[reads & uses.ends].sum())

    def close(self) -> None:
        """Add the rows."""
        program, counts = self.program, self.program.counts
        self.of_fusion_tile = np.repeat(np.arange(len(counts)), counts)
        # Loads ahead need a tile before the one that finds them, late stores a tile after.
        self.early = np.array([number > 0 or n > 1 for number, n in enumerate(counts)], bool)
        self.late = self.early[::-1] if len(counts) > 1 else self.early
        enters, leaves = (
            np.array([group in each for group in self.groups], bool) for each in self.crossing
        )
        # Dirty bytes that enter stay dirty, or are stored (the rows of "old"), but for dead ones.
        lives = (enters & ~self.touched | self.ending) & ~self.written
        # Of the rest those matter that are cut.
        cut = np.isfinite(self._of_cut) & (np.array(self.groups) == REST)
        self.ratios[cut] = self._of_cut[cut]
        through = leaves & np.where(self.groups == np.array(READ), enters, enters & ~self.touched)
        most = self._leaving()
        read = self.number.get(READ)
        if read is not None:
            # Of the bytes never written that leave, those used here are counted where they are
            # used.
            most[read] -= self.last_read
        self.through = self.program.columns(through & bool(min(self.held)), most)
        self.of_fusion_tile = self.of_fusion_tile[: self.tiles]
        here, stays = (
            sizes * bool(held) for sizes, held in zip(self.sizes, self.held, strict=True)
        )
        self.here, self.stays = (program.columns(each > 0, each) for each in (here, stays))
        self._arrives(enters)
        self._leaves(leaves, enters, lives)
        self._room()

    def _arrives(self, enters: Bools) -> None:
        """Rows of bytes that fusion tiles find, and of bytes at the begin of the fused group."""
        program, builder = self.program, self.program.builder
        found, whole = _join(self._found), _join(self._whole_found)
        shape = len(self.groups), len(program.counts)
        some = np.zeros(shape, bool)
        some[found[0], found[1]] = True
        again = program.columns(some & self.early, np.inf)
        # (G8) A tile finds bytes that an earlier one loaded, or that were there at the begin.
        rows = self._rows(some)
        builder.add(rows[found[0], found[1]], found[2], 1.0)
        builder.add(rows[:, self.of_fusion_tile], self.here, -1.0)
        builder.add(rows, again, -1.0)
        self.ahead = self._move(self.late, again, program.into)
        there = enters | (self.here >= 0).any(axis=1)
        there[whole[0]] = True
        into = program.columns(there & bool(self.held[0]), self._most_carried(0))
        # (G8) All that was there at the begin was there at once: it counts against one capacity.
        rows = self._rows(there, "resident at begin")
        builder.add(rows[whole[0]], whole[2], 1.0)
        builder.add(rows[:, None], self.here, 1.0)
        builder.add(rows, self.through, 1.0)
        builder.add(rows, into, -1.0)
        # R1 just before the first step.
        self._cap(into, self.held[0])
        some = enters & self._single & bool(self.held[0])
        self.owed = program.columns(some, self._most_carried(0))
        # Dirty bytes are among the resident ones.
        rows = self._rows(self.owed >= 0)
        builder.add(rows, self.owed, 1.0)
        builder.add(rows, into, -1.0)
        self._hand(0, into, self.owed)

    def _leaves(self, leaves: Bools, enters: Bools, lives: Bools) -> None:
        """Rows of bytes that fusion tiles leave, and of bytes at the end of the fused group."""
        program, builder = self.program, self.program.builder
        newer, last = _join(self._newer), _join(self._last)
        shape = len(self.groups), len(program.counts)
        ends = bool(self.held[1])
        some = np.zeros(shape, bool)
        some[newer[0], newer[1]] = True
        behind = program.columns(some & self.late, np.inf)
        kept = program.columns(some & self.late & ends, np.inf)
        dirty = program.columns(some & ends, np.inf)
        # (G8) R7: what a tile leaves dirty is stored by a later one, or still there when the group
        # ends.
        rows = self._rows(some)
        builder.add(rows[newer[0], newer[1]], newer[2], 1.0)
        for column in (behind, kept, dirty):
            builder.add(rows, column, -1.0)
        staying: Bools = np.any(self.stays >= 0, axis=1)
        # (G8) What stays to the end was resident in the tile's last step.
        rows = self._rows(np.broadcast_to(staying[:, None], shape))
        builder.add(rows[:, self.of_fusion_tile], self.stays, 1.0)
        builder.add(rows[last[0], last[1]], last[2], -1.0)
        # Dirty bytes that stay are among the bytes that stay.
        rows = self._rows(some & ends)
        builder.add(rows, kept, 1.0)
        builder.add(rows, dirty, 1.0)
        builder.add(rows[:, self.of_fusion_tile], self.stays, -1.0)
        self.behind = self._move(self.early, behind, program.out)
        enters = enters & (self.owed >= 0)
        owes = enters & lives
        stored, old = program.columns(enters, np.inf), program.columns(owes & leaves & ends, np.inf)
        # R5, R7: dirty bytes that enter and are not written here are stored, or leave dirty.
        rows = self._rows(owes, "write back of old")
        builder.add(rows, self.owed, 1.0)
        builder.add(rows, stored, -1.0)
        builder.add(rows, old, -1.0)
        self._keep_old(stored)
        # They leave dirty only where they are resident at the end.
        rows, rest = self._rows(old >= 0), _join(self._whole_rest)
        builder.add(rows, old, 1.0)
        builder.add(rows[rest[0]], rest[2], -1.0)
        builder.add(rows[:, None], self.stays, -1.0)
        builder.add(rows, self.through, -1.0)
        both = np.concatenate((kept, stored[:, None]), axis=1)
        # No room is taken: these bytes are counted as staying until the end.
        self._move(np.ones_like(self.early), both, program.out)
        self._out(leaves, dirty, old)

    def _keep_old(self, stored: Ints) -> None:
        """Dirty bytes that enter are on chip at each use of their contents, or stored before."""
        program = self.program
        for (place, step), columns in self._used.items():
            if stored[place] < 0:
                continue
            row = self._row_of(place)
            program.builder.add(row, self.owed[place : place + 1], 1.0)
            if step or program.micro_batches > 1:  # else there is no step before
                program.builder.add(row, stored[place : place + 1], -1.0)
            program.builder.add(np.full(len(columns), row[0]), np.array(columns), -1.0)

    def _row_of(self, place: int) -> Ints:
        only = np.arange(len(self.groups)) == place
        rows = self._rows(only, "write back of old")
        return rows[place : place + 1]

    def _out(self, leaves: Bools, dirty: Ints, old: Ints) -> None:
        """Rows of all that is carried across the end of the fused group."""
        program, builder, ends = self.program, self.program.builder, bool(self.held[1])
        rest, left = _join(self._whole_rest), _join(self._whole_left)
        some = (dirty >= 0).any(axis=1) | (old >= 0)
        some[left[0]] = True
        leaves = leaves & ends
        out = program.columns((leaves | some) & ends, self._most_carried(1))
        newer = program.columns(some & ends, self._most_carried(1))
        later = program.columns(leaves, self._leaving())
        # The neighbor after it reads the same number, so that payments at a boundary cancel.
        rows = self._rows(some, "dirty at end")
        builder.add(rows[:, None], dirty, 1.0)
        builder.add(rows, old, 1.0)
        builder.add(rows[left[0]], left[2], 1.0)
        builder.add(rows, newer, -1.0)
        # Dirty bytes are among the resident ones.
        rows = self._rows(newer >= 0)
        builder.add(rows, newer, 1.0)
        builder.add(rows, out, -1.0)
        # R2: what leaves stayed from a tile, passed through, or was loaded for later.
        rows = self._rows(leaves, "resident at end")
        builder.add(rows, out, 1.0)
        builder.add(rows[:, None], self.stays, -1.0)
        builder.add(rows[rest[0]], rest[2], -1.0)
        builder.add(rows, self.through, -1.0)
        builder.add(rows, later, -1.0)
        # R1 just after the last step.
        self._cap(out, self.held[1])
        every = np.ones_like(self.early)
        self.later = self._move(every, later[:, None], program.into)
        self._hand(1, np.where(leaves, out, -1), np.where(leaves & self._single, newer, -1))

    @property
    def _single(self) -> Bools:
        return np.array([group in self.program.listed.written for group in self.groups], bool)

    def _most_carried(self, end: int) -> Floats:
        """Return (g,) bytes of each group that can be carried across an end."""
        held = self.held[end]
        return np.array([min(self.crossing[end].get(group, held), held) for group in self.groups])

    def _leaving(self) -> Floats:
        """Return (g,) bytes of each group that are needed after the fused group."""
        return np.array([self.crossing[1].get(group, 0.0) for group in self.groups])

    def _rows(self, where: Bools, kind: str = "") -> Ints:
        return self.program.rows(where, UPPER, kind, self.groups)

    def _cap(self, columns: Ints, held: float) -> None:
        """All that is carried across an end fits the scratchpad."""
        if (columns >= 0).any():
            row = self.program.rows(1, (-np.inf, held))
            self.program.builder.add(row, columns, 1.0)
            self._caps.append(row)

    def _move(self, where: Bools, amounts: Ints, moved: Amounts) -> list[Ints]:
        """Move amounts of groups in steps of some classes; return bytes (c, m) of each ratio."""
        program, found = self.program, list[Ints]()
        shape = len(program.counts), program.steps
        for ratio in np.unique(self.ratios).tolist():
            own = amounts[self.ratios == ratio]
            if not (own >= 0).any():
                continue
            columns = program.columns(np.broadcast_to(where[:, None], shape), np.inf)
            row = program.rows(1, UPPER)
            program.builder.add(row, own.ravel(), 1.0)
            program.builder.add(row, columns.ravel(), -1.0)
            moved.add(np.arange(program.width), columns.ravel(), ratio)
            found.append(columns)
        return found

    def _room(self) -> None:
        """Count bytes held in the steps of other fusion tiles."""
        program, builder, counts = self.program, self.program.builder, self.program.counts
        shape = len(counts), program.steps
        before = np.concatenate(([0], np.cumsum(counts)))
        fusion_tile = np.arange(program.micro_batches)
        around = np.zeros((len(counts), 2, program.micro_batches))
        for number, count in enumerate(counts):
            # (G9) A byte of tile k that was there at the begin takes room in all k - 1 tiles before
            # it.
            around[number, 0] = np.clip(fusion_tile - before[number], 0, count)
            # (G9) One that stays takes room in all tiles after its own.
            around[number, 1] = np.clip(before[number + 1] - 1 - fusion_tile, 0, count)
        parts = [
            (np.broadcast_to(columns, (len(counts), *columns.shape)), times)
            for columns, times in (
                (self.here, around[:, 0][:, None, :]),
                (self.stays, around[:, 1][:, None, :]),
                (self.through, np.array(counts, float)[:, None]),
            )
        ]
        known = self.tiles == program.micro_batches
        parts = parts if known else parts[2:]
        if any((columns >= 0).any() for columns in (*(own for own, _ in parts), *self.later)):
            rows = program.rows(len(counts), UPPER)
            total = program.columns(len(counts), np.inf)
            builder.add(rows, total, -1.0)
            for columns, times in parts:
                builder.add(rows.reshape(-1, *[1] * (columns.ndim - 1)), columns, times)
            for number in range(1, len(counts)):
                # Bytes loaded for later in an earlier class are there in all tiles of this one.
                for later in self.later:
                    builder.add(rows[number], later[:number].ravel(), float(counts[number]))
            for number in range(len(counts)):
                program.room.add(program.at(number), np.full(program.steps, total[number]), 1.0)
        if not known:
            return
        # (G9) Within a class: from its load on, or until its store.
        self._since([*self.ahead, *self.later], shape)
        self._since([each[:, ::-1] for each in self.behind], shape, back=True)

    def _since(self, several: Sequence[Ints], shape: tuple[int, int], back: bool = False) -> None:
        """Count in each step the bytes moved in it or before, in the same class; or after."""
        program, builder = self.program, self.program.builder
        some = np.zeros(shape, bool)
        for columns in several:
            some |= (columns >= 0).cumsum(axis=1) > 0
        if not some.any():
            return
        total = program.columns(some, np.inf)
        rows = program.rows(some, UPPER)
        builder.add(rows, total, -1.0)
        builder.add(rows[:, 1:], total[:, :-1], 1.0)
        for columns in several:
            builder.add(rows, columns, 1.0)
        if back:
            total = total[:, ::-1]
        for number in range(shape[0]):
            program.room.add(program.at(number), total[number], 1.0)

    def _hand(self, end: int, amount: Ints, dirty: Ints) -> None:
        """Note the columns of bytes carried across an end, where priced."""
        most = self._most_carried(end)
        for newer, columns in ((False, amount), (True, dirty)):
            for place, group in enumerate(self.groups):
                if columns[place] >= 0 and group != REST:
                    self.carried.append((end, group, newer, int(columns[place])))
                    self._most.append(float(most[place]))

    @property
    def caps(self) -> Ints:
        """Return the rows of all that is on chip at the two ends, if it may be anything."""
        return np.concatenate(self._caps) if self._caps else np.empty(0, np.int64)

    @property
    def most(self) -> Floats:
        """Return (h,) bytes that there can be of each of ``carried``."""
        return np.array(self._most)


class Inner(Boundaries):
    """Rows at the ends of some steps of a group: all that fits may be there around each tile."""

    def cut(self, uses: UseTable, number: int, begins: Ints, now: Ints, newer: Ints) -> None:
        """Tell of tensors that are cut, as :meth:`Boundaries.cut`."""
        self._columns[0].append(begins)
        self._columns[1].append(newer)

    def whole(
        self, uses: UseTable, begins: Ints, now: Sequence[Ints], ends: tuple[Ints, Ints]
    ) -> None:
        """Add the bytes that each fusion tile finds of tensors that all fusion tiles share."""
        self._columns[0].append(begins)

    def close(self) -> None:
        """Add the rows."""
        program = self.program
        for kind, several in zip(
            ("capacity before tiles", "capacity after tiles"), self._columns, strict=True
        ):
            columns = np.concatenate([np.empty(0, np.int64), *several])
            if (columns >= 0).any():
                # (G8') R1 before, and after, each of the tiles, summed over them.
                row = program.rows(1, (-np.inf, float(program.micro_batches * program.held)), kind)
                program.builder.add(row, columns, 1.0)

    @cached_property
    def _columns(self) -> tuple[list[Ints], list[Ints]]:
        return [], []


def _nothing() -> Columns:
    nothing = np.empty(0, np.int64)
    return nothing, nothing, nothing


def _join(parts: list[Columns]) -> Columns:
    group, number, column = (np.concatenate(each) for each in zip(*parts, strict=True))
    return group, number, column
