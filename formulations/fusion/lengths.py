"""Fused groups with values of their own, and lower bounds on longer ones of a long list.

Tables of values have, of each end, the begins of the fused groups that are not longer than a list
of so many operations may have them (:func:`~spmopt.core.fusion.certificate.longest_valued`): all of
most lists. The value of a longer one is the sum over its blocks, runs that begin at multiples of
their length, and over the operations beside these. It is the difference of a figure of its end and
one of its begin, so that the best begin is the least in a window that slides along.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from formulations.solver.program import Floats
from spmopt.core.fusion.certificate import longest_valued
from spmopt.core.fusion.fused_groups import FusedGroup
from spmopt.core.table import Bools, Ints


class Lengths:
    """Places of fused groups in tables.

    Attributes
    ----------
    longest
        Operations of the longest fused group that has a place.
    all
        Whether all tiled groups have places.
    first : (n + 1,)
        By end: begin of the fused group in the first column.
    width
        Columns.
    """

    def __init__(self, count: int, ways: int, reach: int) -> None:
        self.count = count
        self.longest, self.all = longest_valued(count, ways, reach)
        self.width = count + 1 if self.longest == count else self.longest
        self.first: Ints = np.maximum(np.arange(count + 1) - self.width, 0)

    def has(self, fused_group: FusedGroup) -> bool:
        """Return whether a fused group has a place."""
        return fused_group.end - fused_group.begin <= self.longest

    def column(self, fused_group: FusedGroup) -> int:
        """Return the column of a fused group that has a place."""
        return fused_group.begin - int(self.first[fused_group.end])

    def begins(self, figure: Floats) -> Floats:
        """Return (n + 1, width) a figure (n + 1,) of the begins of fused groups."""
        padded = np.concatenate((figure, np.zeros(self.width, figure.dtype)))
        found: Floats = np.lib.stride_tricks.sliding_window_view(padded, self.width)[self.first]
        return found

    def between(self, upto: Floats) -> Floats:
        """Return (n + 1, width) the increase of a figure (n + 1,) at ends of fused groups."""
        found: Floats = upto[:, None] - self.begins(upto)
        return found

    def none(self, reaches: Sequence[int]) -> Bools:
        """Return (n + 1, width) whether a place is of no fused group, by the farthest end (n,)."""
        end = np.arange(self.count + 1)
        reach = self.begins(np.array([*reaches, -1], float))
        found: Bools = (reach < end[:, None]) | (
            np.arange(self.width) >= (end - self.first)[:, None]
        )
        return found


@dataclass(frozen=True)
class Beyond:
    """Values of fused groups that are longer than those with places.

    Attributes
    ----------
    longest
        Operations of those.
    upto, before : (p, n + 1)
        By number of fusion tiles: a value is that of ``upto`` at its end, less ``before`` at its
        begin.
    first : (p, n + 1)
        By end: the first begin of such a fused group.
    """

    longest: int
    upto: Floats
    before: Floats
    first: Ints


def blocks(alone: Floats, proved: dict[int, float], length: int) -> tuple[Floats, Floats]:
    """Return (n + 1,) the figures of ends, and those of begins, of fused groups of some tiles.

    Parameters
    ----------
    alone : (n,) Lower bound on each operation.
    proved
        Lower bounds on blocks of a ``length``, by their number.
    """
    upto, place = np.concatenate(([0.0], np.cumsum(alone))), np.arange(alone.size + 1)
    block = np.diff(upto[::length])
    for number, value in proved.items():
        # A block costs at least its program, and at least its operations one by one.
        block[number] = max(block[number], value)
    whole = np.concatenate(([0.0], np.cumsum(block)))
    # Only whole blocks inside of the group count; the operations beside them count alone.
    last, following = place // length, np.minimum(-(-place // length), block.size)
    ends = whole[last] + upto - upto[last * length]
    begins = whole[following] - (upto[following * length] - upto)
    return ends, begins
