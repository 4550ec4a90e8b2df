"""Tighten a knapsack row to the largest sum that its weights can reach."""

from __future__ import annotations

import numpy as np

from spmopt.core.table import Ints

_MOST_BITS = 400_000_000


def largest_sums(start: Ints, weights: Ints, room: Ints) -> Ints:
    """(m,) For each row the largest subset sum of its ``weights`` not above ``room``.

    Row ``k`` has the positive weights ``start[k]:start[k + 1]``. Sums are bits of an integer:
    adding a weight is a shift. A row that would take too long only loses the part of its room
    that no multiple of the greatest common divisor reaches.
    """
    result = room.copy()
    for k, (begin, end) in enumerate(zip(start[:-1].tolist(), start[1:].tolist(), strict=True)):
        mine = weights[begin:end]
        if not mine.size:
            result[k] = 0
            continue
        divisor = int(np.gcd.reduce(mine))
        limit = int(room[k]) // divisor
        if limit * mine.size <= _MOST_BITS:
            limit = _largest_sum((mine // divisor).tolist(), limit)
        result[k] = limit * divisor
    return result


def _largest_sum(weights: list[int], limit: int) -> int:
    mask = (1 << (limit + 1)) - 1
    sums = 1
    for weight in weights:
        sums |= (sums << weight) & mask
    return sums.bit_length() - 1
