"""Reuse intervals in an order that lets one numpy slice hold the k-th access of every tensor."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from formulations.residency.bound.rangemin import StepRanges
from formulations.reuse_intervals import ReuseIntervals
from formulations.solver.program import Floats
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Timeline


@dataclass(frozen=True, kw_only=True, eq=False)
class SetupShares:
    """Bytes (a,) that move beside one that an access moves: loaded or stored, and streamed.

    Of whatever path all bytes of a tensor take, each command needs one set-up; its share of a byte
    is added to each (:mod:`spmopt.verifier.setups`). A path's use of the channel is in whole bytes,
    ``used_moved`` and ``used_streamed`` a command, so that no sum depends on its order.
    """

    moved: Floats
    streamed: Floats
    used_moved: float
    used_streamed: float


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
    absent : (a,) bool
        Accesses at which no byte may be resident.
    setups
        By how much more bytes move because their commands need a set-up; None where none does.
    threads
        That may evaluate a dual over them.
    """

    def __init__(
        self,
        line: Timeline,
        absent: Bools | None = None,
        *,
        early: Bools | None = None,
        setup_bytes: float = 0.0,
        loads: bool = True,
        threads: int = 1,
    ) -> None:
        """Arrange accesses of a timeline; ``absent``, ``early`` (a,) in its order, or nowhere.

        ``setup_bytes``: the bytes that the channel could move in a command's set-up, shared out
        among the bytes of a tensor; not of loads and stores without ``loads``.
        """
        self.threads = threads
        count = np.bincount(line.tensor, minlength=line.size_bytes.size)
        by_tensor = np.argsort(line.tensor, kind="stable")
        starts = np.cumsum(count) - count
        rank = np.empty(by_tensor.size, np.int64)
        rank[by_tensor] = np.arange(by_tensor.size) - starts[line.tensor[by_tensor]]
        # First by rank, then by the tensor's number of accesses: slices shrink at their end.
        super().__init__(line, np.lexsort((line.tensor, -count[line.tensor], rank)), early)
        everywhere = np.zeros(by_tensor.size, bool) if absent is None else absent
        self.absent: Bools = everywhere[self.access]
        self.setups: SetupShares | None = None
        if setup_bytes:
            streamed = setup_bytes / (self.size_bytes * self.ratio)
            moved = streamed if loads else np.zeros_like(streamed)
            whole = float(round(setup_bytes))
            self.setups = SetupShares(
                moved=moved,
                streamed=streamed,
                used_moved=whole if loads else 0.0,
                used_streamed=whole,
            )
        self.slices = tuple(pairwise([0, *np.cumsum(np.bincount(rank)).tolist()]))

    @cached_property
    def inner(self) -> StepRanges:
        """The untouched steps of each interval, among dual values of all ratios."""
        return StepRanges(self.begin + self.offset, self.at)

    @cached_property
    def ends(self) -> Ints:
        """(t,) Positions of the last accesses of all tensors."""
        return np.flatnonzero(self.next < 0)

    @cached_property
    def after_last(self) -> StepRanges:
        """The steps after each ``last`` access, among dual values of all ratios."""
        return StepRanges(self.at[self.last] + 1, self.offset[self.last] + self.steps)

    def reach(self, capacity_bytes: float) -> int:
        """Return the longest interval, in steps, that still fits where shorter ones go first.

        Those up to it take ``capacity_bytes`` on the mean over all steps.
        """
        some = self.live & (self.previous >= 0) & (self.begin < self.step)
        length = (self.step - self.begin)[some]
        if not length.size:
            return 0
        # Short intervals take least room for a use saved.
        order = np.argsort(length, kind="stable")
        held = np.cumsum((length * self.size_bytes[some])[order]) / self.steps
        last = min(int(np.searchsorted(held, capacity_bytes)), length.size - 1)
        return int(length[order[last]])
