"""Residencies in the scratchpad as lanes of a process; each bank is a process.

A lane is a place of addresses: residencies that follow each other in it are near. No two of a
lane are there at once, so that a viewer shows each as a slice; there are as many lanes as
there are ranges of addresses in use at once.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import replace
from heapq import heappop, heappush

import numpy as np

from spmopt.core.table import Ints
from spmopt.reporting.headings import bank_names
from spmopt.reporting.occupancy import KINDS, SCRATCH, kind_numbers
from spmopt.reporting.quantities import capacity, si
from spmopt.reporting.schedule_view.residencies import Came, Left, Residencies, next_use
from spmopt.reporting.trace.events import BANKS, Event, Group, Process


def address_events(group: Group) -> Iterator[Event]:
    """Yield a process for the scratchpad, or for each of its banks, each lane in order of time."""
    machine, low = group.picture.problem.machine, 0
    names = bank_names(machine) or (capacity(machine.spm_bytes),)
    for bank, (name, pages) in enumerate(zip(names, machine.bank_pages, strict=True)):
        place = f"bank {bank}, {name}" if machine.banks else f"scratchpad, {name}"
        process = group.process(BANKS + bank)
        yield from process.with_name(f"{group.title}: {place}, by addresses", process.pid)
        yield from _lane_events(group, process, _within(group.picture.residencies, low, pages), low)
        low += pages


def _lane_events(group: Group, process: Process, rows: Residencies, low: int) -> Iterator[Event]:
    """Yield names of lanes, by the addresses that ever lie in them, and slices lane by lane."""
    lane, page = lanes(rows), group.picture.problem.machine.page_bytes
    for each in range(int(lane.max(initial=-1)) + 1):
        own = rows.take(lane == each)
        ends = own.page.min() - low, (own.page + own.pages).max() - low
        since, until = (si(int(end) * page, "B") for end in ends)
        yield from process.thread(each + 1, f"{since} to {until}", each)
    order = np.lexsort((rows.start, lane))
    rows = rows.take(order)
    kinds = [*(KINDS[kind] for kind in kind_numbers(group.picture.problem).tolist()), SCRATCH]
    spans = zip(group.ns(rows.start), group.ns(rows.stop), strict=True)
    again = next_use(group.picture.view, rows.tensor, rows.end - 1)
    columns = zip(lane[order].tolist(), spans, rows.rows(), again.tolist(), strict=True)
    for each, span, row, later in columns:
        tensor, first, pages, tensor_page, begin, end, _, _, came, left, following = row
        name = group.picture.view.name(tensor)
        operation = group.operations[begin]
        args: Event = {
            "tensor": name,
            "kind": kinds[tensor],
            "address": first * page,
            "bytes": pages * page,
            "offset": tensor_page * page,
            "steps": f"{begin} to {end - 1}",
            "came": f"{Came(came).words} in {operation}",
            "went": Left(left).words,
            "used next": _step_words(group, following),
            "needed again": _step_words(group, later),
        }
        shown = f"scratch of {operation}" if tensor < 0 else name
        yield process.slice(each + 1, "residency", shown, span, args)


def _step_words(group: Group, step: int) -> str:
    return "never" if step < 0 else f"{group.operations[step]} (step {step})"


def _within(rows: Residencies, low: int, pages: int) -> Residencies:
    """Return the parts of residencies in pages [low, low + pages)."""
    first, last = np.maximum(rows.page, low), np.minimum(rows.page + rows.pages, low + pages)
    offset = rows.tensor_page + first - rows.page
    return replace(rows, page=first, pages=last - first, tensor_page=offset).take(first < last)


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
    spans = list(zip(*(each.tolist() for each in columns), strict=True))
    for row in np.lexsort((rows.page, rows.start)).tolist():
        start, stop, page = spans[row]
        # What ends as this one begins has freed its lane.
        while taken and taken[0][0] <= start:
            insort(free, heappop(taken)[1:])
        if free:
            at = bisect_left(free, (page, -1))
            # Sorted by page: the nearest free lane is one of two neighbors.
            near = [k for k in (at - 1, at) if 0 <= k < len(free)]
            _, lane[row] = free.pop(min(near, key=lambda k: abs(free[k][0] - page)))
        else:
            lane[row], count = count, count + 1
        heappush(taken, (stop, page, int(lane[row])))
    # Lanes are numbered by their mean address over time.
    # Residencies of no time would make the mean undefined.
    weight = (rows.stop - rows.start).astype(float) + 1e-9
    mean = np.bincount(lane, weight * rows.page, count) / np.bincount(lane, weight, count)
    rank: Ints = np.argsort(np.argsort(mean, kind="stable"), kind="stable")
    return rank[lane]
