"""Fill idle DMA time with transfers that may wait, page by page, the most urgent first.

They wait in windows around the uses of a tensor; bytes without idle time in their window move at
their use.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from heapq import heappop, heappush

import numpy as np

from spmopt.assemble.commands import stream_fetches
from spmopt.assemble.cost import sum_up, transfer_cycles
from spmopt.core.machine import Machine
from spmopt.core.schedule import Residency
from spmopt.core.table import Bools, Ints, Table
from spmopt.core.timeline import Timeline


@dataclass(frozen=True, kw_only=True, eq=False)
class Pieces(Table):
    """Rows "``pages`` pages of transfer ``item`` move in ``step``"."""

    item: Ints
    step: Ints
    pages: Ints


@dataclass(frozen=True, kw_only=True, eq=False)
class Waiting:
    """Transfers that may wait from step ``home`` to step ``last`` (both included).

    A transfer that is not done in its home step holds room for the pages still to be moved
    in each step after that. ``at_home``: idle time of the home step itself may be used.
    """

    home: Ints
    last: Ints
    pages: Ints
    size_bytes: Ints
    at_home: Bools


@dataclass(frozen=True, kw_only=True, eq=False)
class Filled:
    """Transfers by step, (k,) the pages given back, and (n,) the idle cycles that are left."""

    pieces: Pieces
    returned: Ints
    idle_cycles: Ints


def idle_beside_streams(machine: Machine, timeline: Timeline, held: Ints) -> tuple[Ints, Ints]:
    """(n,) DMA cycles that cost no time beside the streams of each step: inward, and outward.

    With one channel both are the same time. ``held`` (a,) are the bytes resident at each access.
    """
    missing = timeline.size_bytes[timeline.tensor] - held
    into, out = (
        sum_up(timeline.steps, timeline.step, np.where(size, transfer_cycles(machine, size), 0))
        for size in (missing * fetches for fetches in stream_fetches(timeline))
    )
    if not machine.duplex:
        into = out = into + out
    compute = timeline.compute_cycles
    return np.maximum(compute - into, 0), np.maximum(compute - out, 0)


def free_pages(machine: Machine, timeline: Timeline, residency: Residency) -> Ints:
    """(n,) Free pages of every step, beside its scratch and resident pages."""
    pages = machine.pages(residency.size_bytes)
    change = np.zeros(timeline.steps + 1, np.int64)
    np.add.at(change, residency.begin, pages)
    np.subtract.at(change, residency.end, pages)
    return machine.spm_pages - machine.pages(timeline.scratch_bytes) - np.cumsum(change)[:-1]


def stores_in_windows(
    machine: Machine, within: Waiting, until: Ints, idle_cycles: Ints, room_pages: Ints
) -> Pieces:
    """Pieces of stores that move up to the last use, and then beyond it.

    Parameters
    ----------
    within
        (k,) From the last write to the last use, where the whole tensor has its room anyway.
    until : (k,)
        Last step of the window beyond, in which pages still to go hold room.
    idle_cycles, room_pages : (n,)
        DMA time that costs nothing, and pages that are free after the last uses.
    """
    no_limit = np.full(room_pages.size, int(within.pages.sum()))
    early = fill_idle(machine, within, idle_cycles, no_limit)
    beyond = replace(
        within,
        home=within.last,
        last=until,
        pages=early.returned,
        size_bytes=np.minimum(early.returned * machine.page_bytes, within.size_bytes),
        at_home=np.zeros(until.size, bool),
    )
    late = fill_idle(machine, beyond, early.idle_cycles, room_pages)
    return Pieces.together(early.pieces, late.pieces, _at(within.last, late.returned))


def loads_in_windows(
    machine: Machine, waiting: Waiting, idle_cycles: Ints, room_pages: Ints
) -> Pieces:
    """Pieces of loads that move backwards in time.

    Parameters
    ----------
    waiting
        (k,) From the use, ``home``, back to the earliest step, ``last``.
    idle_cycles, room_pages : (n,)
        DMA time that costs nothing, and pages that are free before the uses.
    """
    final = room_pages.size - 1
    mirrored = replace(waiting, home=final - waiting.home, last=final - waiting.last)
    filled = fill_idle(machine, mirrored, idle_cycles[::-1], room_pages[::-1])
    pieces = replace(filled.pieces, step=final - filled.pieces.step)
    return Pieces.together(pieces, _at(waiting.home, filled.returned))


def _at(step: Ints, pages: Ints) -> Pieces:
    """Pieces that move pages given back, each in its ``step``."""
    item = np.flatnonzero(pages)
    return Pieces(item=item, step=step[item], pages=pages[item])


def fill_idle(machine: Machine, waiting: Waiting, idle_cycles: Ints, room_pages: Ints) -> Filled:
    """Move transfers that fit, walking the steps once, earliest ``last`` first.

    In each step the most urgent transfers move as many pages as the idle DMA time takes. Then
    whatever may not wait for the next step, or finds no room there, is given back, the most
    urgent first: giving back costs the time that it cost before, so the longest windows stay.

    Parameters
    ----------
    waiting
        (k,) transfers.
    idle_cycles, room_pages : (n,)
        DMA time that costs nothing, and free pages, of every step.
    """
    idle: list[int] = idle_cycles.tolist()
    walk = _IdleWalk(machine, waiting, idle, room_pages.tolist())
    walk.run(np.argsort(waiting.home, kind="stable").tolist(), waiting)
    pieces = Pieces.of_rows(walk.pieces)
    moved = np.zeros(waiting.home.size, np.int64)
    np.add.at(moved, pieces.item, pieces.pages)
    return Filled(
        pieces=pieces, returned=waiting.pages - moved, idle_cycles=np.array(idle, np.int64)
    )


class _IdleWalk:
    """One pass over the steps; the heap holds (last step, transfer)."""

    def __init__(
        self, machine: Machine, waiting: Waiting, idle: list[int], room: list[int]
    ) -> None:
        rate = machine.bytes_per_cycle
        self._bytes, self._per_cycles = rate.numerator, rate.denominator
        self._setup, self._page = machine.dma_setup_cycles, machine.page_bytes
        self._idle, self._room = idle, [*room, 0]
        self._pages: list[int] = waiting.pages.tolist()
        self._size: list[int] = waiting.size_bytes.tolist()
        self._last: list[int] = waiting.last.tolist()
        self._left = list(self._pages)
        self._heap: list[tuple[int, int]] = []
        self._pending = 0
        self.pieces: list[tuple[int, int, int]] = []

    def run(self, order: list[int], waiting: Waiting) -> None:
        home: list[int] = waiting.home.tolist()
        at_home: list[bool] = waiting.at_home.tolist()
        arrived, step = 0, 0
        while arrived < len(order) or self._heap:
            if not self._heap:
                step = home[order[arrived]]
            late = []
            while arrived < len(order) and home[order[arrived]] == step:
                item = order[arrived]
                arrived += 1
                if at_home[item]:
                    self._enter(item)
                else:
                    late.append(item)
            self._move(step)
            for item in late:
                self._enter(item)
            self._give_back(step)
            step += 1

    def _enter(self, item: int) -> None:
        if self._left[item]:
            heappush(self._heap, (self._last[item], item))
            self._pending += self._left[item]

    def _move(self, step: int) -> None:
        idle = self._idle[step]
        while self._heap and idle > self._setup:
            item = self._heap[0][1]
            pages = self._left[item]
            whole = pages == self._pages[item]
            cycles = self._cycles(self._size[item] if whole else pages * self._page)
            if cycles <= idle:
                heappop(self._heap)
            else:
                pages = (idle - self._setup) * self._bytes // self._per_cycles // self._page
                if not pages:
                    break
                cycles = self._cycles(pages * self._page)
            self._left[item] -= pages
            self._pending -= pages
            idle -= cycles
            self.pieces.append((item, step, pages))
        self._idle[step] = idle

    def _give_back(self, step: int) -> None:
        """Shrink waiting transfers to those that may go on to the next step and have room there."""
        room = self._room[step + 1]
        while self._heap:
            last, item = self._heap[0]
            excess = self._left[item] if last <= step else self._pending - room
            if excess <= 0:
                return
            if excess < self._left[item]:
                self._left[item] -= excess
                self._pending -= excess
                # A transfer cut short no longer moves as one whole.
                self._pages[item] = -1
                return
            heappop(self._heap)
            self._pending -= self._left[item]

    def _cycles(self, size_bytes: int) -> int:
        return self._setup + -(-size_bytes * self._per_cycles // self._bytes)
