"""The search of a cover: windows of positions in which the shortest path is found, one by one.

A segment is priced by two programs: as one that begins and ends with nothing on chip, which it will
not have to, and with all that fits, which it shares with its neighbors. The former tells long
segments apart, the latter operations of the whole batch among segments in pieces; a mean of both is
often better than either (training ResNet-50, 24 MB: 60.73, 60.75 and 60.43 ms). Of covers that cost
as much, that which moves less leaves room to load ahead, and that of finer pieces is nearer to its
price, which is a mean over pieces.

A shortest path over the whole network needs thousands of programs. Within a window of twelve
positions a few dozen do, and the path over all segments that some window has solved joins them:
ResNet-50 on 4 MB after 500 programs, and wider windows do not better it. First windows are over
positions where the list naturally ends a segment, then over all: MobileNetV2 on large-npu with 8 MB
152.60, then 151.37 ms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from formulations.covers.paths import SegmentArcs, shortest_path
from formulations.solver.program import Floats
from spmopt.core.listing import Cover

_SPARE = 0.03
"""What a byte moved costs beside the objective, as a share of its time on the channel."""
_STEP, _STEP_OF_BANDS = -1e-7, 4e-7
"""What a step of a cover costs beside, as a share of what any cover costs at least. Finer pieces
come nearer to their price (training ResNet-50, 24 MB: 60.75 without, 60.53 ms); bands do not, and 8
where 2 do as well are four times the steps, which take as much longer to schedule (MobileNetV2 on
4 MB in 15 s: 12,480 steps 5.8 % above the bound without, 3,453 steps 0.07 % above it)."""
_WIDTH = 12
"""Positions of a window, at first."""
_MEAN = 0.75
"""Weight of the program that is given a full scratchpad, in estimates."""
_FIRST = ((False, 0.0), (False, _MEAN), (True, _MEAN), (True, 0.0), (False, 0.5))
"""Passes of windows of the first width: over all positions or not, and that weight; then wider."""


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
        counts = np.array(held.listed.pieces)
        steps = np.where(counts > held.listed.listing.batch, _STEP_OF_BANDS, _STEP)
        self._steps: Floats = counts * steps * (least if np.isfinite(least) else 0.0)

    def start(self, covers: Iterable[Cover]) -> None:
        """Price the segments of some covers."""
        for cover in covers:
            if not self.stop():
                self._solve(cover)
                self.borders = sorted({*self.borders, *(each.begin for each in cover)})

    def estimate(self, cover: Cover) -> float:
        """Return what a cover costs, by the mean of both values; solve what is not solved of it."""
        cost = 0.0
        self._solve(cover)
        for arcs, weight in self._weights(_MEAN):
            cost += weight * self._price(arcs, cover)
        return cost

    def covers(self) -> Iterator[Cover]:
        """Yield the best cover after each pass of windows, in wider windows each time.

        It ends with a window of all positions, or once it is told to stop.
        """
        every = list(range(self.listed.count + 1))
        for all_positions, share in _FIRST:
            cover = self._pass(every if all_positions else self.borders, _WIDTH, share)
            if self.stop():
                return
            yield cover
        width = _WIDTH
        while width < len(every):
            width *= 2
            for share in (_MEAN, 0.0):
                cover = self._pass(every, width, share)
                if self.stop():
                    return
                yield cover

    def gain(self, new: Cover, old: Cover) -> float:
        """Return what is gained, by estimate, where ``new`` stands for ``old``."""
        return self.estimate(old) - self.estimate(new)

    def _pass(self, at: list[int], width: int, share: float) -> Cover:
        """Search all windows; return the cheapest cover of segments that are priced."""
        for first in range(0, max(len(at) - width // 2, 1), width // 2):
            self._search(at[first : first + width + 1], share)
        return self._path(at, share, exact=True)

    def _search(self, at: list[int], share: float) -> None:
        """Find the shortest path over some positions."""
        while not self.stop():
            if not self._solve(self._path(at, share)):
                return

    def _solve(self, cover: Cover) -> bool:
        return self.held.solve(cover, self.threads, self.empty)

    def _path(self, at: list[int], share: float, *, exact: bool = False) -> Cover:
        tables = [weight * self._table(arcs, at, exact) for arcs, weight in self._weights(share)]
        return shortest_path(np.sum(tables, axis=0), at, self.listed.segment)[1]

    def _weights(self, share: float) -> list[tuple[SegmentArcs, float]]:
        both = (self.empty, 1 - share), (self.held, share)
        return [(arcs, weight) for arcs, weight in both if weight]

    def _table(self, arcs: SegmentArcs, at: list[int], exact: bool) -> Floats:
        """Return the costs of segments between some positions, and what they move."""
        table = (arcs.exact if exact else arcs.value)[at][:, :, at]
        place = np.array(at, np.float64)
        steps = self._steps[:, None] * np.maximum(place[:, None, None] - place, 0.0)
        return np.asarray(table + self._byte * arcs.moved[at][:, :, at] + steps)

    def _price(self, arcs: SegmentArcs, segments: Cover) -> float:
        """Return the costs of segments that are solved."""
        found = [arcs.solved[each] for each in segments]
        ways = [self.listed.pieces.index(each.count) for each in segments]
        steps = (
            (each.end - each.begin) * self._steps[way]
            for way, each in zip(ways, segments, strict=True)
        )
        moved = sum(each.moved_bytes for each in found)
        return float(sum(each.value for each in found) + self._byte * moved + sum(steps))
