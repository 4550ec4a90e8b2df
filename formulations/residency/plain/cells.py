"""Cells of the plain model: every (tensor, step) in which something can be decided."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

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

    def within(self, begin: int, end: int) -> tuple[Cells, Ints]:
        """Return the cells of steps [begin, end), and where they are in these (k,)."""
        index = np.flatnonzero((self.step >= begin) & (self.step < end))
        place = np.append(np.full(len(self), -1, np.int64), -1)
        place[index] = np.arange(index.size)
        taken = {each.name: getattr(self, each.name)[index] for each in fields(self)}
        taken["previous"] = place[taken["previous"]]
        return Cells(**taken), index


def plain_cells(line: Timeline) -> Cells:
    """Cells of ``line``, about one for each tensor and step between its first and last use."""
    touched = find_changes(line)
    after = np.flatnonzero(line.live_after & (touched | (line.next >= 0)))
    before = np.flatnonzero((line.first_access >= 0) & line.live_before)
    begin = np.concatenate([line.step[after] + 1, np.zeros_like(before)])
    following = np.concatenate([line.next[after], line.first_access[before]])
    end = np.where(following >= 0, line.step[following], line.steps)
    length = end - begin
    carried = np.repeat(np.arange(length.size), length)
    offset = np.arange(carried.size) - np.repeat(np.cumsum(length) - length, length)

    tensor = np.concatenate([line.tensor[after], before])[carried]
    unchanged_start = np.zeros(before.size, bool)
    tensor = np.concatenate([line.tensor, tensor])
    step = np.concatenate([line.step, begin[carried] + offset])
    access = np.concatenate([np.arange(line.step.size), np.full(carried.size, -1, np.int64)])
    loads = np.concatenate([line.kind != Access.WRITE, (following >= 0)[carried]])
    dirty = np.concatenate(
        [touched & line.live_after, np.concatenate([touched[after], unchanged_start])[carried]]
    )
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


def find_changes(line: Timeline) -> Bools:
    """(a,) Whether an operation has written the tensor, up to and including the access."""
    order = np.argsort(line.tensor, kind="stable")
    writes = np.cumsum(line.kind[order] != Access.READ)
    first = line.previous[order] < 0
    earlier = np.where(first, writes - (line.kind[order] != Access.READ), 0)
    changed = np.empty(order.size, bool)
    changed[order] = writes > np.maximum.accumulate(earlier)
    return changed
