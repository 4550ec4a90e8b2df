"""Placements at once, one buffer after the other, each where it fits.

First fit: the lowest offset. Best fit: the tightest hole.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from formulations.placement.orders import FITTED, arranged
from formulations.placement.part import Part
from spmopt.core.table import Ints

_ENDLESS = 1 << 61


def fits(part: Part) -> Iterator[tuple[str, Ints]]:
    """Names of ways and offsets, way by way; those with buffers that overlap are left out."""
    for word in FITTED:
        order = arranged(part, word)
        order = np.concatenate([order[part.fixed[order] >= 0], order[part.fixed[order] < 0]])
        for best in (True, False):
            offsets = fit(part, order, best=best)
            if offsets is not None:
                yield f"{'best' if best else 'first'} fit, order {word}", offsets


def fit(part: Part, order: Ints, *, best: bool) -> Ints | None:
    """Offsets (k,) of buffers taken in ``order``; None if a fixed one is in the way of another."""
    offsets = np.full(len(part), -1, dtype=np.int64)
    for one in order.tolist():
        others = np.flatnonzero(part.meets[one] & (offsets >= 0))
        below = offsets[others] - part.apart[one, others]
        above = offsets[others] + part.apart[others, one]
        fixed = int(part.fixed[one])
        if fixed >= 0:
            if ((below < fixed) & (fixed < above)).any():
                return None
            offsets[one] = fixed
            continue
        by_room = np.argsort(below)
        step = int(part.alignment[one])
        begin = np.maximum.accumulate(np.concatenate([[0], above[by_room]]))
        begin = -(-begin // step) * step
        room = np.append(below[by_room], _ENDLESS) - begin
        chosen = np.where(room >= 0, room, _ENDLESS).argmin() if best else (room >= 0).argmax()
        offsets[one] = begin[chosen]
    return offsets


def height(part: Part, offsets: Ints) -> int:
    """Where the topmost buffer ends."""
    return int((offsets + part.size).max(initial=0))
