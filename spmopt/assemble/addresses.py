"""Page addresses for given residency (R8): anywhere (``paged``) or in ranges (``contiguous``)."""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

import numpy as np

from spmopt.assemble.index import neighbors, row_at
from spmopt.core.errors import ScheduleError
from spmopt.core.machine import Machine
from spmopt.core.schedule import Placements, Ranges, Residency, Stores
from spmopt.core.table import Ints
from spmopt.core.timeline import Access, Timeline

Extent = tuple[int, int]
"""First page and number of pages."""

_START_BITS = 62  # pages are fewer: sizes are at most 2**60
_START_MASK = (1 << _START_BITS) - 1


class FreeExtents:
    """Disjoint, never adjoining runs of free pages, found in logarithmic time."""

    def __init__(self, pages: int) -> None:
        self._by_size: list[int] = []
        self._size_at: dict[int, int] = {}
        self._start_before: dict[int, int] = {}
        self._top = pages
        if pages:
            self._add(0, pages)

    def size_at(self, start: int) -> int:
        """Return the pages of the extent that begins at ``start``; 0 if none does."""
        return self._size_at.get(start, 0)

    def holding(self, pages: int, most: int) -> Iterator[Extent]:
        """Go through the smallest extents that hold ``pages`` pages, at most so many."""
        place = bisect_left(self._by_size, pages << _START_BITS)
        for key in self._by_size[place : place + most]:
            yield key & _START_MASK, key >> _START_BITS

    def take(self, extent: Extent, start: int, pages: int) -> None:
        """Remove the pages [start, start + pages) of ``extent``."""
        first, size = extent
        self._discard(first, size)
        if start > first:
            self._add(first, start - first)
        if start + pages < first + size:
            self._add(start + pages, first + size - start - pages)

    def take_largest(self, pages: int) -> Extent:
        """Remove a largest extent, for a request of more ``pages`` than any holds.

        Where nothing is free, the pages lie beyond the scratchpad's last: an overfull plan
        still gets addresses, and the verifier reports their faults.
        """
        if self._by_size:
            key = self._by_size[-1]
            start, pages = key & _START_MASK, key >> _START_BITS
            self._discard(start, pages)
            return start, pages
        self._top += pages
        return self._top - pages, pages

    def give(self, start: int, pages: int) -> None:
        """Put a run back and join it to the free runs around it."""
        size_above = self._size_at.get(start + pages)
        if size_above is not None:
            self._discard(start + pages, size_above)
            pages += size_above
        start_below = self._start_before.get(start)
        if start_below is not None:
            size_below = self._size_at[start_below]
            self._discard(start_below, size_below)
            start, pages = start_below, pages + size_below
        self._add(start, pages)

    def _add(self, start: int, pages: int) -> None:
        # One integer orders extents by size, then by address.
        insort(self._by_size, pages << _START_BITS | start)
        self._size_at[start] = pages
        self._start_before[start + pages] = start

    def _discard(self, start: int, pages: int) -> None:
        del self._by_size[bisect_left(self._by_size, pages << _START_BITS | start)]
        del self._size_at[start], self._start_before[start + pages]


SCRATCH = -1
_CHOICES = 8
"""Extents among which the neighbors decide: more find little, and take time."""
_NEVER = 1 << 62
"""Later than any step."""


class Allocator:
    """Where the pages of each tensor lie now, and the finished placement rows.

    A tensor's pages form a stack of runs ``(tensor page, pages, SPM page, since)``: the prefix
    grows and shrinks at its end, and no page moves while it stays. ``leaves`` is the step at
    which the last of a tensor's pages will go. Pages that leave together should lie together, so
    that it leaves one large extent: it is known of the run below and above each boundary.
    """

    def __init__(self, pages: int) -> None:
        self._top = pages
        self._free = FreeExtents(pages)
        self._runs: dict[int, list[tuple[int, int, int, int]]] = {}
        self._below_leaves: dict[int, int] = {}
        self._above_leaves: dict[int, int] = {}
        self._rows = array("q")
        self._held_back = dict[int, list[Extent]]()

    def grow(self, step: int, tensor: int, held: int, wanted: int, leaves: int) -> None:
        """Add tensor pages [held, wanted) from ``step`` on."""
        runs = self._runs.setdefault(tensor, [])
        behind = runs[-1][2] + runs[-1][1] if runs else self._top
        for spm_page, pages in self._take(wanted - held, behind, leaves):
            runs.append((held, pages, spm_page, step))
            held += pages
            self._above_leaves[spm_page] = self._below_leaves[spm_page + pages] = leaves

    def lend(self, step: int, pages: int) -> None:
        """Place the scratch of one step, which is gone before anything else grows."""
        leaves = step + 1
        spot = self._spot(pages, self._top, leaves)
        if spot is None:
            self.grow(step, SCRATCH, 0, pages, leaves)
            self.shrink(leaves, SCRATCH, 0, leaves)
            return
        start = spot[1]  # its pages would be given back as they were: none are taken
        self._above_leaves[start] = self._below_leaves[start + pages] = leaves
        self._rows.extend((SCRATCH, 0, pages, start, step, leaves))

    def shrink(
        self, step: int, tensor: int, wanted: int, leaves: int, *, until: int | None = None
    ) -> None:
        """Free the tensor pages from ``wanted`` on, at the start of ``step``.

        ``until``: they are held back, as the others of that key, until they are given.
        """
        runs = self._runs[tensor]
        while runs and runs[-1][0] + runs[-1][1] > wanted:
            first, pages, spm_page, since = runs.pop()
            # A run may lie on both sides of the new end: its front stays where it is.
            kept = max(0, wanted - first)
            if kept:
                runs.append((first, kept, spm_page, since))
                self._below_leaves[spm_page + kept] = leaves
            gone, left = spm_page + kept, pages - kept
            self._rows.extend((tensor, first + kept, left, gone, since, step))
            if until is None:
                self._free.give(gone, left)
            else:
                self._held_back.setdefault(until, []).append((gone, left))

    def give_back(self) -> int:
        """Release the held pages of the least key; return how many pages these are."""
        extents = self._held_back.pop(min(self._held_back), []) if self._held_back else []
        for extent in extents:
            self._free.give(*extent)
        return sum(pages for _, pages in extents)

    def placements(self) -> Placements:
        """Return the finished rows, in the order in which they ended."""
        columns = np.frombuffer(self._rows, np.int64).reshape(-1, 6).T
        return Placements(**dict(zip(Placements.names(), columns, strict=True)))

    def _take(self, pages: int, behind: int, leaves: int) -> list[Extent]:
        """Free runs for ``pages`` pages, as few as can be; ``behind`` the tensor's last page."""
        spot = self._spot(pages, behind, leaves)
        if spot is not None:
            self._free.take(*spot, pages)
            return [(spot[1], pages)]
        room = self._free.size_at(behind)
        if room:
            self._free.take((behind, room), behind, room)
            return [(behind, room), *self._in_pieces(pages - room, leaves)]
        return self._in_pieces(pages, leaves)

    def _spot(self, pages: int, behind: int, leaves: int) -> tuple[Extent, int] | None:
        """Return the extent that is to hold all ``pages`` pages, and where they begin in it."""
        room = self._free.size_at(behind)
        return ((behind, room), behind) if room >= pages else self._beside(pages, leaves)

    def _in_pieces(self, pages: int, leaves: int) -> list[Extent]:
        """Use up the largest extents, until one holds the rest."""
        pieces = []
        while pages:
            spot = self._beside(pages, leaves)
            if spot is None:
                pieces.append(self._free.take_largest(pages))
            else:
                self._free.take(*spot, pages)
                pieces.append((spot[1], pages))
            pages -= pieces[-1][1]
        # By address, so that the tensor's pages ascend and few descriptors are needed.
        return sorted(pieces)

    def _beside(self, pages: int, leaves: int) -> tuple[Extent, int] | None:
        """Find an end of an extent that holds ``pages``.

        Beside pages that leave at nearly that time.
        """
        least, chosen = _NEVER, None
        below_leaves, above_leaves = self._below_leaves, self._above_leaves
        for extent in self._free.holding(pages, _CHOICES):
            low, size = extent
            below = abs(below_leaves.get(low, leaves) - leaves)
            above = abs(above_leaves.get(low + size, leaves) - leaves)
            if below <= above and below < least:
                least, chosen = below, (extent, low)
            elif above < below and above < least:
                least, chosen = above, (extent, low + size - pages)
            if not least:
                break
        return chosen


def place(machine: Machine, timeline: Timeline, residency: Residency) -> Placements:
    """Return the addresses of every resident page and of the scratch.

    In each step the pages that shrinking frees return first; then growing tensors take theirs,
    largest first, and the scratch comes last. Pages go right behind their tensor's last one if
    all fit there; else to one of the smallest extents that hold them, beside pages that leave when
    their tensor does; else in pieces, as few as can be. So few DMA descriptors are needed, and this
    never fails where R1 holds. Rows are sorted by (tensor, begin, tensor page).
    """
    allocator = Allocator(machine.spm_pages)
    for step, owner, held, wanted, leaves in _events(machine, timeline, residency):
        if owner == SCRATCH:
            allocator.lend(step, wanted)
        elif wanted > held:
            allocator.grow(step, owner, held, wanted, leaves)
        else:
            allocator.shrink(step, owner, wanted, leaves)
    return by_tensor(allocator.placements())


def allocate_in_time(
    machine: Machine, timeline: Timeline, residency: Residency, stores: Stores
) -> Placements:
    """Return addresses as :func:`place` does, such that few operations wait for a store.

    An operation waits for the pages that it overwrites; pages that a load fills wait in the
    channel's queue anyway. So pages that a store may still be emptying, those of tensors stored in
    one of the two steps before, go to loads where all that the operation overwrites fits elsewhere;
    else it gets those that were stored first.
    """
    allocator, free = Allocator(machine.spm_pages), machine.spm_pages
    stored = set(zip(stores.step.tolist(), stores.tensor.tolist(), strict=True))
    events = _events(machine, timeline, residency)
    for step, some in groupby(events, key=itemgetter(0)):
        own, free_now = {SCRATCH, *_overwritten(timeline, step)}, free
        changes = sorted(some, key=lambda each: (each[3] > each[2], each[1] not in own))
        for _, owner, held, wanted, leaves in changes:
            if wanted < held:
                recent = (each for each in (step - 1, step - 2) if (each, owner) in stored)
                until = next(recent, None)
                allocator.shrink(step, owner, wanted, leaves, until=until)
                free_now += held - wanted if until is None else 0
                free += held - wanted
        grown = [each for each in changes if each[3] > each[2]]
        asked = sum(each[3] - each[2] for each in grown if each[1] in own)
        while asked > free_now and (given := allocator.give_back()):
            free_now += given
        for _, owner, held, wanted, leaves in grown:
            while owner not in own and allocator.give_back():
                pass
            allocator.grow(step, owner, held, wanted, leaves)
            free -= wanted - held
        while allocator.give_back():
            pass
        if scratch := sum(each[3] for each in grown if each[1] == SCRATCH):
            allocator.shrink(step + 1, SCRATCH, 0, step + 1)
            free += scratch
    return by_tensor(allocator.placements())


def _overwritten(timeline: Timeline, step: int) -> list[int]:
    """Return the tensors that a step writes blindly; none at the end."""
    rows = slice(*timeline.first[step : step + 2].tolist()) if step < timeline.steps else slice(0)
    result: list[int] = timeline.tensor[rows][timeline.kind[rows] == Access.WRITE].tolist()
    return result


def by_tensor(rows: Placements) -> Placements:
    """Sort by (tensor, begin, tensor page)."""
    return rows.take(np.lexsort((rows.tensor_page, rows.begin, rows.tensor)))


def _events(
    machine: Machine, timeline: Timeline, residency: Residency
) -> Iterator[tuple[int, int, int, int, int]]:
    """Go through changes (step, tensor, pages held, pages wanted, leaves), in the sweep's order.

    The scratch comes in its step alone: that it is gone in the next one needs no saying.
    """
    pages = machine.pages(residency.size_bytes)
    before, after = neighbors(residency, pages)
    starts, ends = np.flatnonzero(pages != before), np.flatnonzero(after == 0)
    leaving = residency.end[ends][np.searchsorted(ends, np.arange(pages.size))]
    busy = np.flatnonzero(timeline.scratch_bytes)
    scratch = machine.pages(timeline.scratch_bytes[busy])
    nothing, nobody = np.zeros_like(busy), np.full_like(busy, SCRATCH)
    step = np.concatenate((residency.begin[starts], residency.end[ends], busy))
    tensor = np.concatenate((residency.tensor[starts], residency.tensor[ends], nobody))
    held = np.concatenate((before[starts], pages[ends], nothing))
    wanted = np.concatenate((pages[starts], np.zeros_like(ends), scratch))
    leaves = np.concatenate((leaving[starts], residency.end[ends], busy + 1))
    growth: Ints = np.maximum(wanted - held, 0)
    # Per step: shrinking tensors, then growing ones (largest first), the scratch last.
    order = np.lexsort((tensor, -growth, tensor == SCRATCH, growth > 0, step))
    columns = (column[order].data for column in (step, tensor, held, wanted, leaves))
    return zip(*columns, strict=True)


def in_ranges(
    machine: Machine, timeline: Timeline, residency: Residency, ranges: Ranges
) -> Placements:
    """Return each row of ``residency`` from its range's first page on, the scratch at the top.

    Raises
    ------
    ScheduleError
        A row lies within no range.
    """
    ranges = ranges.take(np.lexsort((ranges.begin, ranges.tensor)))
    row = row_at(ranges, residency.begin, residency.tensor)
    # Row -1, of none, ends before all.
    inside = residency.end <= np.append(ranges.end, -1)[row]
    if not inside.all():
        k = int(np.flatnonzero(~inside)[0])
        raise ScheduleError(
            f"plan: tensor {residency.tensor[k]} is resident in steps {residency.begin[k]} to "
            f"{residency.end[k] - 1}, and has no range of addresses there"
        )
    busy = np.flatnonzero(timeline.scratch_bytes)
    scratch = machine.pages(timeline.scratch_bytes[busy])
    return Placements(
        tensor=np.concatenate((np.full(busy.size, SCRATCH), residency.tensor)),
        tensor_page=np.zeros(busy.size + len(residency), np.int64),
        pages=np.concatenate((scratch, machine.pages(residency.size_bytes))),
        spm_page=np.concatenate((machine.spm_pages - scratch, ranges.spm_page[row])),
        begin=np.concatenate((busy, residency.begin)),
        end=np.concatenate((busy + 1, residency.end)),
    )
