"""Solutions of the plain model as residency plans, and plans as solutions to start from."""

from __future__ import annotations

import numpy as np

from formulations.residency.bound.ranked import RankedIntervals
from formulations.residency.pages.profiles import Profiles
from formulations.residency.pages.rounding import to_residency_plan
from formulations.residency.plain.cells import Cells
from formulations.residency.plain.columns import Amounts
from formulations.residency.plain.model import PlainModel, Use
from formulations.solver.program import Floats
from spmopt.assemble.index import resident_bytes
from spmopt.core.machine import Machine
from spmopt.core.schedule import Residency, ResidencyPlan, Steps, Stores
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Timeline

_NEARLY = 1e-4
"""Bytes that a solver's tolerance may lack of a whole number."""
_ROUNDED = 1e-9
"""Of a cycle, that sums of floats may be above a whole number."""


def read_amounts(model: PlainModel, primal: Floats) -> Amounts:
    """Return the bytes of a solution in whole pages."""
    cells = model.cells
    full = _by_cell(model.full, primal) > 1 - _NEARLY
    some = _by_cell(model.resident, primal) * model.unit / model.machine.page_bytes
    pages = np.floor(some + _NEARLY).astype(np.int64)
    resident = np.where(full, model.size, pages * model.machine.page_bytes)
    dirty = np.floor(_by_cell(model.dirty, primal) * model.unit + _NEARLY).astype(np.int64)
    dirty = np.where(cells.dirty, np.minimum(dirty, resident), 0)
    if model.keeps:
        resident = np.minimum(resident, _come_or_wait(model, primal, dirty))
    return Amounts(resident=resident, dirty=_stores_in_time(cells, resident, dirty))


def _stores_in_time(cells: Cells, resident: Ints, dirty: Ints) -> Ints:
    """(k,) Dirty bytes, less those that would be in no place in the next cell."""
    dirty, follows = dirty.copy(), np.flatnonzero(cells.previous >= 0)
    before = cells.previous[follows]
    dirty[before] = np.minimum(dirty[before], resident[follows])
    return np.where(cells.dirty, dirty, 0)


def _come_or_wait(model: PlainModel, primal: Floats, dirty: Ints) -> Ints:
    """(k,) The most of each cell: in a gap that keeps nothing, what came back, or is not stored.

    The program charges as if all else had left; it may say so or not.
    """
    cells, page = model.cells, model.machine.page_bytes
    gap = model.gaps.inside[model.index]
    total = np.cumsum(_by_cell(model.load, primal)) * model.unit
    start = np.flatnonzero(np.diff(gap, prepend=-2) != 0)
    begun = start[np.searchsorted(start, np.arange(gap.size), "right") - 1]
    came = total - np.where(begun > 0, total[begun - 1], 0.0)
    waits = np.where(cells.previous >= 0, dirty[cells.previous], 0)
    most = -(-np.maximum(np.ceil(came - _NEARLY), waits).astype(np.int64) // page) * page
    dropped = (gap >= 0) & (_at(model.kept, gap, primal) < 0.5)
    result: Ints = np.where(dropped, np.minimum(most, model.size), model.size)
    return result


def _at(column: Ints, place: Ints, primal: Floats) -> Floats:
    """Return the values of columns at places; 1 where there is none."""
    there = (place >= 0) & (np.append(column, -1)[place] >= 0)
    values = np.ones(place.size)
    values[there] = primal[column[place[there]]]
    return values


def plan_of(steps: Steps, cells: Cells, amounts: Amounts) -> ResidencyPlan:
    """Return the plan of the bytes of all cells."""
    stored = np.where(cells.dirty, _before(cells, amounts) - amounts.dirty, 0)
    return ResidencyPlan(
        steps=steps,
        residency=_residency(cells, amounts.resident),
        stores=_stores(cells, stored),
    )


def amounts_of(cells: Cells, plan: ResidencyPlan, steps: int) -> Amounts:
    """Return the bytes of all cells in a legal plan of so many steps."""
    resident = resident_bytes(plan.residency, cells.step, cells.tensor)
    # What is loaded and never read is left out: such cells have no loads.
    grown = ~cells.loads & (cells.previous >= 0) & ~cells.written
    while (more := np.flatnonzero(grown & (resident > resident[cells.previous]))).size:
        resident[more] = resident[cells.previous[more]]
    stored = np.zeros(len(cells), np.int64)
    # Cells are sorted by this key, and a plan stores nowhere else.
    key = cells.tensor * steps + cells.step
    at = np.searchsorted(key, plan.stores.tensor * steps + plan.stores.step)
    stored[at] = plan.stores.size_bytes
    # Dirty are the bytes of the last write, less those that were stored since.
    total = np.cumsum(stored)
    starts = np.flatnonzero(cells.written | (cells.previous < 0))
    start = starts[np.searchsorted(starts, np.arange(len(cells)), "right") - 1]
    written = np.where(cells.written[start], resident[start], 0)
    dirty = written - (total - total[start] + stored[start])
    return Amounts(resident=resident, dirty=np.where(cells.dirty, dirty, 0))


def coarsen(fine: Cells, amounts: Amounts, coarse: Cells) -> Amounts:
    """Return a start of fewer cells: a span has the least that any of its steps has on chip.

    Bytes are stored before the first step in which they may not remain.
    """
    if len(fine) == len(coarse):
        return amounts
    # Spans are cells in a row, in the same order.
    first = np.flatnonzero(np.isin(_key(fine), _key(coarse)))
    resident = np.minimum.reduceat(amounts.resident, first)
    last = np.append(first[1:], len(fine)) - 1
    dirty = _stores_in_time(coarse, resident, amounts.dirty[last])
    return Amounts(resident=resident, dirty=dirty)


def _key(cells: Cells) -> Ints:
    return cells.tensor * (int(cells.end.max(initial=0)) + 1) + cells.step


def steps_of(model: PlainModel, primal: Floats) -> Steps:
    """Return the order with the mappings that a solution chooses."""
    choices, mapping = model.choices, model.line.chosen.mapping.copy()
    taken = primal[model.chosen] > 0.5
    mapping[choices.step[taken]] = choices.mapping[taken]
    return Steps(operation=model.line.order, mapping=mapping)


def start_of(model: PlainModel, every: Amounts) -> Floats:
    """Return the solution with the bytes of all cells, in whole pages and the line's mappings."""
    cells, inside, parts = model.cells, model.inside, model.parts
    amounts = Amounts(resident=every.resident[model.index], dirty=every.dirty[model.index])
    resident, nothing = amounts.resident, np.zeros(len(cells), np.int64)
    before = np.where(cells.previous >= 0, resident[cells.previous], 0)
    loaded = np.where(inside & ~cells.blind, np.maximum(resident - before, 0), nothing)
    stored = np.where(inside & cells.dirty, _before(cells, amounts) - amounts.dirty, nothing)
    full = resident >= model.size
    primal = np.zeros(model.program.cost.size)

    def put(column: Ints, values: Ints | Floats | Bools) -> None:
        there = column >= 0
        primal[column[there]] = values[there]

    choices = model.choices
    taken = choices.mapping == model.line.chosen.mapping[choices.step]
    put(model.chosen, taken)
    runs = np.append(taken, True)[parts.choice]
    put(model.resident, resident / model.unit)
    put(model.load, loaded / model.unit)
    put(model.store, stored / model.unit)
    put(model.dirty, amounts.dirty / model.unit)
    put(model.full, full)
    put(model.kept, _are_kept(model, every.resident))
    put(model.pages, np.where(full, 0, resident // model.machine.page_bytes))
    for column, whole in (
        (model.part_resident, resident),
        (model.part_load, loaded),
        (model.part_store, stored),
    ):
        put(column, runs * whole[parts.cell] / model.unit)
    put(model.load_command, runs & (loaded > 0)[parts.cell])
    put(model.store_command, runs & (stored > 0)[parts.cell])
    put(model.stream_command, runs & ~full[parts.cell])
    rate = float(model.machine.bytes_per_cycle)
    for use, cycles in zip(model.moves, model.cycles, strict=True):
        put(cycles, np.ceil(_time(model, primal, use) / rate - _ROUNDED))
    if model.time.size:
        primal[model.time] = _least_time(model, primal)
    return primal


def _are_kept(model: PlainModel, resident: Ints) -> Bools:
    """(g,) Whether each gap keeps its tensor, of the bytes of all cells."""
    gaps, every = model.gaps, model.every
    partial = resident < model.line.size_bytes[every.tensor]
    kept = ~(partial[gaps.first] | partial[gaps.last])
    kept[gaps.inside[partial & (gaps.inside >= 0)]] = False
    return kept


def _before(cells: Cells, amounts: Amounts) -> Ints:
    """(k,) Dirty bytes of each cell before its stores."""
    earlier = np.where(cells.previous >= 0, amounts.dirty[cells.previous], 0)
    before: Ints = np.where(cells.written, amounts.resident, earlier)
    return before


def _by_cell(column: Ints, primal: Floats) -> Floats:
    values: Floats = np.where(column >= 0, primal[column], 0.0)
    return values


def _residency(cells: Cells, resident: Ints) -> Residency:
    """Join steps in a row with the same bytes."""
    first, last = runs_of(cells, resident > 0, resident)
    return Residency(
        tensor=cells.tensor[first],
        begin=cells.step[first],
        end=cells.end[last],
        size_bytes=resident[first],
    )


def runs_of(cells: Cells, where: Bools, key: Ints) -> tuple[Ints, Ints]:
    """Return the first and the last cell of each run of steps with the same ``key`` (k,)."""
    some = np.flatnonzero(where)
    tensor, step = cells.tensor[some], cells.step[some]
    goes_on = (np.diff(tensor) == 0) & (step[1:] == cells.end[some][:-1])
    goes_on &= np.diff(key[some]) == 0
    first = np.flatnonzero(np.concatenate((np.ones(min(1, some.size), bool), ~goes_on)))
    last = np.append(first[1:], some.size)[: first.size] - 1
    return some[first], some[last]


def _stores(cells: Cells, stored: Ints) -> Stores:
    some = np.flatnonzero(stored > 0)
    tensor, step = cells.tensor[some], cells.step[some]
    order = np.lexsort((tensor, step))
    return Stores(step=step[order], tensor=tensor[order], size_bytes=stored[some][order])


def _time(model: PlainModel, primal: Floats, use: Use) -> Floats:
    """(q,) Time of a use in each part, in bytes."""
    terms = (share * _by_cell(getattr(model, name), primal) for name, share in use.terms.items())
    total: Floats = use.constant + model.unit * sum(terms, start=np.zeros(model.parts.cell.size))
    return total


def _least_time(model: PlainModel, primal: Floats) -> Floats:
    """(n,) The least time of each step by its rows, the other columns as they are."""
    program = model.program
    matrix = program.matrix
    row = np.repeat(np.arange(program.row_lower.size), np.diff(matrix.start))
    sums = np.bincount(row, matrix.value * primal[matrix.index], program.row_lower.size)
    rows = np.stack(model.time_rows)
    least: Floats = np.max(program.row_lower[rows] - sums[rows], axis=0)
    return least


def round_plan(model: PlainModel, primal: Floats, duals: Floats) -> ResidencyPlan | None:
    """Return a plan in whole pages near a solution in bytes; as :func:`round_bytes`."""
    columns = (model.resident, model.dirty)
    resident, dirty = (_by_cell(each, primal) * model.unit for each in columns)
    return round_bytes(model.machine, model.line, model.cells, (resident, dirty), duals)


def round_bytes(
    machine: Machine,
    line: Timeline,
    cells: Cells,
    amounts: tuple[Floats, Floats],
    duals: Floats,
) -> ResidencyPlan | None:
    """Return a plan in whole pages near some bytes of cells; None where no rounding fits.

    Parameters
    ----------
    amounts
        Bytes resident in the step of each cell (k,), and dirty after it.
    duals : (n,)
        Objective units of a byte that moves in each step: where pages are free, those of them
        that save most are kept on chip too.
    """
    resident, dirty = amounts
    if not len(cells):  # nothing to decide
        empty = np.zeros(0, np.int64)
        return plan_of(line.chosen, cells, Amounts(resident=empty, dirty=empty))
    # A row for the step after each run of cells, in which nothing is resident.
    after = np.flatnonzero(
        np.append(np.diff(cells.tensor * (line.steps + 2) + cells.step) != 1, True)
    )
    tensor = np.concatenate((cells.tensor, cells.tensor[after]))
    step = np.concatenate((cells.step, cells.step[after] + 1))
    nothing, none = np.zeros(after.size), np.full(after.size, -1, np.int64)
    order = np.lexsort((step, tensor))
    intervals = RankedIntervals(line)
    # A profile has the dirty bytes before a step, a cell those after it.
    before = np.where(cells.previous >= 0, dirty[cells.previous], 0.0)
    profile = Profiles(
        intervals,
        tensor=tensor[order],
        step=step[order],
        access=np.concatenate((intervals.position[cells.access], none))[order],
        resident=np.concatenate((resident, nothing))[order],
        dirty=np.concatenate((before, nothing))[order],
    )
    room = machine.spm_pages - machine.pages(line.scratch_bytes)
    return to_residency_plan(
        profile, duals, page_bytes=machine.page_bytes, capacity_pages=room.astype(np.int64)
    )
