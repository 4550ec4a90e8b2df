"""Batches: consecutive operations whose operands fit in half of the scratchpad together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush

import numpy as np

from spmopt.assemble.cost import sum_up
from spmopt.core.machine import Machine
from spmopt.core.schedule import Residency
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Timeline
from spmopt.policies.rows import WholeRows, whole_rows


@dataclass(frozen=True, kw_only=True, eq=False)
class Batches:
    """Batches (g) of steps (n) and the pages that each of their accesses (a) holds.

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
        """(g,) Last step in which operands of a batch may be loaded."""
        return np.where(self.beside, self.begin[:-1] - 1, self.begin[:-1])


def batch(machine: Machine, timeline: Timeline, reuse: str) -> tuple[Batches, WholeRows]:
    """Cut the steps into batches, and decide which rows tensors remain for, by the policy's option.

    With ``sums``, partial sums that would return remain from their first to their last use instead,
    first come first served, beside twice the operands of the largest operation; batches share the
    rest.
    """
    kept = np.zeros(timeline.size_bytes.size, bool)
    cut = batches(machine, timeline, kept)
    rows = rows_of_batches(machine, timeline, cut, kept, shared=reuse != "none")
    if reuse == "sums":
        returning = rows.tensor[rows.loads & ~timeline.in_dram[rows.tensor]]
        kept = _first_come(machine, timeline, np.unique(returning))
    if not kept.any():
        return cut, rows
    cut = batches(machine, timeline, kept)
    return cut, rows_of_batches(machine, timeline, cut, kept, shared=True)


def _first_come(machine: Machine, timeline: Timeline, tensors: Ints) -> Bools:
    """(m,) Choose tensors that remain, of those given, by their first uses."""
    pages, scratch = machine.pages(timeline.size_bytes), machine.pages(timeline.scratch_bytes)
    needs = sum_up(timeline.steps, timeline.step, pages[timeline.tensor]) + scratch
    room = machine.spm_pages - 2 * int(needs.max())
    begin, end = (
        timeline.step[accesses[tensors]]
        for accesses in (timeline.first_access, timeline.last_access)
    )
    kept = np.zeros(timeline.size_bytes.size, bool)
    leaving: list[tuple[int, int]] = []
    for number in np.argsort(begin, kind="stable").tolist():
        while leaving and leaving[0][0] < begin[number]:
            room += heappop(leaving)[1]
        size = int(pages[tensors[number]])
        if size <= room:
            room -= size
            heappush(leaving, (int(end[number]), size))
            kept[tensors[number]] = True
    return kept


def _most_kept(machine: Machine, timeline: Timeline, kept: Bools) -> int:
    """Return the pages of tensors that remain, in the step where they are most."""
    pages = np.where(kept, machine.pages(timeline.size_bytes), 0)[kept]
    change = np.zeros(timeline.steps + 1, np.int64)
    np.add.at(change, timeline.step[timeline.first_access[kept]], pages)
    np.subtract.at(change, timeline.step[timeline.last_access[kept]] + 1, pages)
    return int(np.cumsum(change).max())


def batches(machine: Machine, timeline: Timeline, kept: Bools) -> Batches:
    """Cut the steps into batches, each as long as half of the scratchpad lets it be.

    The half holds every tensor of the batch once, and the largest scratch of its operations. An
    operation that needs more is a batch of its own, in the whole of the scratchpad; those of its
    operands that need not be there then stream. It is half of the room beside the tensors that
    are ``kept``, (m,), from their first to their last use.
    """
    # Kept tensors take their room from both halves.
    half = (machine.spm_pages - _most_kept(machine, timeline, kept)) // 2
    own = np.where(kept, 0, machine.pages(timeline.size_bytes))
    pages = own[timeline.tensor]
    scratch = machine.pages(timeline.scratch_bytes)
    needs = sum_up(timeline.steps, timeline.step, pages)
    fits = needs + scratch <= half
    begin = np.array(_begins(timeline, pages, needs, scratch, half), np.int64)
    return Batches(
        begin=begin, alone=~fits[begin[:-1]], held=timeline.required_resident | fits[timeline.step]
    )


def _begins(timeline: Timeline, pages: Ints, needs: Ints, scratch: Ints, half: int) -> list[int]:
    """First step of every batch, and the number of steps.

    A step adds the pages of its accesses to a batch, less those of the tensors already there.
    """
    previous, own = timeline.previous.tolist(), pages.tolist()
    found, held, most, low, begun = [0], 0, 0, 0, 0
    steps = zip(needs.tolist(), scratch.tolist(), timeline.first[1:].tolist(), strict=True)
    for step, (need, scratch_pages, high) in enumerate(steps):
        for access in range(low, high):
            # First use of the tensor in this batch.
            if previous[access] < begun:
                held += own[access]
        most = max(most, scratch_pages)
        if held + most > half and step > found[-1]:
            found.append(step)
            held, most, begun = need, scratch_pages, low
        low = high
    return [*found, timeline.steps]


def rows_of_batches(
    machine: Machine, timeline: Timeline, batches: Batches, kept: Bools, *, shared: bool
) -> WholeRows:
    """Rows from the first to the last use that a tensor remains for.

    Between two uses in one batch it remains; with ``shared`` also from one batch to the next, and
    ``kept`` tensors always. Else it leaves, if there is a step for it to be away in: contents that
    are there cannot be loaded (R2), so a tensor of two batches with one operation between them
    remains where it is.
    """
    held = np.flatnonzero(batches.held)
    held = held[np.argsort(timeline.tensor[held], kind="stable")]
    tensor, step = timeline.tensor[held], timeline.step[held]
    batch = batches.of_step[step]
    away: Bools = batch[1:] > batch[:-1] + (1 if shared else 0)
    away &= step[:-1] + 2 <= batches.last_chance[batch[1:]]
    away &= ~kept[tensor[1:]]
    ends = np.append(away | (tensor[1:] != tensor[:-1]), True)[: held.size]
    first, last = np.flatnonzero(np.roll(ends, 1)), np.flatnonzero(ends)
    residency = Residency(
        tensor=tensor[first],
        begin=step[first],
        end=step[last] + 1,
        size_bytes=timeline.size_bytes[tensor[first]],
    )
    return whole_rows(machine, timeline, residency)
