"""Cells of the plain model: every (tensor, step) in which something can be decided."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum, auto

import numpy as np

from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access, Timeline


class Spans(Enum):
    """How finely the steps between two uses of a tensor are told apart."""

    STEPS = auto()
    """Each by itself."""
    POWERS = auto()
    """By powers of two from either end: transfers near a use, where most of them are best."""
    ONE = auto()
    """Not at all: where time is free, a transfer is as good in one step as in another."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Cells:
    """A row for every step in which a tensor is used, or carried from one use to the next.

    With fewer :class:`Spans` a row stands for several steps between two uses, in which the bytes
    on chip stay as they are; bytes move in the first of them.

    Sorted by tensor, then step. Contents that are dead, and kept ones that no operation has
    changed since their last use, leave nothing to decide and have no cell.

    Attributes
    ----------
    tensor, step, end : (k,)
        ``step`` to ``end`` - 1: one step, but for spans.
    access : (k,)
        Index into the timeline's accesses, or -1 where the step does not use the tensor.
    previous : (k,)
        The cell just before, whose contents this one inherits, or -1.
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
    end: Ints
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


@dataclass(frozen=True, kw_only=True, eq=False)
class Gaps:
    """Steps between two uses of a tensor whose contents the second one reads.

    Attributes
    ----------
    first, last : (g,)
        Cells of the two uses.
    inside, ended : (k,)
        Gap that each cell is between the uses of, and that it ends; -1 for none.
    """

    first: Ints
    last: Ints
    inside: Ints
    ended: Ints


def gaps_of(cells: Cells) -> Gaps:
    """Return the gaps that have cells."""
    use = np.flatnonzero(cells.access >= 0)
    # Between two uses there are cells where the contents are needed, and nowhere else.
    some = (np.diff(use) > 1) & (np.diff(cells.tensor[use]) == 0) & (cells.previous[use[1:]] >= 0)
    first, last = use[:-1][some], use[1:][some]
    number = np.arange(first.size)
    inside, ended = np.full((2, len(cells)), -1, np.int64)
    inside[np.flatnonzero(_between(first, last, len(cells)))] = np.repeat(number, last - first - 1)
    ended[last] = number
    return Gaps(first=first, last=last, inside=inside, ended=ended)


def _between(first: Ints, last: Ints, count: int) -> Bools:
    """(k,) Whether a cell is strictly between two, of pairs in order."""
    marks = np.zeros(count + 1, np.int64)
    np.add.at(marks, first + 1, 1)
    np.add.at(marks, last, -1)
    result: Bools = np.cumsum(marks[:-1]) > 0
    return result


def plain_cells(line: Timeline, spans: Spans | Ints = Spans.STEPS) -> Cells:
    """Cells of ``line``, about one for each tensor and step between its first and last use.

    ``spans``: how finely, or the steps that begin one, as ``tensor * steps + step``.
    """
    touched = find_changes(line)
    after = np.flatnonzero(line.live_after & (touched | (line.next >= 0)))
    before = np.flatnonzero((line.first_access >= 0) & line.live_before)
    begin = np.concatenate([line.step[after] + 1, np.zeros_like(before)])
    following = np.concatenate([line.next[after], line.first_access[before]])
    end = np.where(following >= 0, line.step[following], line.steps)
    length = end - begin
    carried = np.repeat(np.arange(length.size), length)
    offset = np.arange(carried.size) - np.repeat(np.cumsum(length) - length, length)
    if isinstance(spans, Spans):
        starts = _starts(offset, length[carried], spans)
    else:
        of_gap = np.concatenate([line.tensor[after], before])
        key = of_gap[carried] * line.steps + begin[carried] + offset
        starts = (offset == 0) | np.isin(key, spans)
    carried, offset = carried[starts], offset[starts]

    tensor = np.concatenate([line.tensor[after], before])[carried]
    unchanged_start = np.zeros(before.size, bool)
    tensor = np.concatenate([line.tensor, tensor])
    step = np.concatenate([line.step, begin[carried] + offset])
    access = np.concatenate([np.arange(line.step.size), np.full(carried.size, -1, np.int64)])
    loads = np.concatenate([line.kind != Access.WRITE, (following >= 0)[carried]])
    dirty = np.concatenate(
        [touched & line.live_after, np.concatenate([touched[after], unchanged_start])[carried]]
    )
    until = np.append(np.where(offset[1:] > 0, begin[carried[1:]] + offset[1:], -1), -1)
    until = np.where(until >= 0, until, end[carried])[: carried.size]
    order = np.lexsort((step, tensor))
    until = np.concatenate([line.step + 1, until])[order]
    tensor, step, access = tensor[order], step[order], access[order]
    kind = np.where(access >= 0, line.kind[access], -1)
    blind = kind == Access.WRITE
    inherits = np.zeros(order.size, bool)
    inherits[1:] = (tensor[1:] == tensor[:-1]) & (step[1:] == until[:-1]) & ~blind[1:]
    return Cells(
        tensor=tensor,
        step=step,
        end=until,
        access=access,
        previous=np.where(inherits, np.arange(order.size) - 1, -1),
        loads=loads[order],
        blind=blind,
        written=blind | (kind == Access.UPDATE),
        dirty=dirty[order],
        last=line.keep[tensor] & (until == line.steps),
    )


def count_cells(line: Timeline, spans: Spans = Spans.STEPS) -> int:
    """Return how many cells there are, or a few more."""
    if spans is not Spans.STEPS:
        return len(plain_cells(line, spans))
    # A tensor has one in each step from its first use to its last.
    there = line.first_access >= 0
    used = line.step[line.last_access[there]] - line.step[line.first_access[there]] + 1
    return int(used.sum())


def _starts(offset: Ints, length: Ints, spans: Spans) -> Bools:
    """(k,) Whether a span begins so many steps into a gap of some length."""
    first: Bools = offset == 0
    if spans is Spans.STEPS:
        return np.ones_like(first)
    if spans is Spans.ONE:
        return first
    left = length - offset
    result: Bools = (offset & (offset - 1) == 0) | (left & (left - 1) == 0)
    return result


def find_changes(line: Timeline) -> Bools:
    """(a,) Whether an operation has written the tensor, up to and including the access."""
    order = np.argsort(line.tensor, kind="stable")
    writes = np.cumsum(line.kind[order] != Access.READ)
    first = line.previous[order] < 0
    earlier = np.where(first, writes - (line.kind[order] != Access.READ), 0)
    changed = np.empty(order.size, bool)
    changed[order] = writes > np.maximum.accumulate(earlier)
    return changed
