"""One round: fill the remaining room, solve, and read the answer; in all steps or in some."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

import numpy as np

from formulations.contiguous.blocks import Block, Dirty, Holding, heights_at, own_spans
from formulations.contiguous.memory import SpmMap
from formulations.contiguous.packing import Reuses, fill
from formulations.contiguous.rows import CellContext
from formulations.contiguous.stack import (
    ContiguousCase,
    blocks_now,
    cells_of,
    in_pages,
    residency_plan_of,
    settle,
    stack,
    stores,
    values,
)
from formulations.contiguous.window import StepWindow, whole
from formulations.solver import highs
from formulations.solver.program import Floats
from spmopt.assemble.cost import residency_plan_cost
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints

_SIMPLEX: dict[str, highs.Option] = {"solver": "simplex", "presolve": "off"}


@dataclass(frozen=True, kw_only=True)
class ContiguousPlan:
    """Bytes held, and their costs in the steps of the window and its edges.

    The steps of ``residency_plan`` count from the first of these.
    """

    residency_plan: ResidencyPlan
    value: Fraction
    held: Holding


@dataclass(frozen=True, kw_only=True, eq=False)
class Rounds:
    """Inputs of a round."""

    case: ContiguousCase
    request: Request
    again: Reuses

    def evaluate(
        self, blocks: list[Block], window: StepWindow, dirty: Dirty | None = None
    ) -> ContiguousPlan:
        """Values of ``blocks`` as they are; without ``dirty`` every store at the latest."""
        c, owner = cells_of(self.case, blocks, own_spans(blocks, window), window)
        step = c.cells.step + window.first
        page = self.case.problem.machine.page_bytes
        resident = np.minimum(heights_at(blocks, owner, step) * page, c.size)
        most = np.full(len(c.cells), np.inf)
        if dirty is not None:
            most = dirty.of(c.cells.tensor, step).astype(np.float64)
        bases = np.array([block.base for block in blocks], np.int64)
        now = blocks_now(c, window.first, owner, bases, resident)
        return self._find(c, now, (resident, most), blocks, window)

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
        held = Holding(blocks=blocks, dirty=held.dirty)
        built = stack(self.case, held, memory, window, tie=tie)
        answer = highs.solve(
            built.program,
            options=_SIMPLEX,
            time_limit_s=self.request.remaining_s(),
            stop=self.request.stop,
        )
        # The program has the plan before as a solution; only time can be short.
        if not answer.feasible or answer.primal is None:
            return None
        fluid, dirty, bases = values(built, answer.primal)
        resident = in_pages(built.context, fluid)
        now = blocks_now(built.context, window.first, built.block, bases, resident)
        # Blocks that reach over the edge keep their base: their other part is decided elsewhere.
        fixed = np.array([any(_at_edges(block, window)) for block in now[0]], bool)
        if not settle(now[0], fixed, _empty(self.case, window)):
            return None
        return self._find(built.context, now, (resident, dirty), blocks, window)

    def _find(
        self,
        c: CellContext,
        now: tuple[list[Block], list[int]],
        cells: tuple[Ints, Floats],
        before: list[Block],
        window: StepWindow,
    ) -> ContiguousPlan:
        """From the resident and the dirty bytes of each cell."""
        resident, most = cells
        store, dirty = stores(c, resident, most)
        residency_plan = residency_plan_of(c, resident, store, now[0])
        objective = self.case.objective
        steps = self.case.line.steps
        step = c.cells.step + window.first
        return ContiguousPlan(
            residency_plan=residency_plan,
            value=residency_plan_cost(self.case.problem.machine, c.line, residency_plan).value(
                objective, c.line
            ),
            held=Holding(
                blocks=[
                    _join(block, before[owner], window) for block, owner in zip(*now, strict=True)
                ],
                dirty=Dirty.over(c.cells.tensor, step, dirty, steps),
            ),
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


_CELLS = 40_000  # of the blocks in a window, about
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
        parts = windows(held.blocks, self._whole.steps, half=self._half)
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


def windows(blocks: list[Block], steps: int, *, half: bool = False) -> list[StepWindow]:
    """Windows with equally many cells of ``blocks``; with ``half`` they begin half of one later."""
    # Work of a window grows with its cells, so that windows have equally many.
    change = np.zeros(steps + 1, np.int64)
    for block in blocks:
        change[block.begin] += 1
        change[block.end] -= 1
    cells = np.cumsum(np.cumsum(change[:steps]) + 1)
    parts = max(1, round(int(cells[-1]) / _CELLS))
    shares = (np.arange(parts) + (0.5 if half else 0.0)) / parts
    cuts = np.searchsorted(cells, shares * int(cells[-1]))
    ends = np.unique(np.concatenate(([0], cuts, [steps]))).tolist()
    return [StepWindow(begin=begin, end=end, steps=steps) for begin, end in pairwise(ends)]
