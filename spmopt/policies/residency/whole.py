"""The simulation that LRU and Belady share: whole tensors, admitted and evicted by rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spmopt.core.instance import Instance
from spmopt.core.plan import Plan
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access, Timeline
from spmopt.policies.residency.scratchpad import Scratchpad


@dataclass(frozen=True, kw_only=True, eq=False)
class Ranking:
    """The choices of a policy; the resident tensor of the highest rank is evicted first.

    Attributes
    ----------
    now : (n,)
        Rank during a step of the tensors that it uses; below that of all others.
    after : (a,)
        Rank after an access, until the next one.
    admit_above : (a,)
        To take in an operand, only tensors of a rank above this may go; without enough of
        them it is streamed.
    """

    now: Ints
    after: Ints
    admit_above: Ints


def keep_whole(
    instance: Instance, timeline: Timeline, ranking: Ranking, reserve_pages: int = 0
) -> Plan:
    """Plan that keeps whole tensors by ``ranking``; each step transfers at its use.

    In each step, in this order: room for the scratch and the stationary operands (by rank,
    then from the step's other operands, which are streamed instead); the other operands, as
    listed, are taken in whole where that fits, otherwise streamed; a result that nothing
    needs is not taken in. After the step a tensor whose contents are dead, or clean and of no
    further use, is dropped. A dirty victim is stored in the step before it goes. Admission leaves
    ``reserve_pages`` free; for stationary operands only as far as unused tensors can go.
    """
    return _Simulation(instance, timeline, ranking, reserve_pages).run()


class _Simulation:
    def __init__(
        self, instance: Instance, timeline: Timeline, ranking: Ranking, reserve_pages: int
    ) -> None:
        self._reserve = reserve_pages
        page = instance.machine.page_bytes
        pages = -(-timeline.size_bytes // page)
        ranks = int(max(ranking.now.max(initial=0), ranking.after.max(initial=0))) + 1
        self._spm = Scratchpad(pages, instance.machine.spm_pages, ranks)
        self._timeline = timeline
        self._pages: list[int] = pages.tolist()
        self._scratch: list[int] = (-(-timeline.scratch_bytes // page)).tolist()
        self._tensor: list[int] = timeline.tensor.tolist()
        self._stationary: list[bool] = timeline.stationary.tolist()
        self._written: list[bool] = (timeline.kind != Access.READ).tolist()
        self._live: list[bool] = timeline.live_after.tolist()
        self._used_again: list[bool] = _used_again(timeline).tolist()
        self._wanted: list[bool] = ((timeline.kind != Access.WRITE) | timeline.live_after).tolist()
        self._now: list[int] = ranking.now.tolist()
        self._after: list[int] = ranking.after.tolist()
        self._above: list[int] = ranking.admit_above.tolist()

    def run(self) -> Plan:
        timeline, spm = self._timeline, self._spm
        first = timeline.first.tolist()
        for step in range(timeline.steps):
            accesses = range(first[step], first[step + 1])
            self._pin(step, accesses)
            spm.free -= self._scratch[step]
            self._admit_others(step, accesses)
            self._settle(step, accesses)
            spm.free += self._scratch[step]
        for tensor in range(timeline.size_bytes.size):
            if spm.holds(tensor):
                spm.evict(tensor, timeline.steps)
        residency, stores = spm.tables(timeline.size_bytes)
        return Plan(
            operation=timeline.operation, mode=timeline.mode, residency=residency, stores=stores
        )

    def _pin(self, step: int, accesses: range) -> None:
        """Protect what is resident; admit the stationary operands, whatever has to go."""
        spm, now, missing = self._spm, self._now[step], []
        needed = self._scratch[step]
        for access in accesses:
            tensor = self._tensor[access]
            if spm.holds(tensor):
                spm.rerank(tensor, now)
            elif self._stationary[access]:
                missing.append(tensor)
                needed += self._pages[tensor]
        if spm.free < needed + self._reserve:
            spm.make_room(needed + self._reserve, now, step)
        for access in accesses:
            if spm.free >= needed:
                break
            if not self._stationary[access] and spm.holds(self._tensor[access]):
                spm.evict(self._tensor[access], step)
        for tensor in missing:
            spm.admit(tensor, step, now)

    def _admit_others(self, step: int, accesses: range) -> None:
        spm = self._spm
        for access in accesses:
            tensor = self._tensor[access]
            if spm.holds(tensor) or not self._wanted[access]:
                continue
            needed, above = self._pages[tensor] + self._reserve, self._above[access]
            if needed > spm.free:
                if needed > spm.free + spm.pages_above(above):
                    continue
                spm.make_room(needed, above, step)
            spm.admit(tensor, step, self._now[step])

    def _settle(self, step: int, accesses: range) -> None:
        """Note what was written, drop what is of no use, rank the rest."""
        spm = self._spm
        for access in accesses:
            tensor = self._tensor[access]
            if not spm.holds(tensor):
                continue
            if self._written[access]:
                spm.soil(tensor)
            if self._used_again[access] or (self._live[access] and spm.is_dirty(tensor)):
                spm.rerank(tensor, self._after[access])
            else:
                spm.drop(tensor, step + 1)


def _used_again(timeline: Timeline) -> Bools:
    """(a,) The contents after the access are read later."""
    again: Bools = timeline.live_after & (timeline.next >= 0)
    return again


def next_use(timeline: Timeline) -> Ints:
    """(a,) Step that next reads the contents after each access, or the number of steps."""
    again = _used_again(timeline)
    step = np.full(timeline.tensor.size, timeline.steps, np.int64)
    step[again] = timeline.step[timeline.next[again]]
    return step
