"""A DMA channel that runs beside the computation, first in, first out, as it is asked.

Loads and stores of residency rows are *asked for* at a step each, and then move as the channel
gets to them:

* A load asked for at step ``i`` takes the room of the whole tensor from then on. While that is
  not free until its use, or the tensor is not yet in DRAM, it is put off to the next step. At its
  use, missing bytes are loaded on demand, before everything that waits.
* A store asked for at the end of its row's last use moves from the next step on and holds the room
  of bytes still to go. Bytes that find no room in the next step, or are needed in DRAM there, are
  stored at once.

In each step the channel serves urgent transfers (streams, loads on demand, stores at once) and
then, as long as that costs no time (R6), waiting ones.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from spmopt.core.machine import Machine
from spmopt.core.table import Bools, Ints
from spmopt.policies.gaps import PageMoves
from spmopt.policies.idle import PageDma
from spmopt.policies.rows import WholeRows

_IN, _OUT = 0, 1
_UNKNOWN = -1
_Queue = deque[tuple[int, bool]]
"""Rows, and whether each is there for its load."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RequestedTimes:
    """Columns over rows (k): when each is asked for.

    Attributes
    ----------
    load
        First step in which the row's load may move; its first use for one on demand.
    store
        Step at the end of which its store is asked for.
    needed
        Last step in which the store may move, from ``store`` on: later steps need it.
    gone
        First step from which the row holds no room, but for its store.
    """

    load: Ints
    store: Ints
    needed: Ints
    gone: Ints


def run_channel(
    machine: Machine, rows: WholeRows, asked: RequestedTimes, idle: tuple[Ints, Ints], room: Ints
) -> tuple[PageMoves, PageMoves]:
    """PageMoves of all loads, and of all stores; ``item`` is the row.

    ``idle`` (n,) are the DMA cycles inward and outward that cost no time, ``room`` (n,) the free
    pages.
    """
    walk = _ChannelWalk(machine, rows, asked, idle, room)
    for step in range(room.size):
        walk.ask(step)
        walk.serve_at_once(step)
        waiting = walk.store_or_wait(step)
        walk.move(step)
        walk.end(step, waiting)
    return PageMoves.of_rows(walk.loads), PageMoves.of_rows(walk.stores)


class _ChannelWalk:
    """The state of the channel; waiting transfers stand in a queue, one a direction if duplex."""

    def __init__(
        self,
        machine: Machine,
        rows: WholeRows,
        asked: RequestedTimes,
        idle: tuple[Ints, Ints],
        room: Ints,
    ) -> None:
        self._dma, self._rows, self._room = PageDma(machine), rows, np.append(room, 0)
        self._idle: tuple[list[int], list[int]] = (idle[0].tolist(), idle[1].tolist())
        self._queue: tuple[_Queue, _Queue] = (deque(), deque())
        self._lanes: tuple[int, ...] = (_IN, _OUT)
        if not machine.duplex:
            self._idle, self._queue = (self._idle[0],) * 2, (self._queue[0],) * 2
            self._lanes = (_IN,)
        self._pages: list[int] = rows.pages.tolist()
        self._size: list[int] = rows.size_bytes.tolist()
        self._use: list[int] = rows.first_use.tolist()
        self._before: list[int] = rows.previous_row.tolist()
        self._needed: list[int] = asked.needed.tolist()
        # First step without the row; of a row to be stored it is known when that is done.
        # A stored row is away once its last byte is, known only as the walk goes.
        self._clear: list[int] = np.where(rows.stores, _UNKNOWN, asked.gone).tolist()
        self._loading = [False] * len(self._pages)  # which way the row waits, or moved last
        self._left: list[int] = [0] * len(self._pages)
        self._storing: deque[int] = deque()
        self._pending = 0
        steps = room.size
        self._asked_loads = _by_step(steps, asked.load, rows, rows.loads)
        self._due_loads = _by_step(steps, rows.first_use, rows, rows.loads)
        self._asked_stores = _by_step(steps, asked.store, rows, rows.stores)
        self._due_stores = _by_step(steps, asked.needed, rows, rows.stores)
        self.loads: list[tuple[int, int, int]] = []
        self.stores: list[tuple[int, int, int]] = []

    def ask(self, step: int) -> None:
        """Queue the loads on this step's list, or put them on the list of a later one."""
        for row in self._asked_loads[step]:
            later = self._put_off(step, row)
            if later == step:
                self._room[step : self._use[row]] -= self._pages[row]
                self._loading[row], self._left[row] = True, self._pages[row]
                self._queue[_IN].append((row, True))
            elif later < self._use[row]:
                self._asked_loads[later].append(row)

    def serve_at_once(self, step: int) -> None:
        """Load operands of the step on demand, and store those needed next.

        As far as still to do.
        """
        for row in self._due_loads[step]:
            pages = self._left[row] if self._loading[row] else self._pages[row]
            self._loading[row], self._left[row] = True, pages
            if pages:
                self._take(step, row, pages, serial=bool(self._rows.pinned_load[row]))
        for row in self._due_stores[step]:
            if self._clear[row] == _UNKNOWN and not self._loading[row] and self._left[row]:
                self._take(step, row, self._left[row])

    def store_or_wait(self, step: int) -> list[int]:
        """Rows asked to be stored that may wait; the rest of them is stored now."""
        waiting = []
        for row in self._asked_stores[step]:
            pages = self._pages[row]
            room = int(self._room[step + 1]) - self._pending if self._needed[row] > step else 0
            now = pages - min(pages, max(room, 0))
            self._loading[row], self._left[row] = False, pages
            self._pending += pages
            if now:
                serial = self._rows.pinned_store[row] and self._rows.last_write[row] == step
                self._take(step, row, now, serial=bool(serial))
            if now < pages:
                waiting.append(row)
        return waiting

    def move(self, step: int) -> None:
        """Move waiting transfers in idle time."""
        for lane in self._lanes:
            queue, idle = self._queue[lane], self._idle[lane]
            while queue and idle[step] > self._dma.setup:
                row, loads = queue[0]
                pages = self._left[row] if loads == self._loading[row] else 0
                if pages and self._cycles(row, pages) > idle[step]:
                    pages = self._dma.pages_within(idle[step])
                    if not pages:
                        break
                if pages:
                    self._take(step, row, pages)
                # Loaded on demand or stored at once meanwhile: the entry is stale.
                if loads != self._loading[row] or not self._left[row]:
                    queue.popleft()

    def end(self, step: int, waiting: list[int]) -> None:
        """Let ``waiting`` stand in the queue.

        Store at once the bytes that find no room in the next step.
        """
        self._queue[_OUT].extend((row, False) for row in waiting)
        self._storing.extend(waiting)
        while self._storing and self._pending > self._room[step + 1]:
            row = self._storing[0]
            pages = min(self._left[row], self._pending - int(self._room[step + 1]))
            if self._loading[row] or not self._left[row]:
                self._storing.popleft()
            elif pages:
                self._take(step, row, pages)

    def _put_off(self, step: int, row: int) -> int:
        """First step from ``step`` on in which the load may be tried; ``step`` if it fits."""
        use, pages, before = self._use[row], self._pages[row], self._before[row]
        if step >= use:
            return use
        if before >= 0:
            # One step without the tensor: else it would be no load but a part kept.
            clear = self._clear[before]
            if clear == _UNKNOWN or clear >= step:
                return max(clear, step) + 1
        # Only the last full step matters: room is needed from the load to the use.
        full = np.flatnonzero(self._room[step:use] < pages)
        if full.size:
            return step + int(full[-1]) + 1
        return step if pages + self._pending <= self._room[step] else step + 1

    def _take(self, step: int, row: int, pages: int, serial: bool = False) -> None:
        """Move ``pages`` of the row in ``step``; serial ones need time beside the computation."""
        cycles = self._cycles(row, pages)
        self._left[row] -= pages
        lane = _IN if self._loading[row] else _OUT
        if not serial:
            self._idle[lane][step] = max(0, self._idle[lane][step] - cycles)
        if self._loading[row]:
            self.loads.append((row, step, pages))
            return
        self.stores.append((row, step, pages))
        self._pending -= pages
        if not self._left[row]:
            self._clear[row] = step + 1

    def _cycles(self, row: int, pages: int) -> int:
        whole = pages == self._pages[row]
        return self._dma.cycles(self._size[row] if whole else pages * self._dma.page_bytes)


def _by_step(steps: int, at: Ints, rows: WholeRows, chosen: Bools) -> list[list[int]]:
    """Rows by step, those first used first."""
    found: list[list[int]] = [[] for _ in range(steps)]
    row = np.flatnonzero(chosen)
    for index in row[np.argsort(rows.first_use[row], kind="stable")].tolist():
        found[at[index]].append(index)
    return found
