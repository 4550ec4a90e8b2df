"""One round: fill the remaining room, solve, and read the answer; in all steps or in some."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

import numpy as np

from formulations.contiguous.blocks import Block, lengthen, own_spans
from formulations.contiguous.memory import SpmMap
from formulations.contiguous.packing import fill
from formulations.contiguous.stack import (
    BlockCells,
    ContiguousCase,
    StackModel,
    blocks_now,
    in_pages,
    settle,
    store_late,
)
from formulations.contiguous.window import StepWindow, whole
from formulations.residency.plain.columns import Amounts
from formulations.residency.plain.solution import plan_of
from formulations.solver import highs
from formulations.solver.program import Floats
from spmopt.assemble.cost import residency_plan_cost
from spmopt.core.schedule import Ranges, ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints

_SIMPLEX: dict[str, highs.Option] = {"solver": "simplex", "presolve": "off"}


@dataclass(frozen=True, kw_only=True)
class ContiguousPlan:
    """Blocks with bases, and their costs in the steps of the window and its edges."""

    residency_plan: ResidencyPlan
    value: Fraction
    blocks: list[Block]


@dataclass(frozen=True, kw_only=True, eq=False)
class Rounds:
    """Inputs of a round; ``again`` are bytes used again, as of ``packing.reuses``."""

    case: ContiguousCase
    request: Request
    again: Ints

    @property
    def _page(self) -> int:
        return self.case.problem.machine.page_bytes

    def evaluate(self, blocks: list[Block], window: StepWindow) -> ContiguousPlan:
        """Values of ``blocks`` as they are."""
        part = self.case.part(blocks, own_spans(blocks, window), window)
        pages, most = part.amounts(blocks)
        resident = np.minimum(pages * self._page, self._size(part))
        bases = np.array([block.base for block in blocks], np.int64)
        left = store_late(part.cells, self._size(part), resident, most)
        amounts = Amounts(resident=resident, dirty=left)
        now = blocks_now(part, bases, amounts, self._page)
        return self._plan(part, amounts, now, blocks, window)

    def fill(self, blocks: list[Block], window: StepWindow) -> tuple[list[Block], SpmMap]:
        """Copies that last longer, and some more, where room is left over."""
        blocks = [replace(block) for block in blocks]
        memory = self.case.memory(window, dict(enumerate(blocks)))
        fill(blocks, memory, window, self.again)
        return blocks, memory

    def solve(
        self, blocks: list[Block], window: StepWindow, *, tie: bool = False
    ) -> ContiguousPlan | None:
        """Fill, then solve; None where there is no answer."""
        blocks, memory = self.fill(blocks, window)
        spans = lengthen(blocks, memory, window, self.case.uses)
        part = self.case.part(blocks, spans, window)
        model = StackModel(self.case, blocks, part, window, tie=tie)
        answer = highs.solve(
            model.program,
            options=_SIMPLEX,
            time_limit_s=self.request.remaining_s(),
            stop=self.request.stop,
        )
        # The program has the plan before as a solution; only time can be short.
        if not answer.feasible or answer.primal is None:
            return None
        fluid, most, bases = model.read(answer.primal)
        resident = in_pages(self._size(part), self._page, fluid)
        left = store_late(part.cells, self._size(part), resident, most)
        amounts = Amounts(resident=resident, dirty=left)
        now = blocks_now(part, bases, amounts, self._page)
        # Blocks that reach over the edge keep their base: their other part is decided elsewhere.
        fixed = np.array([any(_at_edges(block, window)) for block in now[0]], bool)
        if not settle(now[0], fixed, _empty(self.case, window)):
            return None
        return self._plan(part, amounts, now, blocks, window)

    def _size(self, part: BlockCells) -> Ints:
        return self.case.line.size_bytes[part.cells.tensor]

    def _plan(
        self,
        part: BlockCells,
        amounts: Amounts,
        now: tuple[list[Block], list[int]],
        before: list[Block],
        window: StepWindow,
    ) -> ContiguousPlan:
        """From the bytes of each cell, blocks that they make, and blocks that they were of."""
        plan = plan_of(self.case.line.chosen, part.cells, amounts)
        return ContiguousPlan(
            residency_plan=replace(plan, ranges=_ranges(now[0])),
            value=self._value(plan, window),
            blocks=[_join(block, before[owner], window) for block, owner in zip(*now, strict=True)],
        )

    def _value(self, plan: ResidencyPlan, window: StepWindow) -> Fraction:
        """Return the cost of the steps of a window and its edges."""
        line, first = window.part_of(self.case.line), window.first
        rows, stores = plan.residency, plan.stores
        part = ResidencyPlan(
            steps=line.chosen,
            residency=replace(rows, begin=rows.begin - first, end=rows.end - first),
            stores=replace(stores, step=stores.step - first),
        )
        cost = residency_plan_cost(self.case.problem.machine, line, part)
        return cost.value(self.case.objective, line)


def _ranges(blocks: list[Block]) -> Ranges:
    return Ranges(
        tensor=np.array([block.tensor for block in blocks], np.int64),
        begin=np.array([block.begin for block in blocks], np.int64),
        end=np.array([block.end for block in blocks], np.int64),
        spm_page=np.array([block.base for block in blocks], np.int64),
    )


def _empty(case: ContiguousCase, window: StepWindow) -> SpmMap:
    nothing = np.zeros(window.last - window.first, np.int64)
    return SpmMap(case.problem.machine.spm_pages, nothing, window.first)


def _at_edges(block: Block, window: StepWindow) -> tuple[bool, bool]:
    """Whether the block reaches the edge before the window, and the one after it."""
    return (
        block.begin == window.first < window.begin,
        block.end == window.last > window.end,
    )


def _join(block: Block, before: Block, window: StepWindow) -> Block:
    """``block`` with the parts outside the window of the block that it was a part of."""
    left, right = _at_edges(block, window)
    first = slice(max(window.first - before.begin, 0) if left else 0)
    last = slice(window.last - before.begin if right else before.heights.size, None)

    def join(inner: Ints, outer: Ints) -> Ints:
        return np.concatenate((outer[first], inner, outer[last]))

    return replace(
        block,
        begin=min(before.begin, block.begin) if left else block.begin,
        heights=join(block.heights, before.heights),
        dirty=join(block.dirty_most, before.dirty_most),
    )


_LEAST = 2e-6  # of the objective: gain of a window after which another one follows there


class WindowSweep:
    """Sweeps that leave out where the one before gained next to nothing."""

    def __init__(self, rounds: Rounds, found: ContiguousPlan) -> None:
        self._rounds = rounds
        self._whole = whole(rounds.case.line)
        self._least = _LEAST * float(found.value)
        self._hope: Floats = np.full(self._whole.steps, np.inf)
        """(n,) Gain to be expected, by the last gain."""
        self._half = False

    @property
    def promising(self) -> bool:
        """Whether another sweep may gain something."""
        return bool(self._hope.sum() > self._least)

    def over(self, blocks: list[Block]) -> list[Block]:
        """Blocks when each window has been improved as far as possible."""
        request = self._rounds.request
        cells = request.params.contiguous.window_cells
        parts = windows(blocks, self._whole.steps, cells, half=self._half)
        self._half = not self._half
        for number, window in enumerate(parts):
            inside = slice(window.begin, window.end)
            if request.is_over():
                break
            if self._hope[inside].sum() <= self._least:
                continue
            request.report("contiguous addresses, window by window", number / len(parts))
            blocks, gain = self._within(window, blocks)
            self._hope[inside] = gain / (window.end - window.begin)
        return blocks

    def _within(self, window: StepWindow, blocks: list[Block]) -> tuple[list[Block], float]:
        """Blocks then, and the gain."""
        met, others = list[Block](), list[Block]()
        for block in blocks:
            inside = block.begin < window.last and block.end > window.first
            (met if inside else others).append(block)
        before = self._rounds.evaluate(met, window)
        after = self._rounds.solve(before.blocks, window)
        # Rounding to pages may lose the gain of the program.
        if after is None or after.value >= before.value:
            return blocks, 0.0
        return [*others, *after.blocks], float(before.value - after.value)


def windows(blocks: list[Block], steps: int, most: int, *, half: bool = False) -> list[StepWindow]:
    """Windows with equally many cells of ``blocks``, about ``most``; from half of one on."""
    # Work of a window grows with its cells, so that windows have equally many.
    change = np.zeros(steps + 1, np.int64)
    for block in blocks:
        change[block.begin] += 1
        change[block.end] -= 1
    cells = np.cumsum(np.cumsum(change[:steps]) + 1)
    parts = max(1, round(int(cells[-1]) / most))
    shares = (np.arange(parts) + (0.5 if half else 0.0)) / parts
    cuts = np.searchsorted(cells, shares * int(cells[-1]))
    ends = np.unique(np.concatenate(([0], cuts, [steps]))).tolist()
    return [StepWindow(begin=begin, end=end, steps=steps) for begin, end in pairwise(ends)]
