"""From the values of the linear program to a plan in whole pages, with addresses."""

from __future__ import annotations

import numpy as np

from formulations.contiguous.memory import Memory
from formulations.contiguous.stays import Stay, Uses
from formulations.residency.plain.cells import Cells
from formulations.residency.plain.rows import Context
from formulations.solver.program import Floats
from spmopt.core.plan import Plan, Ranges, Residency, Stores
from spmopt.core.table import Bools, Ints

_NEARLY = 1e-4  # of a page, and of a stored byte: more than the solver's tolerance


def in_pages(c: Context, resident: Floats) -> Ints:
    """(k,) Resident bytes, rounded down to pages; all of a tensor stays all of it."""
    size, page = c.size, c.machine.page_bytes
    down = np.floor(resident / page + _NEARLY).astype(np.int64) * page
    whole = resident >= size - _NEARLY * page
    pages: Ints = np.where(whole, size, np.minimum(down, size))
    return pages


def stays_now(
    c: Context, stay: Ints, bases: Ints | Floats, resident: Ints, uses: Uses
) -> list[Stay]:
    """Stays that ``resident`` makes, at the ``bases`` of those whose cells they are."""
    found = []
    for cells in _runs(c.cells, resident > 0, stay):
        tensor, begin = int(c.cells.tensor[cells.start]), int(c.cells.step[cells.start])
        heights = -(-resident[cells] // c.machine.page_bytes)
        used, stationary = uses.of(tensor, begin, begin + heights.size)
        found.append(
            Stay(
                tensor=tensor,
                begin=begin,
                heights=heights,
                uses=used,
                stationary=stationary,
                base=bases[stay[cells.start]],
            )
        )
    return found


def settle(stays: list[Stay], memory: Memory) -> None:
    """Let each stay down onto what is below it: whole pages, and never higher than it was.

    A base is a sum of heights below it, or less than a real one was: rounded heights make it
    smaller, or larger by a few of the solver's tolerances, which are no page.
    """
    for owner in sorted(range(len(stays)), key=lambda k: stays[k].base):
        stay = stays[owner]
        below = memory.around(stay.begin, stay.end, owner)
        stay.base = int(below.high[below.owner >= 0].max(initial=0))
        memory.take(owner, int(stay.base), stay.begin, stay.heights)


def plan_of(c: Context, resident: Ints, dirty: Floats, stays: list[Stay]) -> Plan:
    """Residency, stores and addresses; stores when the program has them, at the latest in time.

    Stored in a step is what (P2) and (P3) ask for: nothing is dirty that the next step does not
    hold, nor more than the program leaves dirty.
    """
    cells, line = c.cells, c.line
    order = np.arange(len(cells))
    follows = np.zeros(len(cells), bool)
    follows[:-1] = cells.previous[1:] == order[:-1]
    after = np.where(follows, np.append(resident[1:], 0), 0)
    # Dead contents are no cells: then nothing follows, and nothing is dirty.
    limit = np.minimum(np.floor(np.minimum(dirty, c.size) + _NEARLY).astype(np.int64), after)
    limit[~follows & ~cells.last] = np.iinfo(np.int64).max
    store = _stored(cells, resident, limit)
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


def _stored(cells: Cells, resident: Ints, limit: Ints) -> Ints:
    """(k,) Bytes to store: what is dirty beyond ``limit`` after each cell."""
    store = np.zeros(len(cells), np.int64)
    left = 0
    changed = np.flatnonzero(cells.dirty)
    for k, fresh, held, most in zip(
        changed.tolist(),
        cells.written[changed].tolist(),
        resident[changed].tolist(),
        limit[changed].tolist(),
        strict=True,
    ):
        before = held if fresh else left
        left = min(before, most)
        store[k] = before - left
    return store


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
