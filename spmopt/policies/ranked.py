"""The simulation that most rules share: tensors are admitted and evicted by rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spmopt.core.problem import Problem
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access, Timeline
from spmopt.policies.scratchpad import Scratchpad


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

    @property
    def ranks(self) -> int:
        """One more than the highest rank."""
        return int(max(self.now.max(initial=0), self.after.max(initial=0))) + 1


def keep_by_rank(
    problem: Problem,
    timeline: Timeline,
    ranking: Ranking,
    reserve_pages: int = 0,
    granularity: str = "tensor",
) -> ResidencyPlan:
    """Plan that keeps tensors by ``ranking``; each step transfers at its use.

    In each step, in this order: room for the scratch and the required-resident operands (by rank,
    then from the step's other operands, which are streamed instead); the other operands, as
    listed, are taken in whole where that fits, otherwise streamed; a result that nothing
    needs is not taken in. After the step a tensor whose contents are dead, or clean and of no
    further use, is dropped. A dirty victim is stored in the step before it goes. Admission leaves
    ``reserve_pages`` free; for required-resident operands only as far as unused tensors can go.

    With ``granularity`` ``page`` heads of tensors, by pages: a victim is trimmed from its tail by
    the pages that are needed, and those of them that DRAM lacks are written back. Of an operand
    as much is taken in as there is room for, and the rest is streamed; its resident part stays, and
    grows.
    """
    spm = Scratchpad(
        problem.machine, timeline.size_bytes, ranking.ranks, partial=granularity == "page"
    )
    return Simulation(problem, timeline, ranking, reserve_pages, spm).run()


class Simulation:
    """Walks the steps once; ``spm`` says whether tensors remain whole, and who goes first."""

    def __init__(
        self,
        problem: Problem,
        timeline: Timeline,
        ranking: Ranking,
        reserve_pages: int,
        spm: Scratchpad,
    ) -> None:
        self._reserve = reserve_pages
        self._spm = spm
        self._timeline = timeline
        self._scratch: list[int] = problem.machine.pages(timeline.scratch_bytes).tolist()
        self._tensor: list[int] = timeline.tensor.tolist()
        self._required_resident: list[bool] = timeline.required_resident.tolist()
        self._written: list[bool] = (timeline.kind != Access.READ).tolist()
        self._live: list[bool] = timeline.live_after.tolist()
        self._used_again: list[bool] = is_used_again(timeline).tolist()
        self._wanted: list[bool] = ((timeline.kind != Access.WRITE) | timeline.live_after).tolist()
        self._now: list[int] = ranking.now.tolist()
        self._after: list[int] = ranking.after.tolist()
        self._above: list[int] = ranking.admit_above.tolist()

    def run(self) -> ResidencyPlan:
        """The residency plan."""
        timeline, spm = self._timeline, self._spm
        first = timeline.first.tolist()
        for step in range(timeline.steps):
            accesses = range(first[step], first[step + 1])
            self._pin(step, accesses)
            spm.free -= self._scratch[step]
            self._admit_others(step, accesses)
            self._settle(step, accesses)
            spm.free += self._scratch[step]
        spm.empty(timeline.steps)
        residency, stores = spm.tables()
        return ResidencyPlan(steps=timeline.chosen, residency=residency, stores=stores)

    def _pin(self, step: int, accesses: range) -> None:
        """Protect resident tensors; admit the required-resident operands, whatever has to go."""
        spm, now, lacking = self._spm, self._now[step], []
        needed = self._scratch[step]
        for access in accesses:
            tensor = self._tensor[access]
            # Operands of the step rank below all others: they go last.
            if spm.holds(tensor):
                spm.rerank(tensor, now)
            missing = spm.missing(tensor)
            if self._required_resident[access] and missing:
                lacking.append((tensor, missing))
                needed += missing
        if spm.free < needed + self._reserve:
            spm.make_room(needed + self._reserve, now, step)
        # Evicting others did not suffice: operands that may stream give way.
        if spm.free < needed:
            streamed = [self._tensor[a] for a in accesses if not self._required_resident[a]]
            held = [tensor for tensor in streamed if spm.holds(tensor)]
            for tensor in self._giving_way(held, needed - spm.free):
                if spm.free < needed:
                    spm.release(tensor, needed - spm.free, step)
        for tensor, missing in lacking:
            spm.admit(tensor, missing, step, now)

    def _admit_others(self, step: int, accesses: range) -> None:
        spm = self._spm
        for access in self._admission_order(step, accesses):
            tensor = self._tensor[access]
            missing = spm.missing(tensor)
            if not missing or not self._wanted[access]:
                continue
            if missing + self._reserve > spm.free:
                self._make_room(step, access, missing)
            room = spm.free - self._reserve
            if missing <= room:
                spm.admit(tensor, missing, step, self._now[step])
            elif spm.partial and room > 0:
                spm.admit(tensor, room, step, self._now[step])

    def _giving_way(self, held: list[int], pages: int) -> list[int]:
        """Tensors used now, in the order in which they give way for ``pages``."""
        del pages
        return held

    def _admission_order(self, step: int, accesses: range) -> Sequence[int]:
        """The order in which the step's operands are taken in."""
        del step
        return accesses

    def _make_room(self, step: int, access: int, missing: int) -> None:
        """Make room for an operand, at the cost of tensors that the policy values less."""
        spm, above = self._spm, self._above[access]
        needed = missing + self._reserve
        if spm.partial or needed <= spm.free + spm.pages_above(above):
            spm.make_room(needed, above, step)

    def _settle(self, step: int, accesses: range) -> None:
        """Note written tensors, drop dead ones, rank the rest."""
        spm = self._spm
        for access in accesses:
            tensor = self._tensor[access]
            if not spm.holds(tensor):
                continue
            if self._written[access]:
                spm.soil(tensor)
            # Dirty contents that DRAM must get are kept too, though nothing reads them on chip.
            if self._used_again[access] or (self._live[access] and spm.is_dirty(tensor)):
                self._rank(tensor, access)
            else:
                spm.drop(tensor, step + 1)

    def _rank(self, tensor: int, access: int) -> None:
        """Rank tensors that remain after their use."""
        self._spm.rerank(tensor, self._after[access])


def is_used_again(timeline: Timeline) -> Bools:
    """(a,) The contents after the access are read later."""
    again: Bools = timeline.live_after & (timeline.next >= 0)
    return again


def next_use(timeline: Timeline) -> Ints:
    """(a,) Step that next reads the contents after each access, or the number of steps."""
    again = is_used_again(timeline)
    step = np.full(timeline.tensor.size, timeline.steps, np.int64)
    step[again] = timeline.step[timeline.next[again]]
    return step
