"""The best residency and bases for given neighbours: a linear program.

Say which stay is above which in each step. Then "free of overlap" is linear: with the base ``a``
of a stay and its prefix ``r`` in step ``i``, ``a_s + r_s(i) <= a_u`` for ``u`` next above ``s``,
and ``a_s + r_s(i) <= C - b_i`` for the topmost. These rows stand in for the capacity of the plain
model, whose other rows stay: everything but the neighbours is optimised, all stays at once. Bases
and prefixes rounded down to pages keep all these rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from formulations.contiguous.cells import kept_cells
from formulations.contiguous.held import Held
from formulations.contiguous.memory import Memory
from formulations.contiguous.spans import heights_at, lengthened
from formulations.contiguous.stays import Stay, Uses
from formulations.contiguous.window import Window
from formulations.residency.plain import rows
from formulations.residency.plain.arrays import (
    byte_unit,
    byte_value,
    cost,
    number_columns,
    program,
)
from formulations.solver.program import Floats, Program
from spmopt.core.instance import Instance
from spmopt.core.objective import TRAFFIC, Objective
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
    bases
        First of the columns of bases.
    """

    program: Program
    context: rows.Context
    stay: Ints
    bases: int
    byte_unit: int


class Case(NamedTuple):
    """What is to be scheduled, and for what."""

    instance: Instance
    line: Timeline
    uses: Uses
    objective: Objective

    def memory(self, window: Window) -> Memory:
        """All free but the scratch."""
        machine, steps = self.instance.machine, slice(window.first, window.last)
        scratch = rows.ceil_div(self.line.scratch_bytes[steps], machine.page_bytes)
        return Memory(machine.spm_pages, scratch, window.first)


def stack(case: Case, held: Held, memory: Memory, window: Window, *, tie: bool = False) -> Stack:
    """The program for the neighbours that the stays have now.

    With ``tie`` also the one of its solutions that moves less, which takes longer.
    """
    objective, stays = case.objective, held.stays
    c, stay = cells_of(case, stays, lengthened(stays, memory, window, case.uses), window)
    families = [rows.growth(c), rows.dirt(c), rows.no_lost_write(c)]
    if objective.cycle > 0:
        families += [*rows.channel(c), rows.serial(c)]
    value = byte_value(c, objective)
    total = cost(c, objective, value)
    if tie:
        total += _TIE * cost(c, replace(TRAFFIC, dram_in_byte=value, dram_out_byte=value), value)
    unit = byte_unit(case.instance.machine.spm_bytes)
    pages = heights_at(stays, stay, c.cells.step + window.first)
    free = program(
        c,
        [
            *families,
            _neighbours(
                c, stays, np.where(window.edges(c.cells.step + window.first), -1, stay), pages
            ),
        ],
        np.concatenate((total, np.zeros(len(stays)))),
        unit,
        absent=stay < 0,
    )
    built = Stack(program=free, context=c, stay=stay, bases=c.columns.count, byte_unit=unit)
    return replace(built, program=_with_edges(built, held, pages, window))


def _with_edges(built: Stack, held: Held, pages: Ints, window: Window) -> Program:
    """The program with what is fixed at the edges of the window."""
    c, unit = built.context, built.byte_unit
    lower, upper = built.program.lower.copy(), built.program.upper.copy()
    step = c.cells.step + window.first
    k = np.flatnonzero(window.edges(step))
    page = c.machine.page_bytes
    lower[c.columns.resident[k]] = upper[c.columns.resident[k]] = (
        np.minimum(pages[k] * page, c.size[k]) / unit
    )
    dirty = held.dirty.of(c.cells.tensor[k], step[k]) / unit
    column, before = c.columns.dirty[k], step[k] < window.begin
    upper[column[column >= 0]] = dirty[column >= 0]
    lower[column[(column >= 0) & before]] = dirty[(column >= 0) & before]
    fixed = np.unique(built.stay[k[pages[k] > 0]])
    base = np.array([held.stays[owner].base for owner in fixed.tolist()], np.float64)
    lower[built.bases + fixed] = upper[built.bases + fixed] = base * page / unit
    return replace(built.program, lower=lower, upper=upper)


def cells_of(
    case: Case, stays: list[Stay], spans: Ints, window: Window
) -> tuple[rows.Context, Ints]:
    """Cells for ``stays`` that may last over the steps ``spans`` (s, 2); the stay of each (k,).

    Steps of the cells count from the first one of the window.
    """
    steps = case.line.steps
    tensor = np.array([stay.tensor for stay in stays], np.int64)
    cells = kept_cells(case.line, window, tensor, spans)
    line = window.part_of(case.line)
    context = rows.Context(
        machine=case.instance.machine,
        line=line,
        cells=cells,
        columns=number_columns(line, cells, timed=case.objective.cycle > 0, pages=False),
        streams=rows.Streams.of(line, cells),
    )
    if not stays:
        return context, np.full(len(cells), -1, np.int64)
    step = cells.step + window.first
    key = tensor * steps + spans[:, 0]
    order = np.argsort(key)
    at = np.searchsorted(key[order], cells.tensor * steps + step, side="right") - 1
    owner = order[np.maximum(at, 0)]
    inside = (at >= 0) & (tensor[owner] == cells.tensor) & (step < spans[owner, 1])
    return context, np.where(inside, owner, -1)


def _neighbours(c: rows.Context, stays: list[Stay], stay: Ints, pages: Ints) -> rows.Rows:
    """``a_s + g ceil(s/g)/s r_s(i) <= a_u``, or the room under the scratch, in every step."""
    page, line = c.machine.page_bytes, c.line
    k = np.flatnonzero(stay >= 0)
    owner, step = stay[k], c.cells.step[k]
    base = np.array([one.base for one in stays], np.int64)
    order = np.lexsort((owner, pages[k] > 0, base[owner], step))
    k, owner, step = k[order], owner[order], step[order]
    last = np.append(step[1:] != step[:-1], True)[: step.size]
    scratch = rows.ceil_div(line.scratch_bytes, page)
    row = np.arange(k.size, dtype=np.int64)
    size = c.size[k]
    padded = rows.ceil_div(size, page) * page / size
    above = np.where(last, -1, c.columns.count + np.append(owner[1:], 0)[: owner.size])
    return rows.collect(
        [
            (row, c.columns.resident[k], padded),
            (row, c.columns.count + owner, 1.0),
            (row, above, -1.0),
        ],
        lower=-np.inf,
        upper=np.where(last, (c.machine.spm_pages - scratch[step]) * page, 0),
        count=k.size,
    )


def values(stack: Stack, primal: Floats) -> tuple[Floats, Floats, Floats]:
    """Resident and dirty bytes of each cell (k,), base pages of each stay."""
    c, unit = stack.context, stack.byte_unit
    resident = primal[c.columns.resident] * unit
    dirty = np.where(c.columns.dirty >= 0, primal[np.maximum(c.columns.dirty, 0)] * unit, 0.0)
    pages: Floats = primal[stack.bases :] * unit / c.machine.page_bytes
    return resident, dirty, pages
