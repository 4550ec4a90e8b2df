"""Residency intervals of pages of a residency plan in segments, and the accesses there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from formulations.residency.banks.facts import BankCoefficients
from spmopt.assemble.commands import derive_commands
from spmopt.core.schedule import Command, ResidencyPlan
from spmopt.core.table import Ints
from spmopt.core.timeline import Access

_Stripe = tuple[int, int, int, int]
"""Pages [first, last) in steps [begin, end)."""
_Row = tuple[int, ...]


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

    def __init__(self, facts: BankCoefficients, residency_plan: ResidencyPlan) -> None:
        """Cut a legal residency plan in the order and mappings of ``facts.line``.

        Pages may move where an operation uses them, before and after.
        """
        line, page = facts.line, facts.page_bytes
        intervals: list[_Row] = []
        segments: list[_Row] = []
        events: list[tuple[int, int, float, float]] = []
        commands = derive_commands(line, residency_plan)
        stored = commands.take(commands.kind == Command.STORE)
        stores = _by_tensor(stored.tensor, stored.step, stored.begin, stored.end)
        accesses = _by_tensor(line.tensor, np.arange(line.step.size))
        rows = residency_plan.residency
        held = _by_tensor(rows.tensor, rows.begin, rows.end, rows.size_bytes)
        for tensor, own in held.items():
            size = int(line.size_bytes[tensor])
            used = {int(line.step[access]): access for (access,) in accesses[tensor]}
            for first, last, begin, end in _stripes(own, page, size):
                bytes_each = min(page, size - first * page)
                here = [step for step in used if begin <= step < end]
                cuts = sorted({begin, *here, *(step + 1 for step in here if step + 1 < end)})
                starts = len(segments)
                segments += [(len(intervals), *ends) for ends in pairwise([*cuts, end])]
                intervals.append((tensor, first, last - first, bytes_each))
                if begin not in used or line.kind[used[begin]] != Access.WRITE:
                    events.append((starts, begin, 0.0, float(bytes_each)))
                for step in here:
                    read = bytes_each * float(facts.own_read[used[step]])
                    write = bytes_each * float(facts.own_write[used[step]])
                    events.append((starts + cuts.index(step), step, read, write))
                for step, low, high in stores[tensor]:
                    out = min(high, last * page) - max(low, first * page)
                    if begin <= step < end and out > 0:
                        place = starts + sum(cut <= step for cut in cuts) - 1
                        events.append((place, step, out / (last - first), 0.0))
        table = np.array(intervals, np.int64).reshape(-1, 4).T
        self.tensor, self.first, self.pages, self.page_bytes = table
        self.interval, self.begin, self.end = np.array(segments, np.int64).reshape(-1, 3).T
        columns = np.array(events, np.float64).reshape(-1, 4).T
        self.segment, self.step = columns[:2].astype(np.int64)
        self.read, self.write = columns[2:]


def _by_tensor(tensor: Ints, *columns: Ints) -> dict[int, list[_Row]]:
    """Return the rows of each tensor."""
    found: dict[int, list[_Row]] = defaultdict(list)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    for own, row in zip(tensor.tolist(), rows, strict=True):
        found[own].append(row)
    return found


def _stripes(rows: Sequence[_Row], page: int, size: int) -> Iterator[_Stripe]:
    """Group pages that come together and leave together; a last page that is not full by itself."""
    held: list[tuple[int, int, int]] = []
    whole, until = size // page, 0

    def leave(to: int, now: int) -> Iterator[_Stripe]:
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
