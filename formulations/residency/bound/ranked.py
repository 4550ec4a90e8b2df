"""Reuse intervals in an order that lets one numpy slice hold the k-th access of every tensor."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from formulations.residency.bound.rangemin import StepRanges
from formulations.reuse_intervals import ReuseIntervals
from spmopt.core.timeline import Timeline


@dataclass(frozen=True, kw_only=True, eq=False)
class RankedIntervals(ReuseIntervals):
    """Reuse intervals by rank of their access within its tensor.

    Tensors are sorted by their number of accesses, most first; then all first accesses come, then
    all second ones, and so on. The access before the ``k``-th of a slice is then the ``k``-th of
    the slice before it: a dynamic program over the accesses of all tensors is a loop over slices
    without any indexing.

    Attributes
    ----------
    slices
        ``(start, stop)`` of each rank.
    """

    slices: tuple[tuple[int, int], ...]

    @staticmethod
    def by_rank(line: Timeline) -> RankedIntervals:
        """Arrange the accesses of a timeline."""
        count = np.bincount(line.tensor, minlength=line.size_bytes.size)
        by_tensor = np.argsort(line.tensor, kind="stable")
        starts = np.cumsum(count) - count
        rank = np.empty(by_tensor.size, np.int64)
        rank[by_tensor] = np.arange(by_tensor.size) - starts[line.tensor[by_tensor]]
        order = np.lexsort((line.tensor, -count[line.tensor], rank))
        sizes = np.bincount(rank) if rank.size else np.zeros(0, np.int64)
        slices = tuple(pairwise([0, *np.cumsum(sizes).tolist()]))
        return RankedIntervals(**vars(ReuseIntervals.of(line, order)), slices=slices)

    @cached_property
    def inner(self) -> StepRanges:
        """The untouched steps of each interval."""
        return StepRanges.of(self.begin, self.step)

    @cached_property
    def after_last(self) -> StepRanges:
        """The steps after each ``last`` access."""
        after = self.step[self.last] + 1
        return StepRanges.of(after, np.full_like(after, self.steps))
