"""Loads and stores that wait for idle DMA time, in windows around the uses of a tensor.

What finds no idle time in its window moves at its use.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spmopt.core.machine import Machine
from spmopt.core.table import Ints
from spmopt.policies.transfers.idle import Pieces, Waiting, fill_idle


def stores_in_windows(
    machine: Machine, within: Waiting, until: Ints, idle_cycles: Ints, room_pages: Ints
) -> Pieces:
    """Pieces of stores that move up to the last use, and then beyond it.

    Parameters
    ----------
    within
        (k,) From the last write to the last use, where the whole tensor has its room anyway.
    until : (k,)
        Last step of the window beyond, in which what is still to go holds room.
    idle_cycles, room_pages : (n,)
        DMA time that costs nothing, and pages that are free after the last uses.
    """
    no_limit = np.full(room_pages.size, int(within.pages.sum()))
    early = fill_idle(machine, within, idle_cycles, no_limit)
    beyond = replace(
        within,
        home=within.last,
        last=until,
        pages=early.returned,
        size_bytes=np.minimum(early.returned * machine.page_bytes, within.size_bytes),
        at_home=np.zeros(until.size, bool),
    )
    late = fill_idle(machine, beyond, early.idle_cycles, room_pages)
    return Pieces.together(early.pieces, late.pieces, _at(within.last, late.returned))


def loads_in_windows(
    machine: Machine, waiting: Waiting, idle_cycles: Ints, room_pages: Ints
) -> Pieces:
    """Pieces of loads that move backwards in time.

    Parameters
    ----------
    waiting
        (k,) From the use, ``home``, back to the earliest step, ``last``.
    idle_cycles, room_pages : (n,)
        DMA time that costs nothing, and pages that are free before the uses.
    """
    final = room_pages.size - 1
    mirrored = replace(waiting, home=final - waiting.home, last=final - waiting.last)
    filled = fill_idle(machine, mirrored, idle_cycles[::-1], room_pages[::-1])
    pieces = replace(filled.pieces, step=final - filled.pieces.step)
    return Pieces.together(pieces, _at(waiting.home, filled.returned))


def _at(step: Ints, pages: Ints) -> Pieces:
    """Pieces that move what was given back, each in its ``step``."""
    item = np.flatnonzero(pages)
    return Pieces(item=item, step=step[item], pages=pages[item])
