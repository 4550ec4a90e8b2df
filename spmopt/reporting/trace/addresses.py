"""What lies where in the scratchpad, as lanes of a process; each bank is a process.

A lane is a place of addresses: what follows in it lies near what was there before. No two things
of a lane are there at once, so that a viewer shows each as a slice; there are as many lanes as
there are ranges of addresses in use at once.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from heapq import heappop, heappush

import numpy as np

from spmopt.core.table import Ints
from spmopt.reporting.headings import bank_names
from spmopt.reporting.occupancy import KINDS, SCRATCH, kind_numbers
from spmopt.reporting.quantities import capacity, si
from spmopt.reporting.schedule_view.residencies import Residencies
from spmopt.reporting.trace.events import BANKS, Event, Group
from spmopt.reporting.trace.reasons import reasons

ON_CHIP = "bytes on chip"


def address_events(group: Group) -> Iterator[Event]:
    """Yield a process for the scratchpad, or for each of its banks, each lane in order of time."""
    machine, low = group.picture.problem.machine, 0
    names = bank_names(machine) or (capacity(machine.spm_bytes),)
    for bank, (name, pages) in enumerate(zip(names, machine.bank_pages, strict=True)):
        place = f"bank {bank}, {name}" if machine.banks else f"scratchpad, {name}"
        title = f"{group.title}: {place}, by addresses"
        yield from _Bank(group, bank, (low, low + pages)).events(title)
        low += pages


class _Bank:
    """Makes the events of pages [low, high)."""

    def __init__(self, group: Group, bank: int, pages: tuple[int, int]) -> None:
        self._group, (low, high) = group, pages
        self._process = group.process(BANKS + bank)
        rows = group.picture.residencies
        self._rows = rows = _within(rows, low, high)
        self._low, self._page = low, group.picture.problem.machine.page_bytes
        lane = lanes(rows)
        self._order = np.lexsort((rows.start, lane))
        self._lane = lane

    def events(self, title: str) -> Iterator[Event]:
        yield from self._process.with_name(title, self._process.pid)
        yield from self._names()
        yield from self._slices()
        yield from self._counter()

    def _names(self) -> Iterator[Event]:
        """Yield lanes, called by the addresses that ever lie in them."""
        rows, count = self._rows, int(self._lane.max(initial=-1)) + 1
        low = np.full(count, np.iinfo(np.int64).max)
        np.minimum.at(low, self._lane, rows.page)
        high = np.zeros(count, np.int64)
        np.maximum.at(high, self._lane, rows.page + rows.pages)
        for lane, ends in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
            first, last = (si((end - self._low) * self._page, "B") for end in ends)
            yield from self._process.thread(lane + 1, f"{first} to {last}", lane)

    def _slices(self) -> Iterator[Event]:
        rows, picture, page = self._rows.take(self._order), self._group.picture, self._page
        spans = zip(self._group.ns(rows.start), self._group.ns(rows.stop), strict=True)
        lanes = self._lane[self._order].tolist()
        kinds = [*(KINDS[kind] for kind in kind_numbers(picture.problem).tolist()), SCRATCH]
        why = reasons(self._group, rows.tensor, rows.begin, rows.end, (rows.came, rows.left))
        for lane, span, row, said in zip(lanes, spans, rows.rows(), why, strict=True):
            tensor, first, pages, tensor_page, begin, end = row[:6]
            name = picture.view.name(tensor)
            shown = f"scratch of {self._group.operations[begin]}" if tensor < 0 else name
            args: Event = {
                "tensor": name,
                "kind": kinds[tensor],
                "address": first * page,
                "bytes": pages * page,
                "offset": tensor_page * page,
                "steps": f"{begin} to {end - 1}",
                **said,
            }
            yield self._process.slice(lane + 1, "residency", shown, span, args)

    def _counter(self) -> Iterator[Event]:
        """Yield bytes of pages in use as steps change them, and nothing at the end."""
        change = np.zeros(len(self._group.edges), np.int64)
        np.add.at(change, self._rows.begin, self._rows.pages)
        np.subtract.at(change, self._rows.end, self._rows.pages)
        used = np.cumsum(change) * self._page
        for step in np.flatnonzero(np.append(True, used[1:] != used[:-1])).tolist():
            held = {"bytes": int(used[step])}
            yield self._process.counter(ON_CHIP, self._group.edges[step], held)


def _within(rows: Residencies, low: int, high: int) -> Residencies:
    """Return what lies in pages [low, high)."""
    first, last = np.maximum(rows.page, low), np.minimum(rows.page + rows.pages, high)
    columns = {name: getattr(rows, name) for name in rows.names()}
    columns |= {"page": first, "pages": last - first}
    columns["tensor_page"] = rows.tensor_page + first - rows.page
    return Residencies(**columns).take(first < last)


def lanes(rows: Residencies) -> Ints:
    """Return (r,) a lane for each rectangle, from low addresses to high ones.

    One after the other in time each takes, of the lanes that are free, the one in which something
    lay nearest to it.
    """
    lane = np.zeros(len(rows), np.int64)
    free: list[tuple[int, int]] = []  # page and lane
    taken: list[tuple[int, int, int]] = []  # until when, page and lane
    count = 0
    columns = (rows.start, rows.stop, rows.page)
    order = np.lexsort((rows.page, rows.start)).tolist()
    spans = list(zip(*(each.tolist() for each in columns), strict=True))
    for row in order:
        start, stop, page = spans[row]
        while taken and taken[0][0] <= start:
            insort(free, heappop(taken)[1:])
        if free:
            at = bisect_left(free, (page, -1))
            near = [k for k in (at - 1, at) if 0 <= k < len(free)]
            _, lane[row] = free.pop(min(near, key=lambda k: abs(free[k][0] - page)))
        else:
            lane[row], count = count, count + 1
        heappush(taken, (stop, page, int(lane[row])))
    return _by_address(rows, lane, count)


def _by_address(rows: Residencies, lane: Ints, count: int) -> Ints:
    """Number lanes by their mean address over time."""
    weight = (rows.stop - rows.start).astype(float) + 1e-9
    total = np.bincount(lane, weight, count)
    mean = np.bincount(lane, weight * rows.page, count) / np.maximum(total, 1e-9)
    rank: Ints = np.argsort(np.argsort(mean, kind="stable"), kind="stable")
    return rank[lane]
