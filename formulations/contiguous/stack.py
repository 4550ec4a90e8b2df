"""The best residency and bases for given neighbors: a linear program.

Say which stay is above which in each step. Then "free of overlap" is linear: with the base ``a``
of a stay and its prefix ``r`` in step ``i``, ``a_s + r_s(i) <= a_u`` for ``u`` next above ``s``,
and ``a_s + r_s(i) <= C - b_i`` for the topmost. These rows stand in for the capacity of the plain
model, whose other rows stay: everything but the neighbors is optimized, all stays at once. Bases
and prefixes rounded down to pages keep all these rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from formulations.contiguous.cells import kept_cells
from formulations.contiguous.held import Held
from formulations.contiguous.memory import Memory
from formulations.contiguous.rows import (
    Context,
    Variables,
    carry_dirty,
    fill_channels,
    grow,
    lose_nothing,
    wait,
)
from formulations.contiguous.spans import heights_at, lengthened
from formulations.contiguous.stays import Stay, Uses
from formulations.contiguous.window import Window
from formulations.solver.program import Floats, Program, ProgramBuilder
from spmopt.core.instance import Instance
from spmopt.core.objective import Objective
from spmopt.core.table import Ints
from spmopt.core.timeline import Timeline

_TIE = 1e-5
"""Of a byte's dearest price: of schedules that take the same time, the one that moves less."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Stack:
    """The program, and how to read it.

    Attributes
    ----------
    stay : (k,)
        Of each cell, or -1 where the tensor cannot be resident.
    bases : (s,)
        Columns of the stays' bases.
    """

    program: Program
    context: Context
    columns: Variables
    stay: Ints
    bases: Ints


class Case(NamedTuple):
    """What is to be scheduled, and for what."""

    instance: Instance
    line: Timeline
    uses: Uses
    objective: Objective

    def memory(self, window: Window) -> Memory:
        """All free but the scratch."""
        machine, steps = self.instance.machine, slice(window.first, window.last)
        scratch = machine.pages(self.line.scratch_bytes[steps])
        return Memory(machine.spm_pages, scratch, window.first)


def stack(case: Case, held: Held, memory: Memory, window: Window, *, tie: bool = False) -> Stack:
    """The program for the neighbors that the stays have now.

    With ``tie`` also the one of its solutions that moves less, which takes longer.
    """
    objective, stays, build = case.objective, held.stays, ProgramBuilder()
    c, stay = cells_of(case, stays, lengthened(stays, memory, window, case.uses), window)
    x = Variables.of(build, c, objective, absent=stay < 0, tie=_TIE if tie else 0.0)
    bases = build.columns(len(stays))
    grow(build, c, x)
    carry_dirty(build, c, x)
    lose_nothing(build, c, x)
    if objective.cycle > 0:
        fill_channels(build, c, x)
        wait(build, c, x)
    step = c.cells.step + window.first
    pages = heights_at(stays, stay, step)
    within = np.where(window.edges(step), -1, stay)
    _stack_up(build, c, stays, resident=x.resident, bases=bases, stay=within, pages=pages)
    built = Stack(program=build.program(by_rows=True), context=c, columns=x, stay=stay, bases=bases)
    return replace(built, program=_with_edges(built, held, pages, window))


def _with_edges(built: Stack, held: Held, pages: Ints, window: Window) -> Program:
    """The program with what is fixed at the edges of the window."""
    c, x, unit = built.context, built.columns, built.context.byte_unit
    lower, upper = built.program.lower.copy(), built.program.upper.copy()
    step = c.cells.step + window.first
    k = np.flatnonzero(window.edges(step))
    page = c.machine.page_bytes
    lower[x.resident[k]] = upper[x.resident[k]] = np.minimum(pages[k] * page, c.size[k]) / unit
    dirty = held.dirty.of(c.cells.tensor[k], step[k]) / unit
    column, before = x.dirty[k], step[k] < window.begin
    upper[column[column >= 0]] = dirty[column >= 0]
    lower[column[(column >= 0) & before]] = dirty[(column >= 0) & before]
    fixed = np.unique(built.stay[k[pages[k] > 0]])
    base = np.array([held.stays[owner].base for owner in fixed.tolist()], np.float64)
    lower[built.bases[fixed]] = upper[built.bases[fixed]] = base * page / unit
    return replace(built.program, lower=lower, upper=upper)


def cells_of(case: Case, stays: list[Stay], spans: Ints, window: Window) -> tuple[Context, Ints]:
    """Cells for ``stays`` that may last over the steps ``spans`` (s, 2); the stay of each (k,).

    Steps of the cells count from the first one of the window.
    """
    steps = case.line.steps
    tensor = np.array([stay.tensor for stay in stays], np.int64)
    cells = kept_cells(case.line, window, tensor, spans)
    line = window.part_of(case.line)
    context = Context(machine=case.instance.machine, line=line, cells=cells)
    if not stays:
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
    c: Context,
    stays: list[Stay],
    *,
    resident: Ints,
    bases: Ints,
    stay: Ints,
    pages: Ints,
) -> None:
    """``a_s + g ceil(s/g)/s r_s(i) <= a_u``, or the room under the scratch, in every step."""
    page, machine = c.machine.page_bytes, c.machine
    k = np.flatnonzero(stay >= 0)
    owner, step = stay[k], c.cells.step[k]
    base = np.array([one.base for one in stays], np.int64)
    order = np.lexsort((owner, pages[k] > 0, base[owner], step))
    k, owner, step = k[order], owner[order], step[order]
    last = np.append(step[1:] != step[:-1], True)[: step.size]
    size = c.size[k]
    padded = machine.pages(size) * page / size
    above = np.where(last, -1, bases[np.append(owner[1:], 0)[: owner.size]])
    free = (machine.spm_pages - machine.pages(c.line.scratch_bytes[step])) * page
    row = build.rows(k.size, upper=np.where(last, free, 0) / c.byte_unit)
    build.add(row, resident[k], padded)
    build.add(row, bases[owner], 1.0)
    build.add(row, above, -1.0)


def values(stack: Stack, primal: Floats) -> tuple[Floats, Floats, Floats]:
    """Resident and dirty bytes of each cell (k,), base pages of each stay."""
    c, x, unit = stack.context, stack.columns, stack.context.byte_unit
    resident = primal[x.resident] * unit
    dirty = np.where(x.dirty >= 0, primal[np.maximum(x.dirty, 0)] * unit, 0.0)
    pages: Floats = primal[stack.bases] * unit / c.machine.page_bytes
    return resident, dirty, pages
