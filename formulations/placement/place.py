"""Placements under a capacity, or as low as can be, with a proved bound at any time limit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from formulations.placement.attempts import OnImproved, SearchLimit
from formulations.placement.conflict import clash, explain
from formulations.placement.progress import Progress
from spmopt.core.errors import ScheduleError
from spmopt.core.params import DEFAULTS, PlacementParams
from spmopt.core.placement import (
    Buffer,
    Placed,
    Placement,
    require_addressable,
    require_placement,
)
from spmopt.core.result import Status

_EXPLAINING_S = 2.0  # beyond the time that the proof took


def place(
    buffers: Sequence[Buffer],
    capacity_bytes: int,
    time_limit_s: float = 60.0,
    stop: Callable[[], bool] = bool,
    on_improved: OnImproved = lambda height_bytes, bound_bytes: None,
    *,
    params: PlacementParams = DEFAULTS.placement,
) -> Placed:
    """Find any placement under ``capacity_bytes``.

    ``stop`` is asked now and then whether to give up, ``on_improved`` told the height found, once
    there is one, and the bound (bytes), as they improve. The status is ``optimal`` when the height
    is also least, ``unknown`` when time ran out.
    """
    limit = SearchLimit(
        time_limit_s=time_limit_s, stop=stop, on_improved=on_improved, params=params
    )
    return _explain(buffers, capacity_bytes, limit, lowest=False)


def minimize(
    buffers: Sequence[Buffer],
    capacity_bytes: int | None = None,
    time_limit_s: float = 60.0,
    stop: Callable[[], bool] = bool,
    on_improved: OnImproved = lambda height_bytes, bound_bytes: None,
    *,
    params: PlacementParams = DEFAULTS.placement,
) -> Placed:
    """Find a placement of least height, at most ``capacity_bytes`` if that is given.

    With a capacity this begins as :func:`place` does, and improves its result.
    """
    limit = SearchLimit(
        time_limit_s=time_limit_s, stop=stop, on_improved=on_improved, params=params
    )
    return _explain(buffers, capacity_bytes, limit, lowest=True)


def _explain(
    buffers: Sequence[Buffer], capacity_bytes: int | None, limit: SearchLimit, *, lowest: bool
) -> Placed:
    """Add why there is no placement; that takes no longer than the proof, and a little."""
    require_addressable(buffers)
    found = _search(buffers, capacity_bytes, limit, lowest=lowest)
    unexplained = found.status is Status.INFEASIBLE and found.conflict is None
    if not unexplained or capacity_bytes is None:
        return found
    own = SearchLimit(
        time_limit_s=min(limit.remaining_s(), limit.seconds_spent() + _EXPLAINING_S),
        stop=limit.stop,
        params=limit.params,
    )
    conflict = explain(
        buffers, capacity_bytes, lambda some: _search(some, capacity_bytes, own, lowest=False)
    )
    return replace(found, conflict=conflict)


def _search(
    buffers: Sequence[Buffer], capacity_bytes: int | None, limit: SearchLimit, *, lowest: bool
) -> Placed:
    progress = Progress(buffers, limit)
    early = _early(progress, buffers, capacity_bytes)
    if early is not None and not (lowest and early.status is Status.FEASIBLE):
        return early
    # A placement is of use only if it fits, and is lower than the hints.
    known = None if early is None or early.placement is None else early.placement.height_bytes - 1
    limits = [height for height in (capacity_bytes, known) if height is not None]
    most = min(limits, default=None)
    ceiling = None if most is None else progress.units.floor(most)
    if early is None and ceiling is not None and progress.may_reach(most):
        progress.fill(ceiling)
    if lowest and progress.may_reach(most):
        progress.descend(ceiling)
    found = progress.answer(capacity_bytes)
    if found.placement is None and early is not None:
        return replace(early, bound_bytes=found.bound_bytes)
    return found


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
    hint = _hint(buffers, capacity_bytes)
    if hint is None:
        return None
    optimal = hint.height_bytes <= progress.bound_bytes
    return Placed(
        status=Status.OPTIMAL if optimal else Status.FEASIBLE,
        placement=hint,
        bound_bytes=progress.bound_bytes,
        method="hints",
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
