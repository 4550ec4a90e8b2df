"""Fill idle DMA time with transfers that may wait, page by page, the most urgent first."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np

from spmopt.assemble.commands import stream_fetches
from spmopt.assemble.cost import sum_up, transfer_cycles
from spmopt.core.machine import Machine
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Timeline
from spmopt.policies.gaps import PageMoves


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


class PageDma:
    """DMA cycles of transfers in whole pages."""

    def __init__(self, machine: Machine) -> None:
        rate = machine.bytes_per_cycle
        self._bytes, self._per_cycles = rate.numerator, rate.denominator
        self.setup, self.page_bytes = machine.dma_setup_cycles, machine.page_bytes

    def cycles(self, size_bytes: int) -> int:
        """Return the cycles of one transfer."""
        return self.setup + -(-size_bytes * self._per_cycles // self._bytes)

    def pages_within(self, cycles: int) -> int:
        """Return the most pages that one transfer moves in so many cycles."""
        return (cycles - self.setup) * self._bytes // self._per_cycles // self.page_bytes


def idle_beside_streams(machine: Machine, timeline: Timeline, held: Ints) -> tuple[Ints, Ints]:
    """Return (n,) DMA cycles that cost no time beside the streams of each step: in, and out.

    With one channel both are the same time. ``held`` (a,) are the bytes resident at each access.
    """
    missing = timeline.size_bytes[timeline.tensor] - held
    into, out = (
        sum_up(timeline.steps, timeline.step, np.where(size, transfer_cycles(machine, size), 0))
        for size in (
            timeline.moved.of(timeline.tensor, missing * fetches)
            for fetches in stream_fetches(timeline)
        )
    )
    if not machine.duplex:
        into = out = into + out
    compute = timeline.compute_cycles
    return np.maximum(compute - into, 0), np.maximum(compute - out, 0)


def moves_at(step: Ints, pages: Ints) -> PageMoves:
    """Return moves of ``pages`` (k,), each in its ``step``."""
    item = np.flatnonzero(pages)
    return PageMoves(item=item, step=step[item], pages=pages[item])


def fill_idle(
    machine: Machine, waiting: Waiting, idle_cycles: Ints, room_pages: Ints
) -> tuple[PageMoves, Ints, Ints]:
    """Move transfers that fit, walking the steps once, earliest ``last`` first.

    In each step the most urgent transfers move as many pages as the idle DMA time takes. Then
    those that may not wait for the next step, or find no room there, are given back, the most
    urgent first: giving back costs the time that it cost before, so the longest windows remain.

    Parameters
    ----------
    waiting
        (k,) transfers.
    idle_cycles, room_pages : (n,)
        DMA time that costs nothing, and free pages, of every step.

    Returns
    -------
    moves, returned, idle_cycles
        Transfers by step, (k,) pages given back, and (n,) idle cycles that are left.
    """
    idle: list[int] = idle_cycles.tolist()
    walk = _IdleWalk(PageDma(machine), waiting, idle, room_pages.tolist())
    walk.run()
    moves = PageMoves.of_rows(walk.moves)
    returned = waiting.pages.copy()
    np.subtract.at(returned, moves.item, moves.pages)
    return moves, returned, np.array(idle, np.int64)


class _IdleWalk:
    """One pass over the steps; the heap holds (last step, transfer)."""

    def __init__(self, dma: PageDma, waiting: Waiting, idle: list[int], room: list[int]) -> None:
        self._dma, self._idle, self._room = dma, idle, [*room, 0]
        self._order: list[int] = np.argsort(waiting.home, kind="stable")[::-1].tolist()
        self._home: list[int] = waiting.home.tolist()
        self._at_home: list[bool] = waiting.at_home.tolist()
        self._pages: list[int] = waiting.pages.tolist()
        self._size: list[int] = waiting.size_bytes.tolist()
        self._last: list[int] = waiting.last.tolist()
        self._left = list(self._pages)
        self._heap: list[tuple[int, int]] = []
        self._pending = 0
        self.moves: list[tuple[int, int, int]] = []

    def run(self) -> None:
        order, step = self._order, 0
        while order or self._heap:
            if not self._heap:
                step = self._home[order[-1]]
            late = []
            while order and self._home[order[-1]] == step:
                item = order.pop()
                if self._at_home[item]:
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
        dma, idle = self._dma, self._idle[step]
        while self._heap and idle > dma.setup:
            item = self._heap[0][1]
            pages = self._left[item]
            whole = pages == self._pages[item]
            cycles = dma.cycles(self._size[item] if whole else pages * dma.page_bytes)
            if cycles <= idle:
                heappop(self._heap)
            else:
                pages = dma.pages_within(idle)
                if not pages:
                    break
                cycles = dma.cycles(pages * dma.page_bytes)
            self._left[item] -= pages
            self._pending -= pages
            idle -= cycles
            self.moves.append((item, step, pages))
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
