"""R8: every resident page has one address, no two pages share one, and none moves unsaid."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np

from spmopt.verifier.arrays import ScheduleArrays
from spmopt.verifier.lookup import find_unbalanced
from spmopt.verifier.violation import MAX_PER_CHECK, Violation, find


def rule_r8(view: ScheduleArrays) -> list[Violation]:
    """R8, address: of resident pages and of scratch, in every step."""
    fixed = _move if view.problem.machine.banks else _one_address
    return _outside(view) + _coverage(view) + fixed(view) + _overlaps(view)


def _outside(view: ScheduleArrays) -> list[Violation]:
    table, available = view.schedule.placements, view.problem.machine.spm_pages
    low, pages = table.spm_page, table.pages
    return find(
        "R8",
        (low < 0) | (low > available - pages),
        table.begin,
        table.tensor,
        lambda row: (
            f"{view.name(int(table.tensor[row]))} lies at pages {low[row]} to "
            f"{int(low[row]) + int(pages[row]) - 1}; the SPM has pages 0 to {available - 1}"
        ),
    )


def _coverage(view: ScheduleArrays) -> list[Violation]:
    """Check that a tensor's placements cover its first ``ceil(r / g)`` pages once in every step.

    Both sides are sums of rectangles in the plane of steps and tensor pages. Such sums are
    equal exactly when the signed corners of the rectangles cancel, and where the first corner
    is left over they differ.
    """
    placed, resident = view.schedule.placements, view.schedule.residency
    scratch = np.flatnonzero(view.timeline.scratch_bytes)
    none = np.zeros(len(resident) + scratch.size, np.int64)
    tensor = np.concatenate((placed.tensor, resident.tensor, np.full(scratch.size, -1)))
    begin = np.concatenate((placed.begin, resident.begin, scratch))
    end = np.concatenate((placed.end, resident.end, scratch + 1))
    low = np.concatenate((placed.tensor_page, none))
    sizes = np.concatenate((resident.size_bytes, view.timeline.scratch_bytes[scratch]))
    high = np.concatenate((placed.tensor_page + placed.pages, view.pages(sizes)))
    sign = np.ones(tensor.size, np.int64)
    sign[len(placed) :] = -1
    tensors, steps = np.tile(tensor, 4), np.concatenate((begin, begin, end, end))
    pages = np.concatenate((low, high, low, high))
    rows, left = find_unbalanced(
        (tensors, steps, pages), np.concatenate((sign, -sign, -sign, sign))
    )
    # Further corners of one tensor may follow from its first.
    first = np.flatnonzero(np.diff(tensors[rows], prepend=-2))[:MAX_PER_CHECK]
    violations = []
    for row, extra in zip(rows[first].tolist(), left[first].tolist(), strict=True):
        owner, step = int(tensors[row]), int(steps[row])
        what = "has an address too many" if extra > 0 else "has no address"
        text = f"page {pages[row]} of {view.name(owner)} {what}"
        violations.append(Violation(rule="R8", step=step, tensor=owner, message=text))
    return violations


def _one_address(view: ScheduleArrays) -> list[Violation]:
    """Find pages resident in step ``b - 1`` and in ``b`` at different addresses.

    Where a row begins at ``b``, its pages that were resident before must come from rows that
    end at ``b`` with the same distance between address and page, and the other way round.
    """
    table, steps = view.schedule.placements, view.timeline.steps
    begins = np.flatnonzero((table.tensor >= 0) & (table.begin > 0))
    ends = np.flatnonzero((table.tensor >= 0) & (table.end < steps))
    row = np.concatenate((begins, ends))
    time = np.concatenate((table.begin[begins], table.end[ends]))
    other = np.concatenate((table.begin[begins] - 1, table.end[ends]))
    sign = np.ones(row.size, np.int64)
    sign[begins.size :] = -1
    tensor, low = table.tensor[row], table.tensor_page[row]
    high = np.minimum(low + table.pages[row], view.pages(view.resident(tensor, other)))
    stays = high > low
    tensor, time, low, high, sign = (c[stays] for c in (tensor, time, low, high, sign))
    distance = (table.spm_page - table.tensor_page)[row][stays]
    tensors, times, distances = (np.tile(column, 2) for column in (tensor, time, distance))
    pages = np.concatenate((low, high))
    rows, _ = find_unbalanced((tensors, times, distances, pages), np.concatenate((sign, -sign)))
    first = rows[np.diff(tensors[rows], prepend=-2) != 0]
    return find(
        "R8",
        np.ones(first.size, bool),
        times[first],
        tensors[first],
        lambda k: f"pages of {view.name(int(tensors[first[k]]))} move while resident",
    )


def _move(view: ScheduleArrays) -> list[Violation]:
    """With banks, pages whose address changes between two steps are those that the later moves.

    A page is moved if it is resident in both steps. Range by range, and so for tables that other
    parts of R8 refuse as well.
    """
    placed, moves = view.schedule.placements, view.schedule.moves
    begins = (placed.tensor >= 0) & (placed.begin > 0)
    keys = np.concatenate(
        (
            np.stack((placed.begin[begins], placed.tensor[begins]), axis=1),
            np.stack((moves.step, moves.tensor), axis=1),
        )
    )
    violations: list[Violation] = []
    for step, tensor in np.unique(keys, axis=0).tolist():
        page, changed = _first_wrong_page(view, tensor, step)
        if page is None:
            continue
        what = "gets another address without a move" if changed else "is moved, but is not at two"
        text = f"page {page} of {view.name(tensor)} {what}{'' if changed else ' addresses'}"
        violations.append(Violation(rule="R8", step=step, tensor=tensor, message=text))
        if len(violations) == MAX_PER_CHECK:
            break
    return violations


def _first_wrong_page(view: ScheduleArrays, tensor: int, step: int) -> tuple[int | None, bool]:
    """The first page moved unsaid, or said to move and not moved; whether its address changed."""
    moves, page = view.schedule.moves, view.page_bytes
    before, after = _at(view, tensor, step - 1), _at(view, tensor, step)
    said = [
        (int(moves.begin[row]) // page, -(-int(moves.end[row]) // page), 0)
        for row in np.flatnonzero((moves.tensor == tensor) & (moves.step == step)).tolist()
    ]
    # Between two neighboring cuts all pages are alike.
    for first in sorted({cut for low, high, _ in before + after + said for cut in (low, high)}):
        old, new = _distance(before, first), _distance(after, first)
        changed = old is not None and new is not None and old != new
        if changed != (_distance(said, first) is not None):
            return first, changed
    return None, False


def _at(view: ScheduleArrays, tensor: int, step: int) -> list[tuple[int, int, int]]:
    """Return pages [first, last) of a tensor in a step, and their distance from their addresses."""
    table = view.schedule.placements
    here = (table.tensor == tensor) & (table.begin <= step) & (step < table.end)
    first = table.tensor_page[here]
    distance = table.spm_page[here] - first
    last = first + table.pages[here]
    return list(zip(first.tolist(), last.tolist(), distance.tolist(), strict=True))


def _distance(ranges: list[tuple[int, int, int]], page: int) -> int | None:
    """Return the distance of the last range that has the page."""
    return next((d for low, high, d in reversed(ranges) if low <= page < high), None)


def _overlaps(view: ScheduleArrays) -> list[Violation]:
    """Sweep over the steps with the extents in use sorted by address."""
    table = view.schedule.placements
    low, high = table.spm_page.data, (table.spm_page + table.pages).data
    begin, end = table.begin.data, table.end.data
    ending = iter(np.argsort(table.end, kind="stable").data)
    over = next(ending, -1)
    used: list[int] = []
    owner: dict[int, int] = {}
    violations: list[Violation] = []
    for row in np.argsort(table.begin, kind="stable").data:
        while end[over] <= begin[row]:  # stops at the latest at `row` itself
            if owner.get(low[over]) == over:
                del used[bisect_left(used, low[over])], owner[low[over]]
            over = next(ending)
        first = low[row]
        at = bisect_left(used, first)
        if at and high[owner[used[at - 1]]] > first:
            violations.append(_share(view, row, owner[used[at - 1]]))
        elif at < len(used) and used[at] < high[row]:
            violations.append(_share(view, row, owner[used[at]]))
        else:
            used.insert(at, first)
            owner[first] = row
        if len(violations) == MAX_PER_CHECK:
            break
    return violations


def _share(view: ScheduleArrays, row: int, other: int) -> Violation:
    table = view.schedule.placements
    tensor, against = int(table.tensor[row]), int(table.tensor[other])
    begin, pages = int(table.spm_page[row]), int(table.pages[row])
    text = (
        f"pages {begin} to {begin + pages - 1} of {view.name(tensor)} overlap those of "
        f"{view.name(against)}, from {table.spm_page[other]}"
    )
    return Violation(rule="R8", step=int(table.begin[row]), tensor=tensor, message=text)
