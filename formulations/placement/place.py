"""Placements under a capacity, or as low as can be, with a proved bound at any time limit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from formulations.placement.attempts import OnImproved, SearchLimit
from formulations.placement.conflict import clash, explain
from formulations.placement.progress import Progress
from spmopt.core.errors import ScheduleError
from spmopt.core.placement import Buffer, Placed, Placement, require_placement
from spmopt.core.result import Status

_EXPLAINING_S = 2.0


def place(
    buffers: Sequence[Buffer],
    capacity_bytes: int,
    time_limit_s: float = 60.0,
    stop: Callable[[], bool] = bool,
    on_improved: OnImproved = lambda height_bytes, bound_bytes: None,
) -> Placed:
    """Find any placement under ``capacity_bytes``.

    ``stop`` is asked now and then whether to give up, ``on_improved`` told the height found, once
    there is one, and the bound (bytes), as they improve. The status is ``optimal`` when the height
    is also least, ``unknown`` when time ran out.
    """
    limit = SearchLimit(time_limit_s=time_limit_s, stop=stop, on_improved=on_improved)
    return _explained(_decide(buffers, capacity_bytes, limit), buffers, capacity_bytes, limit)


def _decide(buffers: Sequence[Buffer], capacity_bytes: int, limit: SearchLimit) -> Placed:
    progress = Progress(buffers, limit)
    early = _early(progress, buffers, capacity_bytes)
    if early is not None:
        return early
    capacity = progress.units.floor(capacity_bytes)
    if progress.bound_bytes <= capacity_bytes:
        progress.fill(capacity)
    return progress.answer(capacity_bytes)


def minimize(
    buffers: Sequence[Buffer],
    capacity_bytes: int | None = None,
    time_limit_s: float = 60.0,
    stop: Callable[[], bool] = bool,
    on_improved: OnImproved = lambda height_bytes, bound_bytes: None,
) -> Placed:
    """Find a placement of least height, at most ``capacity_bytes`` if that is given.

    With a capacity this begins as :func:`place` does, and improves what that finds.
    """
    limit = SearchLimit(time_limit_s=time_limit_s, stop=stop, on_improved=on_improved)
    return _explained(_lowest(buffers, capacity_bytes, limit), buffers, capacity_bytes, limit)


def _lowest(buffers: Sequence[Buffer], capacity_bytes: int | None, limit: SearchLimit) -> Placed:
    progress = Progress(buffers, limit)
    early = _early(progress, buffers, capacity_bytes)
    if early is not None and early.status is not Status.FEASIBLE:
        return early
    known = None if early is None or early.placement is None else early.placement.height_bytes
    ceiling = _ceiling(progress, capacity_bytes, known)
    if ceiling is not None and progress.bound <= ceiling and early is None:
        progress.fill(ceiling)
    if ceiling is None or progress.bound <= ceiling:
        progress.descend(ceiling)
    found = progress.answer(capacity_bytes)
    if found.placement is None and early is not None:
        return replace(early, bound_bytes=found.bound_bytes)
    return found


def _explained(
    found: Placed, buffers: Sequence[Buffer], capacity_bytes: int | None, limit: SearchLimit
) -> Placed:
    """Add why there is no placement; that takes no longer than the proof, and a little."""
    if found.status is not Status.INFEASIBLE or found.conflict is not None:
        return found
    if capacity_bytes is None:
        return found
    own = SearchLimit(
        time_limit_s=min(limit.left_s(), limit.spent_s() + _EXPLAINING_S), stop=limit.stop
    )
    conflict = explain(buffers, capacity_bytes, lambda some: _decide(some, capacity_bytes, own))
    return replace(found, conflict=conflict)


def _early(
    progress: Progress, buffers: Sequence[Buffer], capacity_bytes: int | None
) -> Placed | None:
    """An answer without any search: fixed offsets that clash, or hints that will do."""
    conflict = clash(buffers)
    if conflict is not None:
        return Placed(
            status=Status.INFEASIBLE,
            placement=None,
            bound_bytes=progress.bound_bytes,
            method="fixed offsets",
            conflict=conflict,
        )
    hint = _hinted(buffers, capacity_bytes)
    if hint is None:
        return None
    optimal = hint.height_bytes <= progress.bound_bytes
    return Placed(
        status=Status.OPTIMAL if optimal else Status.FEASIBLE,
        placement=hint,
        bound_bytes=progress.bound_bytes,
        method="hints",
    )


def _ceiling(progress: Progress, capacity_bytes: int | None, known: int | None) -> int | None:
    """Units that a placement may have at most to be of use."""
    limits = [bytes_ for bytes_ in (capacity_bytes, known and known - 1) if bytes_ is not None]
    return progress.units.floor(min(limits)) if limits else None


def _hinted(buffers: Sequence[Buffer], capacity_bytes: int | None) -> Placement | None:
    """Return the hints as a placement, if all buffers have one and they are one."""
    if not buffers or any(buffer.hint_bytes is None for buffer in buffers):
        return None
    placement = Placement.of(buffers, [buffer.hint_bytes or 0 for buffer in buffers])
    try:
        require_placement(buffers, placement, capacity_bytes)
    except ScheduleError:
        return None
    return placement
