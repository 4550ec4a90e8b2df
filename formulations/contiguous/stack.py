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
from typing import NamedTuple

import numpy as np

from formulations.contiguous.blocks import (
    Block,
    Holding,
    UseSteps,
    heights_at,
    lengthen,
)
from formulations.contiguous.memory import SpmMap
from formulations.contiguous.rows import (
    CellContext,
    Variables,
    carry_dirty,
    fill_channels,
    grow,
    lose_nothing,
    wait,
)
from formulations.contiguous.window import StepWindow, keep_cells
from formulations.residency.cells import Cells
from formulations.solver.program import Floats, Program, ProgramBuilder
from spmopt.core.objective import Objective
from spmopt.core.problem import Problem
from spmopt.core.schedule import Ranges, Residency, ResidencyPlan, Stores
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Timeline

_TIE = 1e-5
"""Of a byte's dearest dual value: of schedules that take the same time, the one that moves less."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Stack:
    """The program, and how to read it.

    Attributes
    ----------
    block : (k,)
        Of each cell, or -1 where the tensor cannot be resident.
    bases : (s,)
        Columns of the blocks' bases.
    """

    program: Program
    context: CellContext
    columns: Variables
    block: Ints
    bases: Ints


class ContiguousCase(NamedTuple):
    """Problem and objective."""

    problem: Problem
    line: Timeline
    uses: UseSteps
    objective: Objective

    def memory(self, window: StepWindow, held: Mapping[int, Block] | None = None) -> SpmMap:
        """All free but the scratch, and the pages of blocks ``held``, by number."""
        machine, steps = self.problem.machine, slice(window.first, window.last)
        scratch = machine.pages(self.line.scratch_bytes[steps])
        memory = SpmMap(machine.spm_pages, scratch, window.first)
        for owner, block in (held or {}).items():
            memory.take(owner, int(block.base), block.begin, block.heights)
        return memory


def stack(
    case: ContiguousCase, held: Holding, memory: SpmMap, window: StepWindow, *, tie: bool = False
) -> Stack:
    """The program for the neighbors that the blocks have now.

    With ``tie`` also the one of its solutions that moves less, which takes longer.
    """
    objective, blocks, build = case.objective, held.blocks, ProgramBuilder()
    c, block = cells_of(case, blocks, lengthen(blocks, memory, window, case.uses), window)
    x = Variables.of(build, c, objective, absent=block < 0, tie=_TIE if tie else 0.0)
    bases = build.columns(len(blocks))
    grow(build, c, x)
    carry_dirty(build, c, x)
    lose_nothing(build, c, x)
    if objective.cycle > 0:
        fill_channels(build, c, x)
        wait(build, c, x)
    step = c.cells.step + window.first
    pages = heights_at(blocks, block, step)
    # At the edges heights are fixed: their blocks are known not to overlap.
    within = np.where(window.edges(step), -1, block)
    _stack_up(build, c, blocks, resident=x.resident, bases=bases, block=within, pages=pages)
    built = Stack(
        program=build.program(by_rows=True), context=c, columns=x, block=block, bases=bases
    )
    return replace(built, program=_with_edges(built, held, pages, window))


def _with_edges(built: Stack, held: Holding, pages: Ints, window: StepWindow) -> Program:
    """The program with fixed values at the edges of the window."""
    c, x, unit = built.context, built.columns, built.context.byte_unit
    lower, upper = built.program.lower.copy(), built.program.upper.copy()
    step = c.cells.step + window.first
    k = np.flatnonzero(window.edges(step))
    page = c.machine.page_bytes
    lower[x.resident[k]] = upper[x.resident[k]] = np.minimum(pages[k] * page, c.size[k]) / unit
    dirty = held.dirty.of(c.cells.tensor[k], step[k]) / unit
    column, before = x.dirty[k], step[k] < window.begin
    # After the window no more may be dirty than the plan beyond expects.
    upper[column[column >= 0]] = dirty[column >= 0]
    lower[column[(column >= 0) & before]] = dirty[(column >= 0) & before]
    fixed = np.unique(built.block[k[pages[k] > 0]])
    base = np.array([held.blocks[owner].base for owner in fixed.tolist()], np.float64)
    lower[built.bases[fixed]] = upper[built.bases[fixed]] = base * page / unit
    return replace(built.program, lower=lower, upper=upper)


def cells_of(
    case: ContiguousCase, blocks: list[Block], spans: Ints, window: StepWindow
) -> tuple[CellContext, Ints]:
    """Cells for ``blocks`` that may last over the steps ``spans`` (s, 2); the block of each (k,).

    Steps of the cells count from the first one of the window.
    """
    steps = case.line.steps
    tensor = np.array([block.tensor for block in blocks], np.int64)
    cells = keep_cells(case.line, window, tensor, spans)
    line = window.part_of(case.line)
    context = CellContext(machine=case.problem.machine, line=line, cells=cells)
    if not blocks:
        return context, np.full(len(cells), -1, np.int64)
    step = cells.step + window.first
    key = tensor * steps + spans[:, 0]
    order = np.argsort(key)
    at = np.searchsorted(key[order], cells.tensor * steps + step, side="right") - 1
    owner = order[np.maximum(at, 0)]
    inside = (at >= 0) & (tensor[owner] == cells.tensor) & (step < spans[owner, 1])
    return context, np.where(inside, owner, -1)


def _stack_up(
    build: ProgramBuilder,
    c: CellContext,
    blocks: list[Block],
    *,
    resident: Ints,
    bases: Ints,
    block: Ints,
    pages: Ints,
) -> None:
    """``a_s + g ceil(s/g)/s r_s(i) <= a_u``, or the room under the scratch, in every step."""
    page, machine = c.machine.page_bytes, c.machine
    k = np.flatnonzero(block >= 0)
    owner, step = block[k], c.cells.step[k]
    base = np.array([one.base for one in blocks], np.int64)
    # Lowest base first; an empty block below one that has pages at the same base.
    order = np.lexsort((owner, pages[k] > 0, base[owner], step))
    k, owner, step = k[order], owner[order], step[order]
    last = np.append(step[1:] != step[:-1], True)[: step.size]
    size = c.size[k]
    # A prefix rounded to pages never takes more than its padded bytes.
    padded = machine.pages(size) * page / size
    above = np.where(last, -1, bases[np.append(owner[1:], 0)[: owner.size]])
    free = (machine.spm_pages - machine.pages(c.line.scratch_bytes[step])) * page
    row = build.rows(k.size, upper=np.where(last, free, 0) / c.byte_unit)
    build.add(row, resident[k], padded)
    build.add(row, bases[owner], 1.0)
    build.add(row, above, -1.0)


def values(stack: Stack, primal: Floats) -> tuple[Floats, Floats, Floats]:
    """Resident and dirty bytes of each cell (k,), base pages of each block."""
    c, x, unit = stack.context, stack.columns, stack.context.byte_unit
    resident = primal[x.resident] * unit
    dirty = np.where(x.dirty >= 0, primal[np.maximum(x.dirty, 0)] * unit, 0.0)
    pages: Floats = primal[stack.bases] * unit / c.machine.page_bytes
    return resident, dirty, pages


_NEARLY = 1e-4  # of a page, and of a stored byte: more than the solver's tolerance


def in_pages(c: CellContext, resident: Floats) -> Ints:
    """(k,) Resident bytes, rounded down to pages; all of a tensor remains all of it."""
    size, page = c.size, c.machine.page_bytes
    down = np.floor(resident / page + _NEARLY).astype(np.int64) * page
    whole = resident >= size - _NEARLY * page
    pages: Ints = np.where(whole, size, np.minimum(down, size))
    return pages


def blocks_now(
    c: CellContext, first: int, block: Ints, bases: Ints | Floats, resident: Ints
) -> tuple[list[Block], list[int]]:
    """Return blocks that ``resident`` makes, and of each the block that its cells were of.

    They are at the ``bases`` of those. The steps of the cells count from ``first``.
    """
    runs = _runs(c.cells, resident > 0, block)
    owners = [int(block[cells.start]) for cells in runs]
    blocks = [
        Block(
            tensor=int(c.cells.tensor[cells.start]),
            begin=int(c.cells.step[cells.start]) + first,
            heights=-(-resident[cells] // c.machine.page_bytes),
            base=bases[owner],
        )
        for cells, owner in zip(runs, owners, strict=True)
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


def stores(c: CellContext, resident: Ints, dirty: Floats) -> tuple[Ints, Ints]:
    """(k,) Bytes to store in each cell, at the latest in time, and those dirty after it.

    (P2) and (P3) decide the bytes stored in a step: nothing is dirty that the next step does not
    hold, nor more than the program leaves ``dirty``.
    """
    cells = c.cells
    follows = np.zeros(len(cells), bool)
    follows[:-1] = cells.previous[1:] == np.arange(1, len(cells)) - 1
    most = np.where(
        follows, np.append(resident[1:], 0)[: len(cells)], np.where(cells.last, 0, c.size)
    )
    limit = np.minimum(np.floor(np.minimum(dirty, c.size) + _NEARLY).astype(np.int64), most)
    store, after = np.zeros(len(cells), np.int64), np.zeros(len(cells), np.int64)
    left = 0
    k = np.flatnonzero(cells.dirty)
    source = np.where(cells.written[k], resident[k], np.where(cells.previous[k] >= 0, -1, 0))
    for cell, fresh, allowed in zip(k.tolist(), source.tolist(), limit[k].tolist(), strict=True):
        before = left if fresh < 0 else fresh
        left = min(before, allowed)
        store[cell], after[cell] = before - left, left
    return store, after


def residency_plan_of(
    c: CellContext, resident: Ints, store: Ints, blocks: list[Block]
) -> ResidencyPlan:
    """Residency, stores and addresses, by the steps of the cells."""
    cells, line = c.cells, c.line
    stored = np.flatnonzero(store)
    stored = stored[np.lexsort((cells.tensor[stored], cells.step[stored]))]
    rows = _runs(cells, resident > 0, resident)
    first = np.array([row.start for row in rows], np.int64)
    last = np.array([row.stop - 1 for row in rows], np.int64)
    return ResidencyPlan(
        steps=line.chosen,
        residency=Residency(
            tensor=cells.tensor[first],
            begin=cells.step[first],
            end=cells.step[last] + 1,
            size_bytes=resident[first],
        ),
        stores=Stores(
            step=cells.step[stored], tensor=cells.tensor[stored], size_bytes=store[stored]
        ),
        ranges=Ranges(
            tensor=np.array([block.tensor for block in blocks], np.int64),
            begin=np.array([block.begin for block in blocks], np.int64),
            end=np.array([block.end for block in blocks], np.int64),
            spm_page=np.array([block.base for block in blocks], np.int64),
        ),
    )


def _runs(cells: Cells, there: Bools, key: Ints) -> list[slice]:
    """Cells in ``there``, of one tensor, step after step, with the same ``key``."""
    k = np.flatnonzero(there)
    if not k.size:
        return []
    apart = (
        (np.diff(k) > 1)
        | (np.diff(cells.tensor[k]) != 0)
        | (np.diff(cells.step[k]) != 1)
        | (np.diff(key[k]) != 0)
    )
    first = np.concatenate(([True], apart))
    starts = k[first]
    stops = k[np.append(apart, True)] + 1
    return [slice(a, b) for a, b in zip(starts.tolist(), stops.tolist(), strict=True)]
