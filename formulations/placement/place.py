"""Placements under a capacity, or as low as can be, with a proved bound at any time limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import monotonic

from formulations.placement.conflict import clash, explain
from formulations.placement.progress import Progress
from spmopt.core.errors import ScheduleError
from spmopt.core.placement import (
    Buffer,
    Placed,
    Placement,
    require_addressable,
    require_placement,
)
from spmopt.core.result import Status
from spmopt.core.scheduler import Request, ignore_incumbent

_EXPLAINING_S = 2.0  # beyond the time that the proof took


def place(
    buffers: Sequence[Buffer],
    capacity_bytes: int | None,
    request: Request,
    *,
    lowest: bool = False,
) -> Placed:
    """Find any placement under ``capacity_bytes``, or the ``lowest``.

    Heights and bounds are reported in bytes as they improve. Without ``lowest`` the status is
    ``optimal`` when the height is also least; it is ``unknown`` when time ran out. Under a capacity
    the search for the lowest begins as that for any, and improves its result.

    Where there is no placement the conflict says why; that takes no longer than the proof, and a
    little.
    """
    require_addressable(buffers)
    found = _search(buffers, capacity_bytes, request, lowest=lowest)
    unexplained = found.status is Status.INFEASIBLE and found.conflict is None
    if not unexplained or capacity_bytes is None:
        return found
    now = monotonic()
    own = replace(
        request,
        started=now,
        time_limit_s=min(request.remaining_s(), now - request.started + _EXPLAINING_S),
        on_incumbent=ignore_incumbent,
    )
    conflict = explain(
        buffers, capacity_bytes, lambda some: _search(some, capacity_bytes, own, lowest=False)
    )
    return replace(found, conflict=conflict)


def _search(
    buffers: Sequence[Buffer], capacity_bytes: int | None, request: Request, *, lowest: bool
) -> Placed:
    progress = Progress(buffers, request)
    early = _early(progress, buffers, capacity_bytes)
    if early is not None and not (lowest and early.status is Status.FEASIBLE):
        return early
    # A placement is of use only if it fits, and is lower than the hints.
    known = None if early is None or early.placement is None else early.placement.height_bytes - 1
    limits = [height for height in (capacity_bytes, known) if height is not None]
    most = min(limits, default=None)
    ceiling = None if most is None else most // progress.unit_bytes
    if early is None and ceiling is not None and progress.may_reach(most):
        progress.search(ceiling, lowest=False)
    if lowest and progress.may_reach(most):
        progress.search(ceiling, lowest=True)
    found = progress.answer(capacity_bytes)
    if found.placement is None and early is not None:
        return replace(early, bound_bytes=found.bound_bytes)
    return found


def _early(
    progress: Progress, buffers: Sequence[Buffer], capacity_bytes: int | None
) -> Placed | None:
    """An answer without any search: fixed offsets that clash, or hints that will do."""
    bound_bytes, conflict = progress.bound_bytes, clash(buffers)
    hint = None if conflict is not None else _hint(buffers, capacity_bytes)
    if conflict is None and hint is None:
        return None
    status = Status.INFEASIBLE
    if hint is not None:
        status = Status.OPTIMAL if hint.height_bytes <= bound_bytes else Status.FEASIBLE
    return Placed(
        status=status,
        placement=hint,
        bound_bytes=bound_bytes,
        method="fixed offsets" if hint is None else "hints",
        conflict=conflict,
    )


def _hint(buffers: Sequence[Buffer], capacity_bytes: int | None) -> Placement | None:
    """Return the hints as a placement, if all buffers have one and they are one."""
    if not buffers or any(buffer.hint_bytes is None for buffer in buffers):
        return None
    placement = Placement.of(buffers, [buffer.hint_bytes or 0 for buffer in buffers])
    try:
        require_placement(buffers, placement, capacity_bytes)
    except ScheduleError:
        return None
    return placement
