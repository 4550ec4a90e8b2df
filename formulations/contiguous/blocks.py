"""Blocks: residency intervals, how much of a tensor they hold in each step, and where."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from formulations.contiguous.memory import SpmMap, Taken
from formulations.contiguous.window import StepWindow
from spmopt.core.machine import Machine
from spmopt.core.schedule import Residency
from spmopt.core.table import Ints
from spmopt.core.timeline import Timeline
from spmopt.core.units import LARGEST

NOWHERE = -1  # the base of a block that has none yet


@dataclass(slots=True, kw_only=True)
class Block:
    """Pages ``heights[k]`` of ``tensor`` in step ``begin + k``, from page ``base`` on.

    Attributes
    ----------
    dirty
        Bytes dirty after each of its steps; without them stores are at the latest.
    uses : (u,)
        Steps in which the tensor is used, those of the block only.
    required-resident : (v,)
        Those of them that need all of it.
    base
        -1 until there is one; whole pages, but for values of a linear program.
    """

    tensor: int
    begin: int
    heights: Ints
    dirty: Ints | None = None
    uses: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    required_resident: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    base: float = NOWHERE

    @property
    def end(self) -> int:
        """One past the last step."""
        return self.begin + int(self.heights.size)

    @property
    def peak(self) -> int:
        """Most pages in a step."""
        return int(self.heights.max(initial=0))

    @property
    def area(self) -> int:
        """Pages times steps."""
        return int(self.heights.sum())

    @property
    def dirty_most(self) -> Ints:
        """Most bytes that may be dirty after each step."""
        return np.full(self.heights.size, LARGEST) if self.dirty is None else self.dirty


class UseSteps:
    """Steps in which each tensor is used, in order."""

    def __init__(self, line: Timeline) -> None:
        order = np.lexsort((line.step, line.tensor))
        self._tensor, self._step = line.tensor[order], line.step[order]
        self._required_resident = line.required_resident[order]

    def of(self, tensor: int, begin: int, end: int) -> tuple[Ints, Ints]:
        """Steps of ``[begin, end)`` that use ``tensor``, and those that need all of it."""
        first, last = np.searchsorted(self._tensor, (tensor, tensor + 1))
        steps, required_resident = self._step[first:last], self._required_resident[first:last]
        inside = (steps >= begin) & (steps < end)
        return steps[inside], steps[inside & required_resident]

    def mark(self, blocks: list[Block]) -> list[Block]:
        """Copies that know their uses, with stores at the latest."""
        found = []
        for block in blocks:
            uses, required_resident = self.of(block.tensor, block.begin, block.end)
            found.append(replace(block, dirty=None, uses=uses, required_resident=required_resident))
        return found


def blocks_of(residency: Residency, machine: Machine) -> list[Block]:
    """Rows that adjoin in time, tensor by tensor."""
    if not len(residency):
        return []
    pages = machine.pages(residency.size_bytes)
    # Bytes resident in adjoining steps keep their address (R8): one block.
    adjoins = (residency.tensor[1:] == residency.tensor[:-1]) & (
        residency.begin[1:] == residency.end[:-1]
    )
    first = np.flatnonzero(np.concatenate(([True], ~adjoins)))
    last = np.append(first[1:], len(residency)) - 1
    heights = np.split(
        np.repeat(pages, residency.end - residency.begin),
        np.cumsum((residency.end[last] - residency.begin[first])[:-1]),
    )
    tensors, begins = residency.tensor[first].tolist(), residency.begin[first].tolist()
    return [
        Block(tensor=tensor, begin=begin, heights=profile)
        for tensor, begin, profile in zip(tensors, begins, heights, strict=True)
    ]


REACH = 30
"""Steps before a tensor's first use, and after its last, in which it is of use."""


def own_spans(blocks: list[Block], window: StepWindow) -> Ints:
    """(s, 2) First step of each block in the window, and one past its last."""
    spans = np.array([(block.begin, block.end) for block in blocks], np.int64).reshape(-1, 2)
    return np.clip(spans, window.first, window.last)


def lengthen(blocks: list[Block], memory: SpmMap, window: StepWindow, uses: UseSteps) -> Ints:
    """(s, 2) Steps around each block in which no other is across its base, none more at an edge.

    Few steps more than to the outermost uses of the tensor among them. Blocks of one tensor keep
    a step apart: the bytes of one do not block for the other.
    """
    spans = own_spans(blocks, window)
    taken = memory.around(window.first, window.last, -2)
    order = sorted(range(len(blocks)), key=lambda k: (blocks[k].tensor, blocks[k].begin))
    before = -1
    for owner, after in zip(order, [*order[1:], -1], strict=False):
        block = blocks[owner]
        least, most = window.begin, window.end
        if before >= 0 and blocks[before].tensor == block.tensor:
            # A step between two blocks of a tensor keeps their bytes apart (R2).
            least = max(least, int(spans[before, 1]) + 1)
        if after >= 0 and blocks[after].tensor == block.tensor:
            most = min(most, blocks[after].begin - 1)
        first, last = _free_around(block, owner, taken, window)
        begin, end = spans[owner].tolist()
        first, last = min(max(least, first), begin), max(min(most, last), end)
        used = uses.of(block.tensor, first, last)[0]
        first = max(first, min(begin, int(used.min(initial=begin))) - REACH)
        last = min(last, max(end, int(used.max(initial=end)) + 1) + REACH)
        spans[owner] = first, last
        before = owner
    return spans


def _free_around(block: Block, owner: int, taken: Taken, window: StepWindow) -> tuple[int, int]:
    """First and last steps around a block between which no other is across its base."""
    across = (taken.low < block.base) & (block.base < taken.high) & (taken.owner != owner)
    # Scratch lies at the top: all above its lower edge is taken.
    across |= (taken.owner < 0) & (taken.low <= block.base)
    begin, end = taken.begin[across], taken.end[across]
    after = int(begin[begin >= block.end].min(initial=window.last))
    before = int(end[end <= block.begin].max(initial=window.first))
    return before, after
