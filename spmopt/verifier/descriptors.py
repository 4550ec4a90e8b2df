"""DMA descriptors: how often scattered pages make one command start anew.

A descriptor moves one contiguous range of DRAM to or from one contiguous range of the SPM. The
bytes of a command are contiguous in DRAM, so it needs one for each run of adjacent SPM pages
that they lie on, in the order of the tensor. Streamed bytes are never resident: only resident
pages and scratch have an address (PROBLEM.md, R8), and all fetches of a stream are one
command (R3), so a stream counts once. Descriptors cost no time here: ``lambda`` is paid for a
command, and scattered pages do not split it (section 1).
"""

from __future__ import annotations

from bisect import bisect_right, insort

import numpy as np

from spmopt.core.schedule import Command, Commands, Placements
from spmopt.core.table import Ints

_END, _BEGIN, _COUNT = 0, 1, 2


def descriptors(page_bytes: int, commands: Commands, placements: Placements) -> Ints:
    """Return (m,) descriptors of every command, by the addresses in force at its step.

    The tables are those of a legal schedule: the placements of a tensor are its resident
    prefix once in every step.
    """
    count = np.ones(len(commands), np.int64)
    tensor, page, begin, end = _breaks(placements)
    broken = np.zeros(max(tensor.max(initial=-1), commands.tensor.max(initial=-1)) + 1, bool)
    broken[tensor] = True
    first, last = commands.begin // page_bytes, (commands.end - 1) // page_bytes
    moved = (commands.kind == Command.LOAD) | (commands.kind == Command.STORE)
    asked = np.flatnonzero(moved & (first < last) & broken[commands.tensor])
    event = np.repeat([_END, _BEGIN, _COUNT], [tensor.size, tensor.size, asked.size])
    step = np.concatenate((end, begin, commands.step[asked]))
    order = np.lexsort((event, step, np.concatenate((tensor, tensor, commands.tensor[asked]))))
    low = np.concatenate((page, page, first[asked]))[order].tolist()
    high = np.concatenate((page, page, last[asked]))[order].tolist()
    row = np.concatenate((np.zeros(2 * tensor.size, np.int64), asked))[order]
    found = _between(event[order].tolist(), low, high)
    count[row[event[order] == _COUNT]] += np.array(found, np.int64)
    return count


def _between(events: list[int], low: list[int], high: list[int]) -> list[int]:
    """Return breaks in (low, high] at every ``_COUNT``; others begin or end the break at ``low``.

    Events come tensor by tensor, in time; all breaks of a tensor have ended before the next.
    """
    found = []
    present: list[int] = []
    for event, begin, end in zip(events, low, high, strict=True):
        if event == _COUNT:
            found.append(bisect_right(present, end) - bisect_right(present, begin))
        elif event == _BEGIN:
            insort(present, begin)
        else:
            del present[bisect_right(present, begin) - 1]
    return found


def _breaks(placed: Placements) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the tensor, page, first and last step (exclusive) of every break.

    Before a break's page lies another one of its tensor, but not at the SPM page before.
    """
    upper = np.flatnonzero((placed.tensor >= 0) & (placed.tensor_page > 0))
    lower = np.flatnonzero(placed.tensor >= 0)
    top = placed.tensor_page + placed.pages
    height = top.max(initial=0) + 1
    # A number for every place (tensor, page) at which a row begins or ends.
    starts = placed.tensor[upper] * height + placed.tensor_page[upper]
    stops = placed.tensor[lower] * height + top[lower]
    _, place = np.unique(np.concatenate((starts, stops)), return_inverse=True)
    span = placed.end.max(initial=0) + 1
    above, below = place[: upper.size] * span, place[upper.size :] * span
    order = np.argsort(below + placed.begin[lower], kind="stable")
    lower, below = lower[order], below[order]
    # Rows below one place follow each other in time: those that share steps with a row above.
    first = np.searchsorted(below + placed.end[lower], above + placed.begin[upper], "right")
    last = np.searchsorted(below + placed.begin[lower], above + placed.end[upper], "left")
    many = np.maximum(last - first, 0)
    up = np.repeat(upper, many)
    down = lower[np.arange(up.size) + np.repeat(first - (np.cumsum(many) - many), many)]
    distance = placed.spm_page - placed.tensor_page
    apart = distance[up] != distance[down]
    up, down = up[apart], down[apart]
    return (
        placed.tensor[up],
        placed.tensor_page[up],
        np.maximum(placed.begin[up], placed.begin[down]),
        np.minimum(placed.end[up], placed.end[down]),
    )
