"""One round: fill the remaining room, solve, and read the answer; in all steps or in some."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

import numpy as np

from formulations.contiguous.blocks import Block, Dirty, Holding, lengthen, own_spans
from formulations.contiguous.memory import SpmMap
from formulations.contiguous.packing import Reuses, fill
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
    """Bytes held, and their costs in the steps of the window and its edges."""

    residency_plan: ResidencyPlan
    value: Fraction
    held: Holding


@dataclass(frozen=True, kw_only=True, eq=False)
class Rounds:
    """Inputs of a round."""

    case: ContiguousCase
    request: Request
    again: Reuses

    @property
    def _page(self) -> int:
        return self.case.problem.machine.page_bytes

    def evaluate(
        self, blocks: list[Block], window: StepWindow, dirty: Dirty | None = None
    ) -> ContiguousPlan:
        """Values of ``blocks`` as they are; without ``dirty`` every store at the latest."""
        part = self.case.part(blocks, own_spans(blocks, window), window)
        resident = np.minimum(part.heights(blocks) * self._page, self._size(part))
        bases = np.array([block.base for block in blocks], np.int64)
        now = blocks_now(part, bases, resident, self._page)
        if dirty is None:
            most: Floats = np.full(resident.shape, np.inf)
        else:
            most = dirty.of(part.cells.tensor, part.cells.step).astype(np.float64)
        return self._find(part, now, (resident, most), blocks, window)

    def fill(self, blocks: list[Block], window: StepWindow) -> tuple[list[Block], SpmMap]:
        """Copies that last longer, and some more, where room is left over."""
        blocks = [replace(block) for block in blocks]
        memory = self.case.memory(window, dict(enumerate(blocks)))
        fill(blocks, memory, window, self.again)
        return blocks, memory

    def solve(
        self, held: Holding, window: StepWindow, *, tie: bool = False
    ) -> ContiguousPlan | None:
        """Fill, then solve; None where there is no answer."""
        blocks, memory = self.fill(held.blocks, window)
        spans = lengthen(blocks, memory, window, self.case.uses)
        part = self.case.part(blocks, spans, window)
        held = Holding(blocks=blocks, dirty=held.dirty)
        model = StackModel(self.case, held, part, window, tie=tie)
        answer = highs.solve(
            model.program,
            options=_SIMPLEX,
            time_limit_s=self.request.remaining_s(),
            stop=self.request.stop,
        )
        # The program has the plan before as a solution; only time can be short.
        if not answer.feasible or answer.primal is None:
            return None
        fluid, dirty, bases = model.read(answer.primal)
        resident = in_pages(self._size(part), self._page, fluid)
        now = blocks_now(part, bases, resident, self._page)
        # Blocks that reach over the edge keep their base: their other part is decided elsewhere.
        fixed = np.array([any(_at_edges(block, window)) for block in now[0]], bool)
        if not settle(now[0], fixed, _empty(self.case, window)):
            return None
        return self._find(part, now, (resident, dirty), blocks, window)

    def _size(self, part: BlockCells) -> Ints:
        return self.case.line.size_bytes[part.cells.tensor]

    def _find(
        self,
        part: BlockCells,
        now: tuple[list[Block], list[int]],
        amounts: tuple[Ints, Floats],
        before: list[Block],
        window: StepWindow,
    ) -> ContiguousPlan:
        """From the resident and the dirty bytes of each cell."""
        resident, most = amounts
        left = store_late(part.cells, self._size(part), resident, most)
        line = self.case.line
        plan = plan_of(line.chosen, part.cells, Amounts(resident=resident, dirty=left))
        return ContiguousPlan(
            residency_plan=replace(plan, ranges=_ranges(now[0])),
            value=self._value(plan, window),
            held=Holding(
                blocks=[
                    _join(block, before[owner], window) for block, owner in zip(*now, strict=True)
                ],
                dirty=Dirty.over(part.cells.tensor, part.cells.step, left, line.steps),
            ),
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
    parts = [block.heights]
    begin = block.begin
    if left:
        parts.insert(0, before.heights[: max(window.first - before.begin, 0)])
        begin = min(before.begin, begin)
    if right:
        parts.append(before.heights[window.last - before.begin :])
    return replace(block, begin=begin, heights=np.concatenate(parts))


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

    def over(self, held: Holding) -> Holding:
        """Bytes held when each window has been improved as far as possible."""
        request = self._rounds.request
        cells = request.params.contiguous.window_cells
        parts = windows(held.blocks, self._whole.steps, cells, half=self._half)
        self._half = not self._half
        for number, window in enumerate(parts):
            inside = slice(window.begin, window.end)
            if request.remaining_s() <= 0:
                break
            if self._hope[inside].sum() <= self._least:
                continue
            request.report("contiguous addresses, window by window", number / len(parts))
            held, gain = self._within(window, held)
            self._hope[inside] = gain / (window.end - window.begin)
        return held

    def _within(self, window: StepWindow, held: Holding) -> tuple[Holding, float]:
        """Bytes held then, and the gain."""
        met = [s.begin < window.last and s.end > window.first for s in held.blocks]
        blocks = [block for block, own in zip(held.blocks, met, strict=True) if own]
        before = self._rounds.evaluate(blocks, window, held.dirty)
        after = self._rounds.solve(before.held, window)
        # Rounding to pages may lose the gain of the program.
        if after is None or after.value >= before.value:
            return held, 0.0
        others = [block for block, own in zip(held.blocks, met, strict=True) if not own]
        dirty = held.dirty.replace(window, after.held.dirty)
        found = Holding(blocks=[*others, *after.held.blocks], dirty=dirty)
        return found, float(before.value - after.value)


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
