"""Transfers that hide whole under one operation, or not at all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spmopt.assemble.cost import transfer_cycles
from spmopt.core.machine import Machine
from spmopt.core.table import Ints
from spmopt.policies.transfers.idle import Pieces
from spmopt.policies.transfers.rows import WholeRows

_SPAN = 512


@dataclass(frozen=True, kw_only=True, eq=False)
class Beside:
    """Columns over steps (n): idle DMA cycles of one direction, and free pages.

    Both are lessened as transfers are placed.
    """

    idle: Ints
    room: Ints


def stores_under_one(machine: Machine, rows: WholeRows, latest: Ints, beside: Beside) -> Pieces:
    """Pieces of the stores, each whole.

    A store goes under the first step after the row's last use, and up to ``latest``, that has
    the time, if the tensor can stay until then; otherwise it moves at the last use.
    """
    chosen = np.flatnonzero(rows.stores)
    chosen = chosen[np.argsort(rows.last_use[chosen], kind="stable")]
    cycles = transfer_cycles(machine, rows.size_bytes)
    at = rows.last_use.copy()
    for row in chosen.tolist():
        begin, end = int(rows.last_use[row]) + 1, int(latest[row]) + 1
        step = _first(beside.idle[begin:end], cycles[row], beside.room[begin:end], rows.pages[row])
        if step is not None:
            at[row] = begin + step
            beside.idle[begin + step] -= cycles[row]
            beside.room[begin : begin + step + 1] -= rows.pages[row]
        elif not (rows.pinned_store[row] and rows.last_write[row] == at[row]):
            beside.idle[at[row]] = max(0, beside.idle[at[row]] - cycles[row])
    return Pieces(item=chosen, step=at[chosen], pages=rows.pages[chosen])


def loads_under_one(machine: Machine, rows: WholeRows, earliest: Ints, beside: Beside) -> Pieces:
    """Pieces of the loads, each whole.

    A load goes under the last step before the row's first use, from ``earliest`` on, that has
    the time, if there is room for the tensor from then on; otherwise it moves at the use.
    """
    chosen = np.flatnonzero(rows.loads)
    chosen = chosen[np.argsort(rows.first_use[chosen], kind="stable")]
    cycles = transfer_cycles(machine, rows.size_bytes)
    at = rows.first_use.copy()
    demand = chosen[~rows.pinned_load[chosen]]
    use = rows.first_use
    # What the uses must load anyway takes its time first; a load that is hidden gives it back.
    np.subtract.at(beside.idle, use[demand], cycles[demand])
    for row in chosen.tolist():
        begin, end = int(earliest[row]), int(use[row])
        window = slice(begin, end)
        back = _first(
            beside.idle[window][::-1], cycles[row], beside.room[window][::-1], rows.pages[row]
        )
        if back is not None:
            at[row] = step = end - 1 - back
            beside.idle[step] -= cycles[row]
            beside.room[step:end] -= rows.pages[row]
            if not rows.pinned_load[row]:
                beside.idle[end] += cycles[row]
    return Pieces(item=chosen, step=at[chosen], pages=rows.pages[chosen])


def _first(idle: Ints, cycles: int, room: Ints, pages: int) -> int | None:
    """First place with the time for a transfer, before any without room for its tensor."""
    for start in range(0, idle.size, _SPAN):
        full = np.flatnonzero(room[start : start + _SPAN] < pages)
        limit = start + (int(full[0]) if full.size else _SPAN)
        fitting = np.flatnonzero(idle[start:limit] >= cycles)
        if fitting.size:
            return start + int(fitting[0])
        if full.size:
            return None
    return None
