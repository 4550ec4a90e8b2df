"""Belady's rule where tensors differ in size and in write-back: bytes per step of absence.

After L. A. Belady, "A study of replacement algorithms for a virtual-storage computer", IBM
Systems Journal 5(2), 1966, whose rule is optimal for clean pages of one size only. For those,
to evict the farthest next use is to lose the fewest bytes per page and step of absence. Here
that rate is the rule itself, so that sizes and write-backs count:

* A tensor costs its size if it goes (a load), twice that if it is dirty and DRAM would not
  get these contents anyway (a write-back and a load), nothing if they are not read again; a
  step of absence costs that over the number of steps until the next use.
* Victims are taken by rate, lowest first, until there is room; then those that turn out not
  to be needed remain, the highest rates first (a large victim often makes smaller ones needless).
* An operand is taken in only if it saves more bytes per step than its victims cost. Of one
  step's operands, those that save the most per byte come first, as they do not displace each
  other. Where a required-resident operand or scratch needs their room, the smallest give way.

By pages, victims are trimmed by exactly the pages needed, as long as their rate is below the
operand's. Passes, bypass and prefetch are as in ``belady``.

Measured in bytes moved, without prefetch. On 2000 random traces that only read, of 6 to 16
steps and sizes 1 to 8, whole tensors: ``belady`` is worse than the optimum on 18.9 %, by 2.0 % on
average and up to 1.83 times, this rule on 13.2 %, 1.0 % and 1.39 times. On 579 random problems
with writes, scratch and required-resident operands: 31.4 %, 8.2 % and 3.4 times against 22.3 %, 4.0
% and 2.0 times; against each other, ``belady`` is worse on 17.4 %, this rule on 3.8 %. By pages
both are optimal for traces that only read. ResNet-50 training, 128 MB: 14.64 GB against 11.54 GB,
and by pages 12.19 GB against 10.23 GB; most of that is the order in which operands are taken in,
which alone brings ``belady`` to 11.72 GB.

Tried and not kept, all with operands taken in as listed: farthest first, and needless victims
remain (worse on 17.5 % of the traces that only read); admission by rate instead of bytes per step
(about as that); rates without write-backs (worse on 30.4 % of the problems with writes); the
smallest last victim that covers the rest (worse on 12.5 % of the traces that only read, but on
five networks between 0.6 % fewer and 2.1 % more bytes).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from heapq import heappop, heappush

import numpy as np

from spmopt.core.machine import Machine
from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints
from spmopt.core.timeline import Access, Timeline
from spmopt.policies.belady import distance
from spmopt.policies.policy import rank_outcomes
from spmopt.policies.ranked import Ranking, Simulation
from spmopt.policies.scratchpad import Scratchpad

_FREE, _RELOAD, _WRITE_BACK = 0, 1, 2
"""How often the bytes of a victim cross because it goes."""


def belady_size(problem: Problem, request: Request, *, granularity: str = "tensor") -> Result:
    """Bring in an operand only at the cost of tensors that lose fewer bytes per step.

    The order is the problem's, the mappings are the first that fit. ``granularity`` is ``tensor``,
    or ``page`` to keep heads of tensors.

    Raises
    ------
    InfeasibleError
        An operation fits in none of its mappings.
    """
    return rank_outcomes(problem, request, distance, granularity, keep_by_bytes)


def keep_by_bytes(
    problem: Problem,
    timeline: Timeline,
    ranking: Ranking,
    reserve_pages: int = 0,
    granularity: str = "tensor",
) -> ResidencyPlan:
    """Plan that keeps tensors that save the most bytes per page and step.

    Parameters
    ----------
    problem, timeline, reserve_pages, granularity
        As for :func:`~spmopt.policies.ranked.keep_by_rank`.
    ranking
        By the step of the next use, the number of steps where there is none.
    """
    spm = _Scratchpad(
        problem.machine, timeline.size_bytes, ranking.ranks, partial=granularity == "page"
    )
    return _Simulation(problem, timeline, ranking, reserve_pages, spm).run()


class _Scratchpad(Scratchpad):
    """Ranks are steps of the next use; one heap for each number of crossings."""

    def __init__(
        self, machine: Machine, size_bytes: Ints, ranks: int, *, partial: bool = False
    ) -> None:
        super().__init__(machine, size_bytes, ranks, partial=partial)
        self._crossings = [_RELOAD] * size_bytes.size
        self._heaps: tuple[list[tuple[int, int]], ...] = ([], [], [])

    def set_crossings(self, tensor: int, crossings: int) -> None:
        """Set how often ``tensor`` crosses if it goes; it must be ranked anew."""
        self._crossings[tensor] = crossings

    def rate(self, tensor: int, step: int) -> float:
        """Bytes lost per byte and step of absence, if ``tensor`` goes in ``step``."""
        return self._crossings[tensor] / max(1, self._rank[tensor] - step)

    def make_room(self, pages: int, above: int, step: int) -> None:
        """Evict the cheapest of a rank above ``above`` until ``pages`` are free."""
        if self.partial:
            super().make_room(pages, above, step)
            return
        for tensor in self.cheapest(pages - self.free, above, step, float("inf")) or ():
            self.release(tensor, self._held[tensor], step)

    def cheapest(self, pages: int, above: int, step: int, limit: float) -> list[int] | None:
        """Whole tensors of ``pages`` that cost the fewest bytes per step of absence.

        By rate, then without those that are not needed after all, the dearest rates first. All
        there is where it does not suffice; None when it costs ``limit`` or more.
        """
        taken: list[int] = []
        cost, surplus = 0.0, -pages
        while surplus < 0 and cost < limit:
            tensor = self._top(step)
            if tensor is None or self._rank[tensor] <= above:
                break
            taken.append(tensor)
            heappop(self._heaps[self._crossings[tensor]])
            surplus += self._held[tensor]
            cost += self._size[tensor] * self.rate(tensor, step) if surplus < 0 else 0.0
        for tensor in taken:
            self._push(tensor, self._rank[tensor])
        chosen = self.bytes_needed_of(taken, surplus)
        cost = sum(self._size[tensor] * self.rate(tensor, step) for tensor in chosen)
        return None if cost >= limit else chosen

    def bytes_needed_of(self, taken: list[int], surplus: int) -> list[int]:
        """``taken``, last first, without those that ``surplus`` pages too many make needless."""
        chosen = []
        for tensor in reversed(taken):
            # Not needed after all: a larger victim suffices.
            if self._held[tensor] <= surplus:
                surplus -= self._held[tensor]
            else:
                chosen.append(tensor)
        return chosen

    def pages_held(self, tensor: int) -> int:
        """Resident pages of ``tensor``."""
        return self._held[tensor]

    def trim_below(self, rate: float, pages: int, above: int, step: int) -> None:
        """Trim tensors with a lower rate, the lowest first, until ``pages`` are free."""
        while self.free < pages:
            tensor = self._top(step)
            if tensor is None or self._rank[tensor] <= above or self.rate(tensor, step) >= rate:
                return
            self.release(tensor, pages - self.free, step)

    def _push(self, tensor: int, rank: int) -> None:
        heappush(self._heaps[self._crossings[tensor]], (-rank, tensor))

    def _top(self, step: int) -> int | None:
        best, least = None, float("inf")
        for crossings, heap in enumerate(self._heaps):
            while heap and (
                self._rank[heap[0][1]] != -heap[0][0] or self._crossings[heap[0][1]] != crossings
            ):
                heappop(heap)
            # What is used now has a rank of the present step: it never goes before others.
            if heap and -heap[0][0] > step and self.rate(heap[0][1], step) < least:
                best, least = heap[0][1], self.rate(heap[0][1], step)
        return best


class _Simulation(Simulation):
    """Admits an operand when it saves more bytes per step than its victims cost."""

    _spm: _Scratchpad

    @cached_property
    def _saves_anyway(self) -> list[bool]:
        """(a,) The contents after the access are the last ones, which DRAM must have at the end."""
        timeline = self._timeline
        written = np.flatnonzero(timeline.kind != Access.READ)
        last_write: Ints = np.full(timeline.size_bytes.size, -1, np.int64)
        np.maximum.at(last_write, timeline.tensor[written], written)
        final = np.arange(timeline.tensor.size) >= last_write[timeline.tensor]
        result: list[bool] = (timeline.keep[timeline.tensor] & final).tolist()
        return result

    def _giving_way(self, held: list[int], pages: int) -> list[int]:
        """The smallest that suffice together: evicted operands are streamed now."""
        if self._spm.partial:
            return held
        taken = []
        for tensor in sorted(held, key=self._spm.pages_held):
            if pages > 0:
                taken.append(tensor)
                pages -= self._spm.pages_held(tensor)
        return self._spm.bytes_needed_of(taken, -pages)

    def _admission_order(self, step: int, accesses: range) -> Sequence[int]:
        """Largest saving first: operands of the step do not give way to each other."""
        return sorted(accesses, key=lambda access: -self._saving(step, access))

    def _make_room(self, step: int, access: int, missing: int) -> None:
        spm, needed = self._spm, missing + self._reserve
        rate = self._saving(step, access)
        if spm.partial:
            spm.trim_below(rate, needed, step, step)
        elif rate > 0 and needed <= spm.free + spm.pages_above(step):
            limit = int(self._timeline.size_bytes[self._tensor[access]]) * rate
            for tensor in spm.cheapest(needed - spm.free, step, step, limit) or ():
                spm.release(tensor, missing, step)

    def _saving(self, step: int, access: int) -> float:
        """Bytes saved per byte and step until the next use, if the operand is taken in."""
        above, after = self._above[access], self._after[access]
        if above == step:  # it saves fetches of this step already
            return float("inf")
        return self._crossings(access, dirty=self._written[access]) / (after - step)

    def _crossings(self, access: int, *, dirty: bool) -> int:
        if not self._used_again[access]:
            return _FREE
        # A last write must reach DRAM anyway: going early costs the load alone.
        return _WRITE_BACK if dirty and not self._saves_anyway[access] else _RELOAD

    def _rank(self, tensor: int, access: int) -> None:
        dirty = self._spm.is_dirty(tensor)
        self._spm.set_crossings(tensor, self._crossings(access, dirty=dirty))
        super()._rank(tensor, access)
