"""Room given away so far: pages of every step, and time of the DMA channels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spmopt.core.machine import Machine
from spmopt.core.table import Ints
from spmopt.core.timeline import Timeline
from spmopt.policies.gaps import free_pages, in_their_steps
from spmopt.policies.msa.costs import Costs, Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class Channel:
    """Time of every step that copies may still use, and the pages that it moves: (n,)."""

    left_cycles: Floats
    pages: Ints


class Ledger:
    """Free pages and free DMA time of every step.

    Copies move whole pages, each as early in its window as there is time. Both directions
    share one channel unless the machine is duplex.
    """

    def __init__(
        self, machine: Machine, timeline: Timeline, cost: Costs, *, idle_only: bool
    ) -> None:
        """All room but that of scratch and resident operands; all time, or the idle one."""
        self._setup = machine.dma_setup_cycles
        self._page_cycles = float(machine.page_bytes / machine.bytes_per_cycle)
        pinned = in_their_steps(timeline, np.flatnonzero(timeline.required_resident))
        self._free = free_pages(machine, timeline, pinned)
        self._most_pages = 2.0**62 / (self._free.size + 1)  # so that sums fit 64 bits
        # As published: copies run in the whole elapsed time.
        inward = outward = cost.elapsed
        if idle_only:
            compute = timeline.compute_cycles.astype(np.float64)
            inward, outward = compute - cost.incoming, compute - cost.outgoing
            if not machine.duplex:
                inward = inward - cost.outgoing
        self.inward = self._channel(inward)
        self.outward = self._channel(outward) if machine.duplex else self.inward

    def fits(self, begin: int, end: int, pages: int) -> bool:
        """``pages`` are free in every step of [begin, end)."""
        return begin >= end or bool(self._free[begin:end].min() >= pages)

    def take(self, begin: int, end: int, pages: int) -> None:
        """Occupy ``pages`` in the steps [begin, end); a negative number frees them."""
        self._free[begin:end] -= pages

    def room_from(self, begin: int, end: int, pages: int) -> int:
        """First step from which on ``pages`` are free up to ``end``; ``end`` if never."""
        # From the last short step on there is room.
        short = np.flatnonzero(self._free[begin:end] < pages)
        return begin + int(short[-1]) + 1 if short.size else begin

    def room_until(self, begin: int, end: int, pages: int) -> int:
        """First step in [begin, end) where ``pages`` are not free, or ``end``."""
        short = np.flatnonzero(self._free[begin:end] < pages)
        return begin + int(short[0]) if short.size else end

    def latest_copy(self, channel: Channel, begin: int, end: int, pages: int) -> int:
        """Last step from which on ``pages`` can move before ``end``; ``begin - 1`` if none."""
        moved = np.cumsum(channel.pages[begin:end][::-1])
        needed = int(np.searchsorted(moved, pages))
        return end - 1 - needed if needed < moved.size else begin - 1

    def copy(self, channel: Channel, begin: int, end: int, pages: int) -> tuple[Ints, Ints]:
        """Move ``pages`` from step ``begin`` on; there must be time before ``end``.

        Returns
        -------
        step, moved : (k,)
            Steps that move something, and the pages moved up to and with each.
        """
        possible = np.minimum(np.cumsum(channel.pages[begin:end]), pages)
        share = np.diff(possible, prepend=0)
        used = np.flatnonzero(share)
        end = begin + int(used[-1]) + 1
        cycles = self._setup * (share > 0) + share * self._page_cycles
        self._spend(channel, begin, end, cycles[: end - begin])
        return begin + used, possible[used]

    def free_time(self, channel: Channel, step: int, cycles: int) -> None:
        """Give back time of one step; a negative number takes it, free or not."""
        if cycles:
            self._spend(channel, step, step + 1, np.array([-float(cycles)]))

    def _spend(self, channel: Channel, begin: int, end: int, cycles: Floats) -> None:
        channel.left_cycles[begin:end] -= cycles
        channel.pages[begin:end] = self._movable(channel.left_cycles[begin:end])

    def _channel(self, cycles: Floats) -> Channel:
        return Channel(left_cycles=cycles.copy(), pages=self._movable(cycles))

    def _movable(self, cycles: Floats) -> Ints:
        # The sliver keeps a page that fits exactly from being lost to rounding.
        pages = np.floor(np.maximum(cycles - self._setup, 0) / self._page_cycles + 1e-9)
        return np.minimum(pages, self._most_pages).astype(np.int64)
