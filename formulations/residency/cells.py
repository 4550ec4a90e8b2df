"""Cells: every (tensor, step) in which something can be decided of a tensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from formulations.reuse_intervals import steps_of, writers
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access, Timeline


@dataclass(frozen=True, kw_only=True, eq=False)
class Cells:
    """A row for every step in which a tensor is used, or carried from one use to the next.

    Sorted by tensor, then step. Contents that are dead, and kept ones that no operation has
    changed since their last use, leave nothing to decide and have no cell.

    Attributes
    ----------
    tensor, step : (k,)
    access : (k,)
        Index into the timeline's accesses, or -1 where the step does not use the tensor.
    previous : (k,)
        The cell one step earlier whose contents this one inherits, or -1.
    loads : (k,) bool
        Bytes may be loaded: a later step, or this one, reads them.
    blind : (k,) bool
        The step overwrites the tensor without reading it.
    written : (k,) bool
        The step leaves a new version.
    dirty : (k,) bool
        After the step there may be bytes that are needed and not in DRAM.
    last : (k,) bool
        The last step of a tensor to be kept.
    """

    tensor: Ints
    step: Ints
    access: Ints
    previous: Ints
    loads: Bools
    blind: Bools
    written: Bools
    dirty: Bools
    last: Bools

    def __len__(self) -> int:
        return int(self.tensor.size)


class Carried(NamedTuple):
    """Tensors carried from one use to the next through the untouched steps [begin, end); (i,).

    ``loads``: a later step reads them; ``dirty``: there may be bytes that are not in DRAM.
    """

    tensor: Ints
    begin: Ints
    end: Ints
    loads: Bools
    dirty: Bools


def carry(line: Timeline) -> Carried:
    """Find the bytes carried, empty intervals included."""
    touched = change(line)
    after = np.flatnonzero(line.live_after & (touched | (line.next >= 0)))
    before = np.flatnonzero((line.first_access >= 0) & line.live_before)
    begin = np.concatenate([line.step[after] + 1, np.zeros_like(before)])
    following = np.concatenate([line.next[after], line.first_access[before]])
    return Carried(
        tensor=np.concatenate([line.tensor[after], before]),
        begin=begin,
        end=np.where(following >= 0, line.step[following], line.steps),
        loads=following >= 0,
        dirty=np.concatenate([touched[after], np.zeros(before.size, bool)]),
    )


def all_cells(line: Timeline) -> Cells:
    """Find the cells of ``line``, about one for each tensor and step between first and last use."""
    return cells_between(line, carry(line), 0, line.steps)


def cells_between(line: Timeline, spans: Carried, begin: int, end: int) -> Cells:
    """Find the cells of the steps [begin, end); ``previous`` is of these cells too."""
    own = np.arange(line.first[begin], line.first[end])
    first, last = np.maximum(spans.begin, begin), np.minimum(spans.end, end)
    inside = np.flatnonzero(first < last)
    row, between = steps_of(first[inside], last[inside])
    row = inside[row]
    tensor = np.concatenate([line.tensor[own], spans.tensor[row]])
    step = np.concatenate([line.step[own], between])
    access = np.concatenate([own, np.full(row.size, -1, np.int64)])
    loads = np.concatenate([line.kind[own] != Access.WRITE, spans.loads[row]])
    dirty = np.concatenate([(change(line) & line.live_after)[own], spans.dirty[row]])
    order = np.lexsort((step, tensor))
    tensor, step, access = tensor[order], step[order], access[order]
    kind = np.where(access >= 0, line.kind[access], -1)
    blind = kind == Access.WRITE
    inherits = np.zeros(order.size, bool)
    inherits[1:] = (tensor[1:] == tensor[:-1]) & (step[1:] == step[:-1] + 1) & ~blind[1:]
    return Cells(
        tensor=tensor,
        step=step,
        access=access,
        previous=np.where(inherits, np.arange(order.size) - 1, -1),
        loads=loads[order],
        blind=blind,
        written=blind | (kind == Access.UPDATE),
        dirty=dirty[order],
        last=line.keep[tensor] & (step == line.steps - 1),
    )


def change(line: Timeline) -> Bools:
    """Return (a,) whether an operation has written the tensor, up to and including the access."""
    result: Bools = writers(line) >= 0
    return result
