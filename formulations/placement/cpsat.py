"""Placements by CP-SAT: one dimension of no-overlap a section, in a given order of decisions.

Two-dimensional no-overlap solves none of the published problems in half a minute; sections,
lowest offsets first in an order that suits, and learning from conflicts solve most at once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from formulations.placement.greedy import Order
from formulations.placement.parts import Part
from formulations.solver.apart import StoppedError, call
from spmopt.core.result import Status
from spmopt.core.table import Bools, Ints

_WORKER = "formulations.placement.cpsat_worker:solve"


def solve(
    part: Part,
    capacity: int,
    word: str,
    *,
    conflicts: int,
    time_limit_s: float,
    stop: Callable[[], bool] = bool,
) -> tuple[Status, Ints | None]:
    """Look for offsets (k,) under ``capacity``, in the order ``word``, up to a limit."""
    if (part.size > capacity).any() or (part.fixed + part.size > capacity).any():
        return Status.INFEASIBLE, None
    # Of buffers with windows or of no size sections do not say all; pairs do.
    special = part.windowed | (part.size == 0)
    inside = (part.needs > 0) & ~special[:, None]
    try:
        found: tuple[Status, Ints | None] = call(
            _WORKER,
            (part.size, part.alignment, part.fixed),
            ([np.flatnonzero(column) for column in inside.T], _pairs(part, special)),
            Order(part, word).arrange_all(),
            capacity,
            (conflicts, time_limit_s),
            stop=stop,
        )
    except StoppedError:
        return Status.UNKNOWN, None
    return found


def _pairs(part: Part, special: Bools) -> Ints:
    """(p, 4) Columns i, j, up, down: ``o_j >= o_i + up`` or ``o_i >= o_j + down``."""
    met = part.meets & special[:, None]
    # Once, if both are special.
    met &= ~(special[None, :] & np.tri(len(part), k=-1, dtype=np.bool_))
    one, other = np.nonzero(met)
    return np.stack([one, other, part.apart[one, other], part.apart[other, one]], axis=1)
