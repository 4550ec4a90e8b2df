"""How much of every pixel rectangles cover, exactly: a map of more of them than it has pixels."""

from __future__ import annotations

import numpy as np

from spmopt.analysis.steps import Reals
from spmopt.core.table import Ints


def coverage(
    across: tuple[Reals, Reals],
    along: tuple[Reals, Reals],
    group: Ints,
    shape: tuple[int, int, int],
) -> Reals:
    """(groups, height, width) Share of every pixel's area that rectangles of each group cover.

    Parameters
    ----------
    across, along
        Ends of every rectangle in pixels, from 0 to width and from 0 to height.
    group : (r,)
        The group of each.
    shape
        Groups, height and width.

    Notes
    -----
    Along one axis the share of a pixel is the difference of two ramps, which changes at two pixels
    each: four numbers an axis, sixteen a rectangle, then two running sums. Shares of rectangles
    that overlap add up.
    """
    groups, height, width = shape
    x, dx = _changes(*across)
    y, dy = _changes(*along)
    place = (group[:, None, None] * (height + 2) + y[:, :, None]) * (width + 2) + x[:, None, :]
    change: Reals = np.bincount(
        place.ravel(),
        (dy[:, :, None] * dx[:, None, :]).ravel(),
        groups * (height + 2) * (width + 2),
    ).astype(float)
    change = change.reshape(groups, height + 2, width + 2)
    summed = np.cumsum(np.cumsum(change, axis=1), axis=2)[:, :height, :width]
    found: Reals = np.clip(summed, 0.0, 1.0)
    return found


def _changes(low: Reals, high: Reals) -> tuple[Ints, Reals]:
    """(r, 4) Pixels at which the share changes, and by how much."""
    first, last = np.floor(low).astype(np.int64), np.floor(high).astype(np.int64)
    a, b = low - first, high - last
    return np.stack((first, first + 1, last, last + 1), 1), np.stack((1 - a, a, b - 1, -b), 1)
