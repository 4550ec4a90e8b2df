"""Stripes as a bound sees them: uneven fusion tiles, of which each byte's uses are known.

A fused group of ``R`` stripes has as many fusion tiles as the batch times ``R``, one after another.
A tileable graph whose operations have mappings for that number of fusion tiles, of the same sums in
all, stands for the stripes: rows of a fused group's program are sums over all fusion tiles.

A window takes some rows in two stripes, and leaves others to the next one. So the bytes of a tensor
come in *patterns*: those of a pattern are used in the same steps, counted from the begin of the
first fusion tile that uses them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from spmopt.core.fusion.fused_groups import FusedGroup, TileableOperation, TileMappings
from spmopt.core.fusion.row_windows import Boundaries, Rows, takes_rows
from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.core.operation import Operand, OpMapping
from spmopt.core.table import Bools, Ints

_FAR = np.iinfo(np.int64).max


class Striped:
    """A tileable graph with mappings for stripes, of any fused group.

    Attributes
    ----------
    tileable
        With mappings for the batch times each number of stripes: figures that are the least over
        all fused groups that have the operation.
    reach
        By that number of fusion tiles: where fused groups that begin at each operation end at the
        latest.
    """

    def __init__(self, tileable: TileableGraph, stripes: Iterable[int]) -> None:
        mappings = [dict(operation.mappings) for operation in tileable.operations]
        rows = max((each.rows.count for each in tileable.operations if each.rows), default=0)
        self.reach: dict[int, list[int]] = {}
        for each in stripes:
            if each == 1:
                continue
            count = tileable.batch * each
            # No operation has so many rows: every group ends where it begins.
            if each > rows or tileable.stripe_mappings is None:
                self.reach[count] = list(range(len(mappings)))
                continue
            skews = Skews(tileable.operations, each)
            self.reach[count] = skews.reach
            for at, boundaries in enumerate(skews.boundaries):
                if boundaries:
                    mappings[at][count] = _mappings(tileable, at, boundaries)
        self.tileable = replace(
            tileable,
            operations=tuple(
                replace(operation, mappings=own)
                for operation, own in zip(tileable.operations, mappings, strict=True)
            ),
        )


def tabulate(tileable: TileableGraph, stripes: Iterable[int]) -> TileableGraph:
    """Return the graph with the least mapping of all stripes that its groups have, and no graph.

    A process that it is sent to finds them there, unless it can make them: it may have to look up
    operators that only this process knows.
    """
    if getattr(tileable.stripe_mappings, "portable", False):
        return replace(tileable, graph=None, first_stripe_mappings=None)
    mappings: dict[tuple[int, int, int], tuple[OpMapping, ...]] = {}
    for each in stripes if tileable.stripe_mappings is not None else ():
        if each > 1:
            for at, boundaries in enumerate(Skews(tileable.operations, each).boundaries):
                parts = {(at, *stripe) for own in boundaries for stripe in pairwise(own)}
                mappings.update({part: (tileable.least_of_stripe(*part),) for part in parts})
    # The graph itself would be sent to every process.
    return replace(
        tileable,
        graph=None,
        stripe_mappings=partial(_tabulate, mappings),
        first_stripe_mappings=None,
    )


def _tabulate(
    mappings: Mapping[tuple[int, int, int], tuple[OpMapping, ...]], at: int, begin: int, end: int
) -> tuple[OpMapping, ...]:
    return mappings[at, begin, end]


class UsePattern(NamedTuple):
    """Bytes of a tensor that are used in the same steps.

    Attributes
    ----------
    uses
        Steps, counted from the begin of the first fusion tile that uses them.
    sizes
        Bytes by that fusion tile.
    """

    uses: tuple[int, ...]
    sizes: tuple[int, ...]


def follow(
    tileable: TileableGraph, fused_group: FusedGroup
) -> tuple[TileableGraph, FusedGroup, dict[int, list[UsePattern]]]:
    """Return a tileable graph in which a group of stripes is one of as many tiles, and that group.

    Mappings are those of the fused group's stripes. And the patterns of each tensor that is cut.

    Raises
    ------
    InputError
        The fused group cannot be cut so.
    """
    boundaries, count = tileable.boundaries(fused_group), fused_group.count
    operations = list(tileable.operations)
    for at, own in enumerate(boundaries, fused_group.begin):
        operations[at] = replace(operations[at], mappings={count: _mappings(tileable, at, [own])})
    inner = operations[fused_group.begin : fused_group.end]
    patterns = {
        tensor: _patterns(taken, len(inner), tileable.tensors[tensor].size_bytes, fused_group)
        for tensor, taken in _taken(inner, boundaries).items()
    }
    found = replace(tileable, operations=tuple(operations))
    tiled = FusedGroup(begin=fused_group.begin, end=fused_group.end, micro_batches=count)
    return found, tiled, patterns


_Taken = dict[int, list[tuple[int, int]] | None]
"""By operation of a fused group: the rows of a tensor that each stripe takes; none: all."""


def _taken(
    operations: Sequence[TileableOperation], boundaries: Sequence[Boundaries]
) -> dict[int, _Taken]:
    """Return, of each tensor that operations cut, how they take its rows."""
    found: dict[int, _Taken] = {}
    for at, (operation, own) in enumerate(zip(operations, boundaries, strict=True)):
        rows = operation.rows
        assert rows is not None
        for tensor in operation.uses(0):
            if tensor in operation.cut:
                window = rows.windows.get(tensor)
                found.setdefault(tensor, {})[at] = (
                    None
                    if window is None
                    else [window.rows(*stripe, rows.count) for stripe in pairwise(own)]
                )
    return found


def _patterns(
    taken: _Taken, steps: int, size_bytes: int, fused_group: FusedGroup
) -> list[UsePattern]:
    """Return the patterns of a tensor, those of its first rows first."""
    images, stripes = fused_group.micro_batches, fused_group.stripes
    cuts = {row for rows in taken.values() for each in rows or () for row in each}
    # A tensor that all take whole is one row.
    ends = sorted(cuts | {0} | ({1} if not cuts else set()))
    row_bytes = size_bytes // (images * ends[-1])
    found: dict[tuple[int, ...], list[int]] = {}
    for begin, end in pairwise(ends):
        uses = sorted(
            stripe * steps + at
            for at, rows in taken.items()
            for stripe in range(stripes)
            if rows is None or (rows[stripe][0] <= begin and end <= rows[stripe][1])
        )
        first = uses[0] // steps
        pattern = tuple(use - first * steps for use in uses)
        sizes = found.setdefault(pattern, [0] * stripes)
        sizes[first] += row_bytes * (end - begin)
    return [UsePattern(uses, tuple(sizes) * images) for uses, sizes in found.items()]


def _mappings(tileable: TileableGraph, at: int, boundaries: Sequence[Boundaries]) -> TileMappings:
    """Return mappings of the stripes of an operation: of several boundaries the least sums.

    The first has the remainder.
    """
    machine, page = tileable.machine, tileable.machine.page_bytes
    figures: list[tuple[int, ...]] = []
    operands: list[Operand] = []
    count = 0
    for own in boundaries:
        mappings = [tileable.least_of_stripe(at, *stripe) for stripe in pairwise(own)]
        count = tileable.batch * len(mappings)
        each = (
            (
                mapping.compute_cycles,
                machine.pages(mapping.scratch_bytes),
                *mapping.unchanging,
            )
            for mapping in mappings
        )
        figures.append(tuple(tileable.batch * sum(column) for column in zip(*each, strict=True)))
        for mapping in mappings:
            operands = [
                Operand(
                    fetches=min(one.fetches, other.fetches),
                    required_resident=one.required_resident and other.required_resident,
                )
                for one, other in zip(operands or mapping.operands, mapping.operands, strict=True)
            ]
    # The least over all boundaries: a bound must hold for each of them.
    least = [min(column) for column in zip(*figures, strict=True)]

    def mapping_of(figures: Sequence[int]) -> OpMapping:
        cycles, pages, read, written, macs, own = figures
        return OpMapping(
            compute_cycles=cycles,
            operands=tuple(operands),
            scratch_bytes=pages * page,
            macs=macs,
            spm_read_bytes=read,
            spm_write_bytes=written,
            own_picojoules=own,
        )

    later = [total // count for total in least]
    # Sums over all tiles stay exact, though tiles are taken as equal.
    first = [total - (count - 1) * each for total, each in zip(least, later, strict=True)]
    return TileMappings(mapping_of(first), mapping_of(later))


class Skews:
    """Boundaries of stripes in fused groups from any operation on, found for all of them at once.

    Attributes
    ----------
    reach
        Of fused groups that begin at each operation: the last end without an obstacle.
    boundaries
        Of each operation: its boundaries in all fused groups that have it, each once.
    """

    def __init__(self, operations: Sequence[TileableOperation], stripes: int) -> None:
        count = len(operations)
        self.stripes = stripes
        self.reach = [count] * count
        self.boundaries: list[list[Boundaries]] = []
        self._made: dict[int, Ints] = {}
        self._read: dict[int, int] = {}
        self._wrote: dict[int, int] = {}
        self._cut: dict[tuple[int, bool], int] = {}
        alive = np.zeros(count, bool)
        for at, operation in enumerate(operations):
            alive[at] = True
            before = alive[: at + 1].copy()
            found: list[Boundaries] = []
            if operation.rows is None:
                alive[: at + 1] = False
            else:
                table, can = self._table(at, operation, operation.rows)
                alive[: at + 1] &= can
                found = self._check(operation, operation.rows, table, alive[: at + 1])
                self._made |= dict.fromkeys(operation.writes, table)
            for begin in np.flatnonzero(before & ~alive[: at + 1]).tolist():
                self.reach[begin] = at
            self.boundaries.append(found)
            self._read |= dict.fromkeys({*operation.reads} - {*operation.writes}, at)
            self._wrote |= dict.fromkeys(operation.writes, at)
            self._cut |= {(t, t in operation.cut): at for t in operation.uses(0)}

    def _table(self, at: int, operation: TileableOperation, rows: Rows) -> tuple[Ints, Bools]:
        """Return boundaries (at + 1, stripes + 1) by begin, and where nothing is in their way."""
        # One entry for each operation that a group may begin with.
        can = np.ones(at + 1, bool)
        for t in operation.writes:  # as in stripe_boundaries.py
            last = self._read.get(t, -1), -1 if t in operation.reads else self._wrote.get(t, -1)
            can[: max(last) + 1] = False
        for t in operation.uses(0):  # a tensor cut along the batch is whole to none
            can[: self._cut.get((t, t not in operation.cut), -1) + 1] = False
        # _FAR: no operand of the group limits this stripe yet.
        ends = np.full((at + 1, self.stripes - 1), _FAR)
        for t in operation.reads:
            made = self._made.get(t)
            if made is None:
                continue
            window = rows.windows.get(t)
            if window is None:
                can[: len(made)] = False
            else:
                ends[: len(made)] = np.minimum(ends[: len(made)], window.ready(made[:, 1:-1]))
        even = [rows.count * stripe // self.stripes for stripe in range(1, self.stripes)]
        ends = np.where(ends == _FAR, even, np.minimum(ends, rows.count))
        table: Ints = np.pad(ends, ((0, 0), (1, 1)))
        table[:, -1] = rows.count
        return table, can & (np.diff(table, axis=1) > 0).all(axis=1)

    def _check(
        self, operation: TileableOperation, rows: Rows, table: Ints, alive: Bools
    ) -> list[Boundaries]:
        """Return the different boundaries; those of a stripe that takes no rows are not alive."""
        if not alive.any():
            return []
        different, which = np.unique(table[alive], axis=0, return_inverse=True)
        windows = [rows.windows[t] for t in operation.reads if t in rows.windows]
        found = [tuple(own) for own in different.tolist()]
        takes = [all(takes_rows(own, window, rows) for window in windows) for own in found]
        alive[alive] = np.array(takes)[which.ravel()]
        return [own for own, some in zip(found, takes, strict=True) if some]
