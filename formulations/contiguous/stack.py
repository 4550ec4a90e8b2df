"""The best residency and bases for given neighbors: a linear program.

Say which block is above which in each step. Then "free of overlap" is linear: with the base ``a``
of a block and its prefix ``r`` in step ``i``, ``a_s + r_s(i) <= a_u`` for ``u`` next above ``s``,
and ``a_s + r_s(i) <= C - b_i`` for the topmost. These rows stand in for the capacity of the plain
model, whose other rows remain: everything but the neighbors is optimized, all blocks at once. Bases
and prefixes rounded down to pages keep all these rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from formulations.contiguous.blocks import Block, UseSteps
from formulations.contiguous.memory import SpmMap
from formulations.contiguous.window import StepWindow, cells_of
from formulations.residency.plain.cells import Cells
from formulations.residency.plain.columns import Amounts, Families, Window
from formulations.residency.plain.model import PlainModel
from formulations.residency.plain.solution import runs_of
from formulations.solver.program import Floats
from spmopt.core.objective import Objective
from spmopt.core.problem import Problem
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Timeline

_TIE = Fraction(1, 100_000)
"""Of a byte's dearest dual value: of schedules that take the same time, the one that moves less."""


class ContiguousCase:
    """Problem and objective."""

    def __init__(self, problem: Problem, line: Timeline, objective: Objective) -> None:
        self.problem, self.line, self.objective = problem, line, objective
        self.uses = UseSteps(line)

    def memory(self, window: StepWindow, held: Mapping[int, Block] | None = None) -> SpmMap:
        """All free but the scratch, and the pages of blocks ``held``, by number."""
        machine, steps = self.problem.machine, slice(window.first, window.last)
        scratch = machine.pages(self.line.scratch_bytes[steps])
        memory = SpmMap(machine.spm_pages, scratch, window.first)
        for owner, block in (held or {}).items():
            memory.take(owner, int(block.base), block.begin, block.heights)
        return memory

    def part(self, blocks: list[Block], spans: Ints, window: StepWindow) -> BlockCells:
        """Cells of a window for ``blocks`` that may last over the steps ``spans`` (s, 2)."""
        steps = self.line.steps
        tensor = np.array([block.tensor for block in blocks], np.int64)
        cells = cells_of(self.line, window, tensor, spans)
        if not blocks:
            return BlockCells(cells=cells, owner=np.full(len(cells), -1, np.int64))
        key = tensor * steps + spans[:, 0]
        order = np.argsort(key)
        at = np.searchsorted(key[order], cells.tensor * steps + cells.step, side="right") - 1
        last = order[np.maximum(at, 0)]
        inside = (at >= 0) & (tensor[last] == cells.tensor) & (cells.step < spans[last, 1])
        return BlockCells(cells=cells, owner=np.where(inside, last, -1))


@dataclass(frozen=True, kw_only=True, eq=False)
class BlockCells:
    """Cells of some steps, and the block of each, or -1 (k,)."""

    cells: Cells
    owner: Ints

    def amounts(self, blocks: list[Block]) -> tuple[Ints, Ints]:
        """(k,) Pages, and dirty bytes, of the block of each cell in its step.

        None are of no block, and outside of it.
        """
        owner, step = self.owner, self.cells.step
        begin = np.array([block.begin for block in blocks], np.int64)
        length = np.array([block.heights.size for block in blocks], np.int64)
        there = np.flatnonzero(owner >= 0)
        at = step[there] - begin[owner[there]]
        inside = (at >= 0) & (at < length[owner[there]])
        own = there[inside]
        row = (np.cumsum(length) - length)[owner[own]] + at[inside]
        none = np.empty(0, np.int64)
        pages, dirty = np.zeros((2, owner.size), np.int64)
        pages[own] = np.concatenate([none, *(block.heights for block in blocks)])[row]
        dirty[own] = np.concatenate([none, *(block.dirty_most for block in blocks)])[row]
        return pages, dirty


class StackModel(PlainModel):
    """The plain model of blocks with the neighbors that they have now.

    With ``tie`` its solution is the one that moves less of all that are best, which takes longer.

    Attributes
    ----------
    bases : (s,)
        Columns of the blocks' bases, in pages.
    """

    def __init__(
        self,
        case: ContiguousCase,
        blocks: list[Block],
        part: BlockCells,
        window: StepWindow,
        *,
        tie: bool = False,
    ) -> None:
        self._blocks, self._part, self._steps = blocks, part, window
        self._pages, dirty = part.amounts(blocks)
        size = case.line.size_bytes
        page = case.problem.machine.page_bytes
        around = Amounts(
            resident=np.minimum(self._pages * page, size[part.cells.tensor]), dirty=dirty
        )
        everything = np.ones(size.size, bool)
        super().__init__(
            case.problem,
            case.line,
            _moving_less(case) if tie else case.objective,
            families=Families(),
            window=Window(begin=window.begin, end=window.end, tensors=everything, around=around),
            cells=part.cells,
        )

    def _limits(self, size: Floats) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        """Return limits of the plain model; nothing is resident where there is no block."""
        (least, most), (clean, dirty) = super()._limits(size)
        # After the window no more may be dirty than the plan beyond expects, but less.
        clean = np.where(self.cells.step < self._steps.end, clean, 0.0)
        return (least, np.where(self._part.owner < 0, 0.0, most)), (clean, dirty)

    def capacity(self) -> None:
        """``a_s + r_s(i) <= a_u``, or the room under the scratch, in every step (R1, R8)."""
        build, cells, machine = self._build, self.cells, self.machine
        base = np.array([one.base for one in self._blocks], np.float64)
        # Blocks at the edges keep their bases: their other parts are decided elsewhere.
        at_edges = self._steps.edges(cells.step) & (self._pages > 0)
        fixed = np.zeros(base.size, bool)
        fixed[self._part.owner[at_edges]] = True
        self.bases = build.columns(
            base.size,
            lower=np.where(fixed, base, 0.0),
            upper=np.where(fixed, base, np.inf),
        )
        # At the edges heights are given: their blocks are known not to overlap.
        k = np.flatnonzero(~self._steps.edges(cells.step) & (self._part.owner >= 0))
        owner, step = self._part.owner[k], cells.step[k]
        # Lowest base first; an empty block below one that has pages at the same base.
        order = np.lexsort((owner, self._pages[k] > 0, base[owner], step))
        k, owner, step = k[order], owner[order], step[order]
        last = np.append(step[1:] != step[:-1], True)[: step.size]
        # A prefix rounded to pages never takes more than its padded bytes.
        padded = self.most_pages[k] * machine.page_bytes / self.size[k]
        above = np.where(last, -1, self.bases[np.append(owner[1:], 0)[: owner.size]])
        free = machine.spm_pages - machine.pages(self.line.scratch_bytes[step])
        row = build.rows(k.size, upper=np.where(last, free, 0))
        build.add(row, self.resident[k], padded)
        build.add(row, self.bases[owner], 1.0)
        build.add(row, above, -1.0)

    def read(self, primal: Floats) -> tuple[Floats, Floats, Floats]:
        """Return resident and dirty bytes of each cell (k,), base pages of each block."""
        dirty = np.where(self.dirty >= 0, primal[self.dirty] * self.unit, 0.0)
        return primal[self.resident] * self.unit, dirty, primal[self.bases]


def _moving_less(case: ContiguousCase) -> Objective:
    """Return the objective, with a little more for each byte that moves."""
    objective = case.objective
    byte_time = objective.cycle / case.problem.machine.bytes_per_cycle
    tie = _TIE * (max(byte_time, objective.dram_in_byte, objective.dram_out_byte) or Fraction(1))
    return replace(
        objective,
        dram_in_byte=objective.dram_in_byte + tie,
        dram_out_byte=objective.dram_out_byte + tie,
    )


_NEARLY = 1e-4  # of a page or smaller tensor, and of a stored byte: over the solver's tolerance


def in_pages(size: Ints, page: int, resident: Floats) -> Ints:
    """(k,) Resident bytes, rounded down to pages; all of a tensor remains all of it."""
    down = np.floor(resident / page + _NEARLY).astype(np.int64) * page
    whole = resident >= size - _NEARLY * np.minimum(size, page)
    pages: Ints = np.where(whole, size, np.minimum(down, size))
    return pages


def blocks_now(
    part: BlockCells, bases: Ints | Floats, amounts: Amounts, page: int
) -> tuple[list[Block], list[int]]:
    """Return blocks that ``amounts`` make, and of each the block that its cells were of.

    They are at the ``bases`` of those.
    """
    cells, resident = part.cells, amounts.resident
    first, last = runs_of(cells, resident > 0, part.owner)
    owners = part.owner[first].tolist()
    blocks = [
        Block(
            tensor=int(cells.tensor[begin]),
            begin=int(cells.step[begin]),
            heights=-(-resident[begin : end + 1] // page),
            dirty=amounts.dirty[begin : end + 1],
            base=bases[owner],
        )
        for begin, end, owner in zip(first.tolist(), last.tolist(), owners, strict=True)
    ]
    return blocks, owners


def settle(blocks: list[Block], fixed: Bools, memory: SpmMap) -> bool:
    """Let each block down onto the blocks below it: whole pages, and never higher than it was.

    A base is a sum of heights below it, or less than a real one was: rounded heights make it
    smaller, or larger by a few of the solver's tolerances, which are no page. Those ``fixed``
    (s,) remain where they are; false if something is in their way.
    """
    for owner in sorted(range(len(blocks)), key=lambda k: blocks[k].base):
        block = blocks[owner]
        below = memory.around(block.begin, block.end, owner)
        # Scratch lies at the top: only blocks are below.
        base = int(below.high[below.owner >= 0].max(initial=0))
        if fixed[owner]:
            if base > round(block.base):
                return False
            base = round(block.base)
        block.base = base
        memory.take(owner, base, block.begin, block.heights)
    return True


def store_late(cells: Cells, size: Ints, resident: Ints, most: Ints | Floats) -> Ints:
    """(k,) Bytes dirty after each cell: stored at the latest in time, at most ``most`` (k,).

    Nothing is dirty that the next step does not hold, nor more than the program leaves dirty.
    """
    follows = np.zeros(len(cells), bool)
    follows[:-1] = cells.previous[1:] == np.arange(1, len(cells)) - 1
    held = np.where(
        follows, np.append(resident[1:], 0)[: len(cells)], np.where(cells.last, 0, size)
    )
    limit = np.minimum(np.floor(np.minimum(most, size) + _NEARLY).astype(np.int64), held)
    after = np.zeros(len(cells), np.int64)
    left = 0
    k = np.flatnonzero(cells.dirty)
    source = np.where(cells.written[k], resident[k], np.where(cells.previous[k] >= 0, -1, 0))
    for cell, fresh, allowed in zip(k.tolist(), source.tolist(), limit[k].tolist(), strict=True):
        left = after[cell] = min(left if fresh < 0 else fresh, allowed)
    return after
