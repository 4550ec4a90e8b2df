"""Accesses that a window of steps sees, in local numbers."""

from __future__ import annotations

import numpy as np

from formulations.residency.bound.ranked import RankedIntervals
from formulations.reuse_intervals import ReuseIntervals
from spmopt.core.table import Ints
from spmopt.core.timeline import Access


class WindowNumbers:
    """Makes the intervals of windows; holds the arrays that number their accesses.

    Attributes
    ----------
    place : (a,)
        Local number of an access, or that which carries its final bytes; -1 outside.
    carrier : (a,)
        Local number of the interval that carries bytes into the one that an access ends; -1 of
        none.
    """

    def __init__(self, intervals: RankedIntervals) -> None:
        self.intervals = intervals
        count = intervals.step.size
        self.place = np.full(count, -1, np.int32)
        self.carrier = np.full(count, -1, np.int32)
        self._in_order = intervals.position[:-1].astype(np.int32)
        self._first = intervals.line.first

    def inner(self, begin: int, end: int) -> Ints:
        """Return the accesses in steps [begin, end)."""
        return self._in_order[self._first[begin] : self._first[end]].astype(np.int64)

    def window(
        self, begin: int, end: int, carried: Ints, last: Ints, entered: Ints
    ) -> WindowIntervals:
        """Number the accesses that the window [begin, end) sees, until ``forget``.

        Parameters
        ----------
        carried
            Accesses that end intervals with bytes on chip at ``begin``.
        last
            Last accesses of tensors that are still dirty then.
        entered
            Accesses that end intervals in which bytes may be loaded in the window.
        """
        intervals, inner = self.intervals, self.inner(begin, end)
        after = intervals.next[inner]
        after = after[(after >= 0) & intervals.live[after]]
        beyond = np.concatenate((carried, after, entered))
        ends = np.unique(beyond[intervals.step[beyond] >= end])
        window = WindowIntervals(
            intervals, (begin, end), carried=carried, last=last, inner=inner, ends=ends
        )
        numbers = np.arange(window.origin.size, dtype=np.int32)
        self.carrier[carried] = numbers[: carried.size]
        self.place[window.origin[carried.size :]] = numbers[carried.size :]
        real = window.origin[window.carriers :]
        before = intervals.previous[real]
        previous = np.where(before >= 0, self.place[before], -1)
        into = self.carrier[real]
        window.previous[window.carriers :] = np.where(into >= 0, into, previous)
        return window

    def forget(self, window: WindowIntervals) -> None:
        """Take the numbers of a window back."""
        self.carrier[window.origin[: window.carried]] = -1
        self.place[window.origin[window.carried :]] = -1


class WindowIntervals(ReuseIntervals):
    """Accesses (l,) as the compact program takes them, steps counted from the window's first.

    First come *carriers*, in step -1: they stand for bytes that the past has left on chip, in the
    intervals that are open and of tensors without a further access. Then the accesses in the
    window; at last, in the step after it, those that *end* intervals it has a say in.

    Attributes
    ----------
    steps
        Width of the window.
    carried, carriers, inner
        Numbers from which on the final carriers come, the accesses in the window, the ends.
    origin : (l,)
        The access; of a carrier that which ends its interval, or the last one.
    absent : (l,) bool
        Accesses at which no byte may be resident.
    previous : (l,)
        Local number of the access or carrier before; -1 where nothing can come from there.
    """

    def __init__(
        self,
        intervals: RankedIntervals,
        window: tuple[int, int],
        *,
        carried: Ints,
        last: Ints,
        inner: Ints,
        ends: Ints,
    ) -> None:
        begin, end = window
        self.line, self.steps, self.first_step = intervals.line, end - begin, begin
        self.carried, self.carriers = carried.size, carried.size + last.size
        self.inner = self.carriers + inner.size
        self.origin = origin = np.concatenate((carried, last, inner, ends))
        self.size_bytes, self.ratio = intervals.size_bytes[origin], intervals.ratio[origin]
        self.fetches = intervals.fetches[origin]
        self.step = np.minimum(intervals.step[origin] - begin, self.steps)
        self.begin = np.maximum(intervals.begin[origin] - begin, 0)
        self.kind = intervals.kind[origin]
        self.required_resident = intervals.required_resident[origin]
        self.dirty, self.live_after = intervals.dirty[origin], intervals.live_after[origin]
        self.absent = intervals.absent[origin]
        self.live, self.final = intervals.live[origin], intervals.final[origin]
        self.before_use = intervals.before_use[origin]
        self.previous = np.full(origin.size, -1, np.int64)
        carriers = slice(self.carriers)
        self.step[carriers], self.begin[carriers] = -1, 0
        self.kind[carriers], self.dirty[carriers] = Access.READ, True
        self.live_after[carriers] = True
        self.absent[carriers] = self.required_resident[carriers] = False
        self.final[: self.carried] = self.final[self.inner :] = False
        self.before_use[self.inner :] = False
