"""R12: contents of a bank with retention were written there recently enough.

Page by page, for each tensor and each step, from the addresses, moves and accesses alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

import numpy as np

from spmopt.core.table import Ints
from spmopt.core.timeline import Access
from spmopt.verifier.arrays import ScheduleArrays
from spmopt.verifier.violation import MAX_PER_CHECK, Violation

_SCRATCH = -1


def rule_r12(view: ScheduleArrays, step_cycles: Ints) -> list[Violation]:
    """R12, retention: contents of a page last from their writing to their last step in the bank.

    Parameters
    ----------
    step_cycles : (n,)
        ``d_i``, recomputed (R6).
    """
    limits = view.problem.machine.retention_cycles
    if all(limit is None for limit in limits):
        return []
    ends = [0, *accumulate(step_cycles.tolist())]
    violations = []
    for tensor, page, bank, begin, end in _lives(view):
        limit, aged = limits[bank], ends[end] - ends[begin]
        if limit is not None and aged > limit:
            text = (
                f"page {page} of {view.name(tensor)} is {aged} cycles in bank {bank}, written in "
                f"step {begin}; contents last {limit} cycles there"
            )
            violations.append(Violation(rule="R12", step=end - 1, tensor=tensor, message=text))
            if len(violations) == MAX_PER_CHECK:
                break
    return violations


def _lives(view: ScheduleArrays) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield tensor, first page, bank and steps [begin, end) of contents that are not written anew.

    Of pages that are alike the first one.
    """
    for tensor in np.unique(view.schedule.placements.tensor).tolist():
        for page, intervals in _intervals(view, tensor):
            for bank, begin, end in intervals:
                # Scratch has no contents from one step to the next.
                if tensor == _SCRATCH:  # is another one in each step
                    lives = [(step, step + 1) for step in range(begin, end)]
                else:
                    lives = _between_writes(view, tensor, begin, end)
                for life in lives:
                    yield tensor, page, bank, *life


def _intervals(
    view: ScheduleArrays, tensor: int
) -> Iterator[tuple[int, list[tuple[int, int, int]]]]:
    """Yield pages, one of those that are alike, with bank and steps in which each has an address.

    Rows of one address that follow each other are one interval.
    """
    machine, table = view.problem.machine, view.schedule.placements
    edges = [0, *accumulate(machine.bank_pages)]
    rows = sorted(
        (int(table.begin[k]), int(table.end[k]), int(table.tensor_page[k]), int(table.pages[k]),
         int(table.spm_page[k]))
        for k in np.flatnonzero(table.tensor == tensor).tolist()
    )  # fmt: skip
    cuts = {page for _, _, page, _, _ in rows}
    for _, _, page, pages, address in rows:
        # A row may lie across the edge of two banks: pages on either side differ.
        cuts |= {page + edge - address for edge in edges if address < edge < address + pages}
        cuts.add(page + pages)
    for cut in sorted(cuts):
        intervals: list[tuple[int, int, int]] = []
        last = None
        for begin, end, page, pages, address in rows:
            if not page <= cut < page + pages:
                continue
            here = address + cut - page
            bank = next(b for b, edge in enumerate(edges[1:]) if here < edge)
            if intervals and intervals[-1][2] == begin and last == here:
                intervals[-1] = (bank, intervals[-1][1], end)
            else:
                intervals.append((bank, begin, end))
            last = here
        if intervals:
            yield cut, intervals


def _between_writes(
    view: ScheduleArrays, tensor: int, begin: int, end: int
) -> list[tuple[int, int]]:
    """Cut an interval where an operation writes the tensor; an update lasts through its step."""
    line = view.timeline
    lives, since = [], begin
    for row in np.flatnonzero((line.tensor == tensor) & (line.kind != Access.READ)).tolist():
        step = int(line.step[row])
        if begin < step < end:
            lives.append((since, step + (int(line.kind[row]) == Access.UPDATE)))
            since = step
    return [*lives, (since, end)]
