"""What a number of tile products must touch, and what so many that are left must still move."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from formulations.orders.products import Shape
from spmopt.core.table import Ints

_OPERANDS = 3


def least_touched(shape: Shape, *, input_gradient: bool = True) -> Ints:
    """(n + 1,) Fewest tiles that 0, 1, ..., n products touch, exactly.

    Products of both gradients are the cells of one box of I x J x 2K (J x I x K for dW alone), the
    tiles that they touch its projections. Pushing all cells towards a corner, axis by axis, lets
    no projection grow (Loomis and Whitney, 1949), so heaps in the corner are enough. Such a heap
    has heights along two walls, and over the rest of its floor the least of the two.
    """
    rows, inner, columns = shape
    depth = (2 if input_gradient else 1) * inner
    most = rows * columns * depth
    fewest = np.full(most + 2, 3 * most, np.int64)
    for corner in range(1, depth + 1):
        walls = [_wall(corner, side) for side in (rows, columns)]
        for one in walls[0]:
            for other in walls[1]:
                heights = np.sort(np.minimum.outer(one, other), axis=None)[::-1]
                heights = heights[heights > 0]
                floor = np.arange(1, heights.size + 1)
                touched = floor + one.sum() + other.sum()
                np.minimum.at(fewest, np.cumsum(heights), touched)
    fewest[0] = 0
    return np.minimum.accumulate(fewest[-2::-1])[::-1]  # more products touch no less


def _wall(corner: int, side: int) -> list[Ints]:
    """Heights along a wall that fall from ``corner``."""
    rest = combinations_with_replacement(range(corner, -1, -1), side - 1)
    return [np.array((corner, *heights), np.int64) for heights in rest]


def still_to_move(touched: Ints, spm_tiles: int) -> tuple[int, Ints]:
    """Bound the traffic of all products, and that of what is left of them, by phases.

    Each phase touches its least and finds some of it in the SPM: all that fits, but between two
    products, which share one tile at most, no more than what both have beside the five of theirs.
    Products whose tiles are all there run first, which delays nothing. Right after them one tile
    of the SPM must still give way to the next product's. A phase may go on until then: the SPM
    holds the tiles of few products only.

    Parameters
    ----------
    touched : (n + 1,)
        Fewest tiles that so many products touch.

    Returns
    -------
    tuple of int and (n + 1,)
        Tiles that all products move; and those that 0, 1, ..., n products move from an SPM full of
        what serves them best, where none of them can run without another tile.
    """
    most = touched.size - 1
    found = min(spm_tiles, 2 * spm_tiles - (2 * _OPERANDS - 1))
    after = int(np.flatnonzero(touched <= spm_tiles).max())  # products within the SPM
    at_any_time, once_stuck = np.zeros_like(touched), np.zeros_like(touched)
    for left in range(1, most + 1):
        phase = np.arange(1, left + 1)
        cut = touched[phase] + at_any_time[left - phase]
        stuck = touched[phase] + once_stuck[left - phase]
        stuck = np.concatenate((stuck, np.full(after - 1, stuck.max())))
        need = max(int(cut.max()), int(sliding_window_view(stuck, after).min(axis=1).max()))
        at_any_time[left] = max(0, need - found)
        once_stuck[left] = max(1, need - min(found, spm_tiles - 1))
    return need, once_stuck
