"""Batches: consecutive operations whose operands fit in half of the scratchpad together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spmopt.assemble.cost import summed
from spmopt.core.machine import Machine
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Timeline
from spmopt.policies.double_buffer.cuts import Need


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
    begin = Need(timeline=timeline, pages=pages, scratch=scratch, half=half).begins()
    return Batches(
        begin=begin, alone=~fits[begin[:-1]], held=timeline.stationary | fits[timeline.step]
    )
