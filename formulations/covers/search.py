"""The search of a cover: windows of positions in which the shortest path is found, one by one.

A segment is priced by two programs: as one that begins and ends with nothing on chip, which it will
not have to, and with all that fits, which it shares with its neighbors. The former tells long
segments apart, the latter operations of the whole batch among segments in pieces; a mean of both is
often better than either (ResNet-50 in batches of 32, large-npu with 8 MB: 18.32, 18.45 and 18.00
ms). A byte moved costs a little beside: of covers that take as long, that which moves less leaves
room to load ahead.

A shortest path over the whole network needs thousands of programs. Within a window of twelve
positions a few dozen do, and the path over all segments that some window has solved joins them:
ResNet-50 on 4 MB after 500 programs, and wider windows do not better it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from formulations.covers.paths import SegmentArcs, shortest_path
from formulations.solver.program import Floats
from spmopt.core.listing import Cover

_SPARE = 0.03
"""What a byte moved costs beside the objective, as a share of its time on the channel."""
_STEP = 4e-7
"""What a step of a cover costs beside, as a share of what any cover costs at least: 8 bands where 2
do as well are four times the steps, which take as much longer to schedule (MobileNetV2 on 4 MB in
15 s: 12,480 steps 5.8 % above the bound without, 3,453 steps 0.07 % above it)."""
_FIRST = 12
"""Positions of a window, at first."""
_SHARES = (0.0, 0.5, 0.25, 0.75)
"""Weight of the program that is given a full scratchpad, one pass of windows after another."""


class CoverSearch:
    """Searches covers at the values of segments; better ones come as time goes by.

    Parameters
    ----------
    held
        Segments with a full scratchpad at both ends, those of the bound.
    stop
        Asked often; once true, what is known is returned.
    """

    def __init__(self, held: SegmentArcs, stop: Callable[[], bool], threads: int = 1) -> None:
        self.listed, self.stop, self.threads = held.listed, stop, threads
        self.empty, self.held = SegmentArcs(held.listed, 0.0), held
        self.borders = [0, *held.listed.borders, held.listed.count]
        cycle = float(held.listed.objective.cycle)
        self._byte = _SPARE * cycle / held.listed.bytes_per_cycle
        every = range(held.listed.count + 1)
        least, _ = shortest_path(held.value, every, held.listed.segment)
        self._step = _STEP * least if np.isfinite(least) else 0.0

    def start(self, covers: Iterable[Cover]) -> None:
        """Price the segments of some covers."""
        for cover in covers:
            if not self.stop():
                self.empty.solve(cover, self.threads)
                self.borders = sorted({*self.borders, *(each.begin for each in cover)})

    def price(self, cover: Cover) -> float:
        """Return what a cover costs that begins and ends all segments with nothing on chip.

        It is infinite where a segment is not priced.
        """
        if any(each not in self.empty.solved for each in cover):
            return np.inf
        return self._price(self.empty, cover)

    def covers(self) -> Iterator[Cover]:
        """Yield the best cover after each pass of windows, in windows of twice the size each time.

        It ends with a window of all positions, or once it is told to stop.
        """
        width = _FIRST
        while True:
            for share in _SHARES:
                yield self._pass(width, share)
                if self.stop():
                    return
            if width >= len(self.borders):
                return
            width *= 2

    def gain(self, new: Cover, old: Cover) -> float:
        """Return what is gained, by the mean of both values, where ``new`` stands for ``old``."""
        gained = 0.0
        for arcs in (self.empty, self.held):
            arcs.solve((*new, *old), self.threads)
            gained += (self._price(arcs, old) - self._price(arcs, new)) / 2
        return gained

    def _pass(self, width: int, share: float) -> Cover:
        """Search all windows; return the cheapest cover of segments that are priced."""
        for first in range(0, max(len(self.borders) - width // 2, 1), width // 2):
            self._search(self.borders[first : first + width + 1], share)
        if share:
            self.held.solve(self._path(self.borders, 0.0, exact=True), self.threads)
        return self._path(self.borders, share, exact=True)

    def _search(self, at: list[int], share: float) -> None:
        """Find the shortest path over some positions."""
        while not self.stop():
            cover = self._path(at, share)
            new = self.empty.solve(cover, self.threads)
            if share:
                new |= self.held.solve(cover, self.threads)
            if not new:
                return

    def _path(self, at: list[int], share: float, *, exact: bool = False) -> Cover:
        table = (1 - share) * self._table(self.empty, at, exact)
        if share:
            table += share * self._table(self.held, at, exact)
        return shortest_path(table, at, self.listed.segment)[1]

    def _table(self, arcs: SegmentArcs, at: list[int], exact: bool) -> Floats:
        """Return the costs of segments between some positions, and what they move."""
        table = (arcs.exact if exact else arcs.value)[at][:, :, at]
        place, count = np.array(at, np.float64), np.array(self.listed.pieces, np.float64)
        steps = count[:, None] * np.maximum(place[:, None, None] - place, 0.0)
        return np.asarray(table + self._byte * arcs.moved[at][:, :, at] + self._step * steps)

    def _price(self, arcs: SegmentArcs, segments: Cover) -> float:
        """Return the costs of segments that are solved."""
        found = [arcs.solved[each] for each in segments]
        steps = sum((each.end - each.begin) * each.count for each in segments)
        moved = sum(each.moved_bytes for each in found)
        value = sum(each.value for each in found)
        return value + self._byte * moved + self._step * steps
