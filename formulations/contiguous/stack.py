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
from formulations.contiguous.memory import Memory
from formulations.contiguous.stays import Stay
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
    objective: Objective


def stack(case: Case, stays: list[Stay], memory: Memory, *, tie: bool = False) -> Stack:
    """The program for the neighbours that ``stays`` have now.

    With ``tie`` also the one of its solutions that moves less, which takes longer.
    """
    objective = case.objective
    c, stay = cells_of(case, stays, lengthened(stays, memory, case.line.steps))
    families = [rows.growth(c), rows.dirt(c), rows.no_lost_write(c)]
    if objective.cycle > 0:
        families += [*rows.channel(c), rows.serial(c)]
    value = byte_value(c, objective)
    total = cost(c, objective, value)
    if tie:
        total += _TIE * cost(c, replace(TRAFFIC, dram_in_byte=value, dram_out_byte=value), value)
    unit = byte_unit(case.instance.machine.spm_bytes)
    return Stack(
        program=program(
            c,
            [*families, _neighbours(c, stays, stay)],
            np.concatenate((total, np.zeros(len(stays)))),
            unit,
            absent=stay < 0,
        ),
        context=c,
        stay=stay,
        bases=c.columns.count,
        byte_unit=unit,
    )


def cells_of(case: Case, stays: list[Stay], spans: Ints) -> tuple[rows.Context, Ints]:
    """Cells for ``stays`` that may last over the steps ``spans`` (s, 2); the stay of each (k,)."""
    line = case.line
    tensor = np.array([stay.tensor for stay in stays], np.int64)
    cells = kept_cells(line, tensor, spans[:, 0], spans[:, 1])
    context = rows.Context(
        machine=case.instance.machine,
        line=line,
        cells=cells,
        columns=number_columns(line, cells, timed=case.objective.cycle > 0, pages=False),
        streams=rows.Streams.of(line, cells),
    )
    if not stays:
        return context, np.full(len(cells), -1, np.int64)
    key = tensor * line.steps + spans[:, 0]
    order = np.argsort(key)
    at = np.searchsorted(key[order], cells.tensor * line.steps + cells.step, side="right") - 1
    owner = order[np.maximum(at, 0)]
    inside = (at >= 0) & (tensor[owner] == cells.tensor) & (cells.step < spans[owner, 1])
    return context, np.where(inside, owner, -1)


def own_spans(stays: list[Stay]) -> Ints:
    """(s, 2) First step of each stay, and one past its last."""
    return np.array([(stay.begin, stay.end) for stay in stays], np.int64).reshape(-1, 2)


def lengthened(stays: list[Stay], memory: Memory, steps: int) -> Ints:
    """(s, 2) Steps around each stay in which no other is across its base.

    Stays of one tensor keep a step apart: the bytes of one do not stay for the other.
    """
    spans = own_spans(stays)
    order = sorted(range(len(stays)), key=lambda k: (stays[k].tensor, stays[k].begin))
    before = -1
    for owner, after in zip(order, [*order[1:], -1], strict=False):
        stay = stays[owner]
        least, most = 0, steps
        if before >= 0 and stays[before].tensor == stay.tensor:
            least = int(spans[before, 1]) + 1
        if after >= 0 and stays[after].tensor == stay.tensor:
            most = stays[after].begin - 1
        first, last = _free_around(stay, owner, memory, steps)
        spans[owner] = min(max(least, first), stay.begin), max(min(most, last), stay.end)
        before = owner
    return spans


def _free_around(stay: Stay, owner: int, memory: Memory, steps: int) -> tuple[int, int]:
    """First and last steps around a stay between which no other is across its base."""
    taken = memory.around(0, steps, owner)
    across = (taken.low < stay.base) & (stay.base < taken.high)
    across |= (taken.owner < 0) & (taken.low <= stay.base)
    begin, end = taken.begin[across], taken.end[across]
    after = int(begin[begin >= stay.end].min(initial=steps))
    before = int(end[end <= stay.begin].max(initial=0))
    return before, after


def _neighbours(c: rows.Context, stays: list[Stay], stay: Ints) -> rows.Rows:
    """``a_s + g ceil(s/g)/s r_s(i) <= a_u``, or the room under the scratch, in every step."""
    page, line = c.machine.page_bytes, c.line
    k = np.flatnonzero(stay >= 0)
    owner, step = stay[k], c.cells.step[k]
    base = np.array([one.base for one in stays], np.int64)
    begin = np.array([one.begin for one in stays], np.int64)
    heights = np.concatenate([np.empty(0, np.int64), *(one.heights for one in stays)])
    first = np.concatenate(([0], np.cumsum([one.heights.size for one in stays])))
    at = step - begin[owner]
    own = (at >= 0) & (at < np.diff(first)[owner])
    height = np.where(own, heights[np.where(own, first[owner] + at, 0)] if heights.size else 0, 0)
    order = np.lexsort((owner, height > 0, base[owner], step))
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
