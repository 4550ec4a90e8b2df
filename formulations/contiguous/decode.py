"""From the values of the linear program to a plan in whole pages, with addresses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from formulations.contiguous.memory import Memory
from formulations.contiguous.rows import Context
from formulations.contiguous.stays import Stay
from formulations.residency.cells import Cells
from formulations.solver.program import Floats
from spmopt.core.schedule import Plan, Ranges, Residency, Stores
from spmopt.core.table import Bools, Ints

_NEARLY = 1e-4  # of a page, and of a stored byte: more than the solver's tolerance


class Now(NamedTuple):
    """Stays, and of each the stay that its cells were of."""

    stays: list[Stay]
    owner: list[int]


def in_pages(c: Context, resident: Floats) -> Ints:
    """(k,) Resident bytes, rounded down to pages; all of a tensor stays all of it."""
    size, page = c.size, c.machine.page_bytes
    down = np.floor(resident / page + _NEARLY).astype(np.int64) * page
    whole = resident >= size - _NEARLY * page
    pages: Ints = np.where(whole, size, np.minimum(down, size))
    return pages


def stays_now(c: Context, first: int, stay: Ints, bases: Ints | Floats, resident: Ints) -> Now:
    """Stays that ``resident`` makes, at the ``bases`` of those whose cells they are.

    The steps of the cells count from ``first``.
    """
    now = Now([], [])
    for cells in _runs(c.cells, resident > 0, stay):
        owner = int(stay[cells.start])
        one = Stay(
            tensor=int(c.cells.tensor[cells.start]),
            begin=int(c.cells.step[cells.start]) + first,
            heights=-(-resident[cells] // c.machine.page_bytes),
            base=bases[owner],
        )
        now.stays.append(one)
        now.owner.append(owner)
    return now


def settle(stays: list[Stay], fixed: Bools, memory: Memory) -> bool:
    """Let each stay down onto what is below it: whole pages, and never higher than it was.

    A base is a sum of heights below it, or less than a real one was: rounded heights make it
    smaller, or larger by a few of the solver's tolerances, which are no page. Those ``fixed``
    (s,) stay where they are; false if something is in their way.
    """
    for owner in sorted(range(len(stays)), key=lambda k: stays[k].base):
        stay = stays[owner]
        below = memory.around(stay.begin, stay.end, owner)
        base = int(below.high[below.owner >= 0].max(initial=0))
        if fixed[owner]:
            if base > round(stay.base):
                return False
            base = round(stay.base)
        stay.base = base
        memory.take(owner, base, stay.begin, stay.heights)
    return True


def stores(c: Context, resident: Ints, dirty: Floats) -> tuple[Ints, Ints]:
    """(k,) Bytes to store in each cell, at the latest in time, and those dirty after it.

    Stored in a step is what (P2) and (P3) ask for: nothing is dirty that the next step does not
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


def plan_of(c: Context, resident: Ints, store: Ints, stays: list[Stay]) -> Plan:
    """Residency, stores and addresses, by the steps of the cells."""
    cells, line = c.cells, c.line
    stored = np.flatnonzero(store)
    stored = stored[np.lexsort((cells.tensor[stored], cells.step[stored]))]
    rows = _runs(cells, resident > 0, resident)
    first = np.array([row.start for row in rows], np.int64)
    last = np.array([row.stop - 1 for row in rows], np.int64)
    return Plan(
        operation=line.operation,
        mode=line.mode,
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
            tensor=np.array([stay.tensor for stay in stays], np.int64),
            begin=np.array([stay.begin for stay in stays], np.int64),
            end=np.array([stay.end for stay in stays], np.int64),
            spm_page=np.array([stay.base for stay in stays], np.int64),
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
