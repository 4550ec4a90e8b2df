"""Batches: consecutive operations whose operands fit in half of the scratchpad together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spmopt.assemble.cost import summed
from spmopt.core.machine import Machine
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Timeline

_SHORT = 64
_UNKNOWN = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class Batches:
    """Batches (g) of steps (n) and what each of their accesses (a) holds.

    Attributes
    ----------
    begin : (g + 1,)
        Steps of batch ``b`` are ``begin[b]:begin[b + 1]``.
    alone : (g,) bool
        Its one operation needs more than half of the scratchpad.
    held : (a,) bool
        The operand is in the scratchpad during the step; else it streams.
    """

    begin: Ints
    alone: Bools
    held: Bools

    @cached_property
    def of_step(self) -> Ints:
        """(n,) Batch of each step."""
        return np.repeat(np.arange(self.alone.size), np.diff(self.begin))

    @cached_property
    def beside(self) -> Bools:
        """(g,) Each batch is loaded during the one before it, whose results leave during it."""
        open_before = ~self.alone
        open_before[1:] &= ~self.alone[:-1]
        open_before[0] = False
        return open_before

    @cached_property
    def last_chance(self) -> Ints:
        """(g,) Last step in which what a batch uses may be loaded."""
        return np.where(self.beside, self.begin[:-1] - 1, self.begin[:-1])


def batches(machine: Machine, timeline: Timeline) -> Batches:
    """Cut the steps into batches, each as long as half of the scratchpad lets it be.

    The half holds every tensor of the batch once, and the largest scratch of its operations. An
    operation that needs more is a batch of its own, in the whole of the scratchpad; those of its
    operands that need not be there then stream.
    """
    page, half = machine.page_bytes, machine.spm_pages // 2
    pages = -(-timeline.size_bytes // page)[timeline.tensor]
    scratch = -(-timeline.scratch_bytes // page)
    need = summed(timeline.steps, timeline.step, pages) + scratch
    fits = need <= half
    begin = _Need(timeline=timeline, pages=pages, scratch=scratch, half=half).begins()
    return Batches(
        begin=begin, alone=~fits[begin[:-1]], held=timeline.stationary | fits[timeline.step]
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Need:
    """Pages that a batch needs: each of its tensors once, and its largest scratch.

    Attributes
    ----------
    timeline
    pages : (a,)
        Of the tensor of each access.
    scratch : (n,)
        Pages of each step.
    half
        Pages that there are.
    """

    timeline: Timeline
    pages: Ints
    scratch: Ints
    half: int

    def begins(self) -> Ints:
        """(g + 1,) First step of every batch, and the number of steps."""
        ends: list[int] = self._short_ends().tolist()
        begin, found = 0, [0]
        while begin < len(ends):
            begin = ends[begin] or self._long_end(begin)
            found.append(begin)
        return np.array(found, np.int64)

    def _short_ends(self) -> Ints:
        """(n,) End of the batch that would begin with each step, if that is soon.

        Batches of all steps grow at once: with their next step all get the pages of those of its
        accesses that have none of the same tensor so few steps before.
        """
        line, steps = self.timeline, self.timeline.steps
        lag = np.where(line.previous >= 0, line.step - line.step[line.previous], _SHORT)
        lag = np.minimum(lag, _SHORT).astype(np.uint8)
        by_lag = np.argsort(lag, kind="stable")
        groups = np.searchsorted(lag[by_lag], np.arange(_SHORT + 1))
        new = summed(steps, line.step, self.pages)
        ends = np.full(steps, _UNKNOWN, np.int64)
        begin, taken, most = np.arange(steps), new.copy(), self.scratch
        for length in range(1, _SHORT):
            same = by_lag[groups[length] : groups[length + 1]]
            np.subtract.at(new, line.step[same], self.pages[same])
            if begin[-1] + length == steps:
                ends[begin[-1]] = steps
                begin, taken, most = begin[:-1], taken[:-1], most[:-1]
            following = begin + length
            taken = taken + new[following]
            most = np.maximum(most, self.scratch[following])
            fits = taken + most <= self.half
            ends[begin[~fits]] = following[~fits]
            begin, taken, most = begin[fits], taken[fits], most[fits]
            if not begin.size:
                break
        return ends

    def _long_end(self, begin: int) -> int:
        """End of the batch that begins with a step, in stretches that double."""
        line, steps = self.timeline, self.timeline.steps
        low, width, taken, most = begin, 4 * _SHORT, 0, 0
        while low < steps:
            high = min(low + width, steps)
            ends = line.first[low : high + 1]
            own = slice(int(ends[0]), int(ends[-1]))
            previous = line.previous[own]
            new = (previous < 0) | (line.step[previous] < begin)
            total = taken + np.append(0, np.cumsum(self.pages[own] * new))[ends[1:] - ends[0]]
            peak = np.maximum(np.maximum.accumulate(self.scratch[low:high]), most)
            over = np.flatnonzero(total + peak > self.half)
            if over.size:
                return low + int(over[0])
            taken, most = int(total[-1]), int(peak[-1])
            low, width = high, 2 * width
        return steps
