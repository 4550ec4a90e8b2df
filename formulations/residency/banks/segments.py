"""Residency intervals of pages of a plan in segments, and what touches them there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from formulations.residency.banks.facts import BankCoefficients
from formulations.solver.program import Floats
from spmopt.core.schedule import Plan
from spmopt.core.table import Ints
from spmopt.core.timeline import Access


@dataclass(frozen=True, kw_only=True, eq=False)
class PageSegments:
    """Pages that come and go together, their steps cut into segments where they may move.

    Attributes
    ----------
    tensor, first, pages, page_bytes : (s,)
        Pages [first, first + pages) of a tensor; all hold ``page_bytes``.
    interval, begin, end : (g,)
        Segments, by interval and then in time.
    segment, step, read, write : (e,)
        Bytes per page that its bank reads or writes in a step of a segment.
    """

    tensor: Ints
    first: Ints
    pages: Ints
    page_bytes: Ints
    interval: Ints
    begin: Ints
    end: Ints
    segment: Ints
    step: Ints
    read: Floats
    write: Floats


_Band = tuple[int, int, int, int]
"""Pages [first, last) in steps [begin, end)."""
_Row = tuple[int, int, int]


def segments_of(facts: BankCoefficients, plan: Plan) -> PageSegments:
    """Segments of a legal plan in the order and modes of ``facts.line``.

    Pages may move where an operation uses it, before and after.
    """
    line, found = facts.line, _Table(facts)
    rows: dict[int, list[_Row]] = defaultdict(list)
    table = plan.residency
    names = ("tensor", "begin", "end", "size_bytes")
    columns = (getattr(table, name).tolist() for name in names)
    for tensor, begin, end, size in zip(*columns, strict=True):
        rows[tensor].append((begin, end, size))
    stores: dict[int, list[tuple[int, int]]] = defaultdict(list)
    columns = (getattr(plan.stores, name).tolist() for name in ("tensor", "step", "size_bytes"))
    for tensor, step, size in zip(*columns, strict=True):
        stores[tensor].append((step, size))
    accesses: dict[int, list[int]] = defaultdict(list)
    for access, tensor in enumerate(line.tensor.tolist()):
        accesses[tensor].append(access)
    for tensor, own in rows.items():
        found.add(tensor, own, accesses[tensor], stores[tensor])
    return found.segments()


class _Table:
    """Intervals, segments and events of one tensor after the other."""

    def __init__(self, facts: BankCoefficients) -> None:
        self._facts = facts
        self._intervals: list[tuple[int, int, int, int]] = []
        self._segments: list[tuple[int, int, int]] = []
        self._events: list[tuple[int, int, float, float]] = []

    def add(
        self,
        tensor: int,
        rows: Sequence[_Row],
        accesses: Sequence[int],
        stores: Sequence[tuple[int, int]],
    ) -> None:
        """All intervals of a tensor."""
        line, page = self._facts.line, self._facts.page_bytes
        size = int(line.size_bytes[tensor])
        used = {int(line.step[access]): access for access in accesses}
        steps = sorted(used)
        stored = list(_stored(self._facts, tensor, rows, used, stores))
        for first, last, begin, end in _bands(rows, page, size):
            bytes_each = min(page, size - first * page)
            here = [step for step in steps if begin <= step < end]
            cuts = sorted({begin, *here, *(step + 1 for step in here if step + 1 < end)})
            starts = len(self._segments)
            self._segments += zip(
                [len(self._intervals)] * len(cuts), cuts, [*cuts[1:], end], strict=True
            )
            self._intervals.append((tensor, first, last - first, bytes_each))
            if begin not in used or line.kind[used[begin]] != Access.WRITE:
                self._events.append((starts, begin, 0.0, float(bytes_each)))
            for step in here:
                read = bytes_each * float(self._facts.own_read[used[step]])
                write = bytes_each * float(self._facts.own_write[used[step]])
                self._events.append((starts + cuts.index(step), step, read, write))
            for step, low, high in stored:
                out = min(high, last * page) - max(low, first * page)
                if begin <= step < end and out > 0:
                    place = starts + sum(cut <= step for cut in cuts) - 1
                    self._events.append((place, step, out / (last - first), 0.0))

    def segments(self) -> PageSegments:
        """Everything as arrays."""
        interval = np.array(self._intervals, np.int64).reshape(-1, 4).T
        segment = np.array(self._segments, np.int64).reshape(-1, 3).T
        event = np.array(self._events, np.float64).reshape(-1, 4).T
        return PageSegments(
            tensor=interval[0],
            first=interval[1],
            pages=interval[2],
            page_bytes=interval[3],
            interval=segment[0],
            begin=segment[1],
            end=segment[2],
            segment=event[0].astype(np.int64),
            step=event[1].astype(np.int64),
            read=event[2],
            write=event[3],
        )


def _bands(rows: Sequence[_Row], page: int, size: int) -> Iterator[_Band]:
    """Pages that come together and leave together; a last page that is not full by itself."""
    held: list[tuple[int, int, int]] = []
    whole, until = size // page, 0

    def leave(to: int, now: int) -> Iterator[_Band]:
        while held and held[-1][1] > to:
            first, last, since = held.pop()
            yield (max(first, to), last, since, now)
            if first < to:
                held.append((first, to, since))

    for begin, end, amount in rows:
        pages = -(-amount // page)
        yield from leave(pages if begin == until else 0, until)
        top = held[-1][1] if held else 0
        for first, last in ((top, min(pages, whole)), (max(top, whole), pages)):
            if first < last:
                held.append((first, last, begin))
        until = end
    yield from leave(0, until)


def _stored(
    facts: BankCoefficients,
    tensor: int,
    rows: Sequence[_Row],
    used: dict[int, int],
    stores: Sequence[tuple[int, int]],
) -> Iterator[tuple[int, int, int]]:
    """Step and byte range of every store: the suffix that DRAM holds grows downwards (R5)."""
    line = facts.line
    size = int(line.size_bytes[tensor])
    valid = size if line.in_dram[tensor] else 0
    writes = {step for step, access in used.items() if line.kind[access] != Access.READ}
    moved = dict(stores)
    for step in sorted(writes | moved.keys()):
        if step in writes:
            valid = size - next((r for begin, end, r in rows if begin <= step < end), 0)
        if step in moved:
            yield step, size - valid - moved[step], size - valid
            valid += moved[step]
