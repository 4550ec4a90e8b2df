"""Placements under a capacity, or as low as can be, with a proved bound at any time limit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from formulations.placement.conflict import clash, explain
from formulations.placement.descent import descend, fill
from formulations.placement.hunt import Better, Limit, unheard
from formulations.placement.table import Table, hinted
from spmopt.core.placement import Buffer, Placed
from spmopt.core.result import Status

_EXPLAINING_S = 2.0


def place(
    buffers: Sequence[Buffer],
    capacity_bytes: int,
    time_limit_s: float = 60.0,
    stop: Callable[[], bool] = bool,
    better: Better = unheard,
) -> Placed:
    """Find any placement under ``capacity_bytes``.

    ``stop`` is asked now and then whether to give up, ``better`` told the height found, once there
    is one, and the bound (bytes), as they improve. The status is ``optimal`` when the height
    is also least, ``unknown`` when time ran out.
    """
    limit = Limit(time_limit_s=time_limit_s, stop=stop, better=better)
    return _explained(_decide(buffers, capacity_bytes, limit), buffers, capacity_bytes, limit)


def _decide(buffers: Sequence[Buffer], capacity_bytes: int, limit: Limit) -> Placed:
    table = Table(buffers, limit)
    early = _early(table, buffers, capacity_bytes)
    if early is not None:
        return early
    capacity = table.units.floor(capacity_bytes)
    if table.bound_bytes <= capacity_bytes:
        fill(table, capacity)
    return table.answer(capacity_bytes)


def minimize(
    buffers: Sequence[Buffer],
    capacity_bytes: int | None = None,
    time_limit_s: float = 60.0,
    stop: Callable[[], bool] = bool,
    better: Better = unheard,
) -> Placed:
    """Find a placement of least height, at most ``capacity_bytes`` if that is given.

    With a capacity this begins as :func:`place` does, and improves what that finds.
    """
    limit = Limit(time_limit_s=time_limit_s, stop=stop, better=better)
    return _explained(_lowest(buffers, capacity_bytes, limit), buffers, capacity_bytes, limit)


def _lowest(buffers: Sequence[Buffer], capacity_bytes: int | None, limit: Limit) -> Placed:
    table = Table(buffers, limit)
    early = _early(table, buffers, capacity_bytes)
    if early is not None and early.status is not Status.FEASIBLE:
        return early
    known = None if early is None or early.placement is None else early.placement.height_bytes
    ceiling = _ceiling(table, capacity_bytes, known)
    if ceiling is not None and table.bound <= ceiling and early is None:
        fill(table, ceiling)
    if ceiling is None or table.bound <= ceiling:
        descend(table, ceiling)
    found = table.answer(capacity_bytes)
    if found.placement is None and early is not None:
        return replace(early, bound_bytes=found.bound_bytes)
    return found


def _explained(
    found: Placed, buffers: Sequence[Buffer], capacity_bytes: int | None, limit: Limit
) -> Placed:
    """Add why there is no placement; that takes no longer than the proof, and a little."""
    if found.status is not Status.INFEASIBLE or found.conflict is not None:
        return found
    if capacity_bytes is None:
        return found
    own = Limit(time_limit_s=min(limit.left_s(), limit.spent_s() + _EXPLAINING_S), stop=limit.stop)
    conflict = explain(buffers, capacity_bytes, lambda some: _decide(some, capacity_bytes, own))
    return replace(found, conflict=conflict)


def _early(table: Table, buffers: Sequence[Buffer], capacity_bytes: int | None) -> Placed | None:
    """An answer without any search: fixed offsets that clash, or hints that will do."""
    conflict = clash(buffers)
    if conflict is not None:
        return Placed(
            status=Status.INFEASIBLE,
            placement=None,
            bound_bytes=table.bound_bytes,
            method="fixed offsets",
            conflict=conflict,
        )
    hint = hinted(buffers, capacity_bytes)
    if hint is None:
        return None
    optimal = hint.height_bytes <= table.bound_bytes
    return Placed(
        status=Status.OPTIMAL if optimal else Status.FEASIBLE,
        placement=hint,
        bound_bytes=table.bound_bytes,
        method="hints",
    )


def _ceiling(table: Table, capacity_bytes: int | None, known: int | None) -> int | None:
    """Units that a placement may have at most to be of use."""
    limits = [bytes_ for bytes_ in (capacity_bytes, known and known - 1) if bytes_ is not None]
    return table.units.floor(min(limits)) if limits else None
