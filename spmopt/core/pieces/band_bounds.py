"""Bands of rows as a bound sees them: uneven pieces, of which sums and means are known.

A segment of ``R`` bands has as many pieces as the batch times ``R``, one after another. They are
not equal, but what rows of a segment's program say of sums over all pieces, and of the mean room,
holds for them as well. A listing whose operations have modes for that number of pieces, of the same
sums in all, stands for the bands; so whoever bounds segments needs nothing of rows.

A byte belongs to the band in which its tensor is first written or read in the segment. Another use
may take it in a later band only: at a window that reads on, rows wait for the next band. Bytes that
every use in the segment takes in the band they belong to are *followed*; the others, and the rows
of a halo that a band takes again, are left out: less room is taken, and less is moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from spmopt.core.operation import Mode, Operand
from spmopt.core.pieces.listing import Listing
from spmopt.core.pieces.row_windows import Borders, Rows, takes_rows
from spmopt.core.pieces.segments import ListedOperation, PieceModes, Segment
from spmopt.core.table import Bools, Ints

_FAR = np.iinfo(np.int64).max


class Banded:
    """A listing with modes for bands, of any segment.

    Attributes
    ----------
    listing
        With modes for the batch times each number of bands: figures that are the least over all
        segments that have the operation.
    reach
        By that number of pieces: where segments that begin at each operation end at the latest.
    """

    def __init__(self, listing: Listing, bands: Iterable[int]) -> None:
        modes = [dict(operation.modes) for operation in listing.operations]
        rows = max((each.rows.count for each in listing.operations if each.rows), default=0)
        self.reach: dict[int, list[int]] = {}
        for each in bands:
            if each == 1:
                continue
            count = listing.batch * each
            if each > rows or listing.band_mode is None:
                self.reach[count] = list(range(len(modes)))
                continue
            skews = Skews(listing.operations, each)
            self.reach[count] = skews.reach
            for at, borders in enumerate(skews.borders):
                if borders:
                    modes[at][count] = _modes(listing, at, borders)
        self.listing = replace(
            listing,
            operations=tuple(
                replace(operation, modes=own)
                for operation, own in zip(listing.operations, modes, strict=True)
            ),
        )


def tabulated(listing: Listing, bands: Iterable[int]) -> Listing:
    """Return the listing with the modes of all bands that its segments have, and no graph.

    A process that it is sent to finds them there: those told how to make them may look up operators
    that only this process knows.
    """
    modes: dict[tuple[int, int, int], Mode] = {}
    for each in bands if listing.band_mode is not None else ():
        if each > 1:
            for at, borders in enumerate(Skews(listing.operations, each).borders):
                parts = {(at, *band) for own in borders for band in pairwise(own)}
                modes.update({part: _mode(listing, *part) for part in parts})
    return replace(listing, graph=None, band_mode=partial(_tabulated, modes))


def _tabulated(modes: Mapping[tuple[int, int, int], Mode], at: int, begin: int, end: int) -> Mode:
    return modes[at, begin, end]


def followed(listing: Listing, segment: Segment) -> tuple[Listing, Segment]:
    """Return a listing in which a segment of bands is one of as many pieces, and that segment.

    Modes are those of the segment's bands; tensors have the bytes that are followed in it.

    Raises
    ------
    InputError
        The segment cannot be cut so.
    """
    borders, count = listing.borders(segment), segment.pieces * segment.bands
    operations, tensors = list(listing.operations), list(listing.tensors)
    for at, own in enumerate(borders, segment.begin):
        operations[at] = replace(operations[at], modes={count: _modes(listing, at, [own])})
    inner = operations[segment.begin : segment.end]
    for tensor, rows in _followed(inner, borders).items():
        size = tensors[tensor].size_bytes
        kept, of = sum(end - begin for begin, end in rows), _size(inner, tensor)
        tensors[tensor] = replace(tensors[tensor], size_bytes=size // of * kept)
    found = replace(listing, operations=tuple(operations), tensors=tuple(tensors))
    return found, Segment(begin=segment.begin, end=segment.end, pieces=count)


def _size(operations: Sequence[ListedOperation], tensor: int) -> int:
    """Return how many rows a tensor has that is cut."""
    return next(
        each.rows.windows[tensor].size
        for each in operations
        if each.rows is not None and tensor in each.rows.windows
    )


def _followed(
    operations: Sequence[ListedOperation], borders: Sequence[Borders]
) -> dict[int, list[tuple[int, int]]]:
    """Return the rows of each tensor that are followed in each band."""
    found: dict[int, list[tuple[int, int]]] = {}
    for operation, own in zip(operations, borders, strict=True):
        assert operation.rows is not None
        for tensor, window in operation.rows.windows.items():
            taken = [window.rows(*band, operation.rows.count) for band in pairwise(own)]
            known = found.get(tensor)
            if known is None:  # from where the band before has ended
                ends = [0, *(end for _, end in taken)]
                found[tensor] = [*pairwise(ends)]
                continue
            found[tensor] = [
                (max(low, begin), max(low, begin, min(high, end)))
                for (low, high), (begin, end) in zip(taken, known, strict=True)
            ]
    return found


def _modes(listing: Listing, at: int, borders: Sequence[Borders]) -> PieceModes:
    """Return modes of the bands of an operation: of several borders the least sums.

    The first has what does not divide among all.
    """
    machine, page = listing.machine, listing.machine.page_bytes
    figures: list[tuple[int, ...]] = []
    operands: list[Operand] = []
    count = 0
    for own in borders:
        modes = [_mode(listing, at, *band) for band in pairwise(own)]
        count = listing.batch * len(modes)
        each = (
            (
                mode.compute_cycles,
                machine.pages(mode.scratch_bytes),
                *mode.unchanging,
            )
            for mode in modes
        )
        figures.append(tuple(listing.batch * sum(column) for column in zip(*each, strict=True)))
        for mode in modes:
            operands = [
                Operand(
                    passes=min(one.passes, other.passes),
                    stationary=one.stationary and other.stationary,
                )
                for one, other in zip(operands or mode.operands, mode.operands, strict=True)
            ]
    least = [min(column) for column in zip(*figures, strict=True)]

    def mode_of(figures: Sequence[int]) -> Mode:
        cycles, pages, read, written, macs, own = figures
        return Mode(
            compute_cycles=cycles,
            operands=tuple(operands),
            scratch_bytes=pages * page,
            macs=macs,
            spm_read_bytes=read,
            spm_write_bytes=written,
            own_picojoules=own,
        )

    later = [total // count for total in least]
    first = [total - (count - 1) * each for total, each in zip(least, later, strict=True)]
    return PieceModes(mode_of(first), mode_of(later))


def _mode(listing: Listing, at: int, begin: int, end: int) -> Mode:
    assert listing.band_mode is not None
    return listing.band_mode(at, begin, end)


class Skews:
    """Borders of bands in segments from any operation on, found for all of them at once.

    Attributes
    ----------
    reach
        Of segments that begin at each operation: the last end without an obstacle.
    borders
        Of each operation: its borders in all segments that have it, each once.
    """

    def __init__(self, operations: Sequence[ListedOperation], bands: int) -> None:
        count = len(operations)
        self.bands = bands
        self.reach = [count] * count
        self.borders: list[list[Borders]] = []
        self._made: dict[int, Ints] = {}
        self._used: dict[int, int] = {}
        self._cut: dict[tuple[int, bool], int] = {}
        alive = np.zeros(count, bool)
        for at, operation in enumerate(operations):
            alive[at] = True
            before = alive[: at + 1].copy()
            found: list[Borders] = []
            if operation.rows is None:
                alive[: at + 1] = False
            else:
                table, can = self._table(at, operation, operation.rows)
                alive[: at + 1] &= can
                found = self._checked(operation, operation.rows, table, alive[: at + 1])
                self._made |= dict.fromkeys(operation.writes, table)
            for begin in np.flatnonzero(before & ~alive[: at + 1]).tolist():
                self.reach[begin] = at
            self.borders.append(found)
            self._used |= dict.fromkeys((*operation.reads, *operation.writes), at)
            self._cut |= {(t, t in operation.cut): at for t in operation.uses(0)}

    def _table(self, at: int, operation: ListedOperation, rows: Rows) -> tuple[Ints, Bools]:
        """Return borders (at + 1, bands + 1) by begin, and where nothing is in their way."""
        can = np.ones(at + 1, bool)
        for t in operation.writes:
            can[: self._used.get(t, -1) + 1] = False
        for t in operation.uses(0):  # what one cuts along the batch is whole to none
            can[: self._cut.get((t, t not in operation.cut), -1) + 1] = False
        ends = np.full((at + 1, self.bands - 1), _FAR)
        for t in operation.reads:
            made = self._made.get(t)
            if made is None:
                continue
            window = rows.windows.get(t)
            if window is None:
                can[: len(made)] = False
            else:
                ends[: len(made)] = np.minimum(ends[: len(made)], window.ready(made[:, 1:-1]))
        even = [rows.count * band // self.bands for band in range(1, self.bands)]
        ends = np.where(ends == _FAR, even, np.minimum(ends, rows.count))
        table: Ints = np.pad(ends, ((0, 0), (1, 1)))
        table[:, -1] = rows.count
        return table, can & (np.diff(table, axis=1) > 0).all(axis=1)

    def _checked(
        self, operation: ListedOperation, rows: Rows, table: Ints, alive: Bools
    ) -> list[Borders]:
        """Return the different borders; those of a band that takes no rows are not alive."""
        if not alive.any():
            return []
        different, which = np.unique(table[alive], axis=0, return_inverse=True)
        windows = [rows.windows[t] for t in operation.reads if t in rows.windows]
        found = [tuple(own) for own in different.tolist()]
        takes = [all(takes_rows(own, window, rows) for window in windows) for own in found]
        alive[alive] = np.array(takes)[which.ravel()]
        return [own for own, some in zip(found, takes, strict=True) if some]
