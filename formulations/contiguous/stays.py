"""Stays: how long a tensor is resident without a break, and how much of it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from spmopt.core.schedule import Residency
from spmopt.core.table import Ints
from spmopt.core.timeline import Timeline

NOWHERE = -1


@dataclass(slots=True, kw_only=True)
class Stay:
    """Pages ``heights[k]`` of ``tensor`` in step ``begin + k``, from page ``base`` on.

    Attributes
    ----------
    uses : (u,)
        Steps in which the tensor is used, those of the stay only.
    stationary : (v,)
        Those of them that need all of it.
    base
        -1 until there is one; whole pages, but for what comes out of a linear program.
    """

    tensor: int
    begin: int
    heights: Ints
    uses: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    stationary: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    base: float = NOWHERE

    @property
    def end(self) -> int:
        """One past the last step."""
        return self.begin + int(self.heights.size)

    @property
    def peak(self) -> int:
        """Most pages in a step."""
        return int(self.heights.max(initial=0))

    @property
    def area(self) -> int:
        """Pages times steps."""
        return int(self.heights.sum())


class Uses:
    """Steps in which each tensor is used, in order."""

    def __init__(self, line: Timeline) -> None:
        order = np.lexsort((line.step, line.tensor))
        self._tensor, self._step = line.tensor[order], line.step[order]
        self._stationary = line.stationary[order]

    def of(self, tensor: int, begin: int, end: int) -> tuple[Ints, Ints]:
        """Steps of ``[begin, end)`` that use ``tensor``, and those that need all of it."""
        first, last = np.searchsorted(self._tensor, (tensor, tensor + 1))
        steps, stationary = self._step[first:last], self._stationary[first:last]
        inside = (steps >= begin) & (steps < end)
        return steps[inside], steps[inside & stationary]

    def mark(self, stays: list[Stay]) -> None:
        """Set the uses of each."""
        for stay in stays:
            stay.uses, stay.stationary = self.of(stay.tensor, stay.begin, stay.end)


def stays_of(residency: Residency, page_bytes: int, uses: Uses) -> list[Stay]:
    """Rows that adjoin in time, tensor by tensor."""
    if not len(residency):
        return []
    pages = -(-residency.size_bytes // page_bytes)
    adjoins = (residency.tensor[1:] == residency.tensor[:-1]) & (
        residency.begin[1:] == residency.end[:-1]
    )
    first = np.flatnonzero(np.concatenate(([True], ~adjoins)))
    last = np.append(first[1:], len(residency)) - 1
    heights = np.split(
        np.repeat(pages, residency.end - residency.begin),
        np.cumsum((residency.end[last] - residency.begin[first])[:-1]),
    )
    stays = []
    for row, profile in zip(first.tolist(), heights, strict=True):
        tensor, begin = int(residency.tensor[row]), int(residency.begin[row])
        used, stationary = uses.of(tensor, begin, begin + profile.size)
        stays.append(
            Stay(tensor=tensor, begin=begin, heights=profile, uses=used, stationary=stationary)
        )
    return stays
