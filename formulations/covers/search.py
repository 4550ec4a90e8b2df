"""The search of a cover: shortest paths at estimates of what segments cost.

A segment is priced by two programs: as one that begins and ends with nothing on chip, which it will
not have to, and with all that fits, which it shares with its neighbors. The former tells long
segments apart, the latter operations of the whole batch among segments in pieces; a mean of both is
often better than either (training ResNet-50, 24 MB: 60.73, 60.75 and 60.43 ms). Of covers that cost
as much, that which moves less leaves room to load ahead, and that of finer pieces is nearer to its
price, which is a mean over pieces.

As in the bound, programs are solved of the segments of one path after another, runs inside of them
the first (:mod:`formulations.covers.runs`): of ResNet-50 on 4 MB 360 of 91,350, in 1.4 s. What a
segment moves is not known before, so that such paths are at first without a price of bytes; then
segments that are not solved are taken to move as much as the best cover does in their operations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from formulations.covers.lengths import shortest_path
from formulations.covers.paths import ARC_S, SegmentArcs
from formulations.solver.program import Floats
from spmopt.core.pieces.segments import Cover, Segment

_SPARE = 0.03
"""What a byte moved costs beside the objective, as a share of its time on the channel."""
_STEP, _STEP_OF_BANDS = -1e-7, 4e-7
"""What a step of a cover costs beside, as a share of what any cover costs at least. Finer pieces
come nearer to their price (training ResNet-50, 24 MB: 60.75 without, 60.53 ms); bands do not, and 8
where 2 do as well are four times the steps, which take as much longer to schedule (MobileNetV2 on
4 MB in 15 s: 12,480 steps 5.8 % above the bound without, 3,453 steps 0.07 % above it)."""
_MEAN = 0.75
"""Weight of the program that is given a full scratchpad, in estimates."""
_WEIGHTS = (0.0, _MEAN, 0.5, 1.0)
"""Those of one search after another; of the first two between natural borders only at first."""
_FEW = 12
"""Natural borders that such a segment may have inside: longer programs take long to solve (traffic
of MobileNetV2 on 4 MB in 15 s: 963 MB without this limit, 540 MB)."""
_COST_S = 2.5e-9
"""Seconds that a place of a table takes to estimate."""
_SLICE_S = 4.0
"""After so long a search yields the best of what it has solved, and the next begins; then all do
again, each for twice as long."""


class CoverSearch:
    """Searches covers at the values of segments; better ones come as time goes by.

    Parameters
    ----------
    held
        Segments with a full scratchpad at both ends, those of the bound.
    stop
        Asked often; once true, what is known is returned.
    first
        Until when, by what is counted of ``held``, the first cover is yielded, as good as it is
        then; it is empty where none is known.

    Attributes
    ----------
    exact
        Whether all of the last cover that was yielded, and of those before, is solved.
    """

    def __init__(
        self,
        held: SegmentArcs,
        stop: Callable[[], bool],
        threads: int = 1,
        first: float = np.inf,
    ) -> None:
        self.listed, self.stop, self.threads, self.first = held.listed, stop, threads, first
        self.work = held.work
        self.empty, self.held = SegmentArcs(held.listed, 0.0, self.work), held
        self.empty.runs = held.runs
        self._entered = set[Segment]()
        self.borders, self.exact = held.listed.borders, False
        cycle = float(held.listed.objective.cycle)
        self._byte = _SPARE * cycle / held.listed.bytes_per_cycle
        every = range(held.listed.count + 1)
        least, _ = shortest_path(held.value, every, held.listed.segment)
        counts = np.array(held.listed.pieces)
        steps = np.where(counts > held.listed.listing.batch, _STEP_OF_BANDS, _STEP)
        self._steps: Floats = counts * steps * (least if np.isfinite(least) else 0.0)
        between = held.lengths.between
        length = np.maximum(between(np.arange(held.listed.count + 1.0)), 0.0)
        # Of each number of pieces, where it is read: it would take as much as the values.
        self._length = np.broadcast_to(length[:, None], held.value.shape)
        number = np.full(held.listed.count + 1, np.nan)
        natural = [0, *self.borders, held.listed.count]
        number[natural] = range(len(natural))
        with np.errstate(invalid="ignore"):
            unnatural = ~(between(number) <= _FEW + 1)
        self._unnatural = np.broadcast_to(unnatural[:, None], held.value.shape)

    def estimate(self, cover: Cover) -> float:
        """Return what a cover costs, by the mean of both values; solve what is not solved of it."""
        cost = 0.0
        self._solve(cover)
        for arcs, weight in self._weights(_MEAN):
            cost += weight * self._price(arcs, cover)
        return cost

    def value(self, cover: Cover) -> float:
        """Return the mean of both values of a cover; solve what is not solved of it."""
        self._solve(cover)
        both = self._weights(_MEAN)
        return sum(weight * arcs.solved[each].value for arcs, weight in both for each in cover)

    def covers(self) -> Iterator[Cover]:
        """Yield the best cover at each weight, or the best so far where that takes long."""
        slice_s, natural = _SLICE_S, True
        while True:
            self.exact = True
            for share in _WEIGHTS[:2] if natural else _WEIGHTS:
                for priced in (False, True):
                    until = min(self.work.seconds + slice_s, self.first)
                    cover, known = self._converged(share, until, natural=natural, priced=priced)
                    if self.stop():
                        return
                    self.exact &= known
                    self._guess(cover)
                if cover or self.first < np.inf:
                    self.first = np.inf
                    yield cover
            if self.exact and not natural:
                return
            slice_s, natural = slice_s * (1 if natural else 2), False

    def _converged(
        self, share: float, until: float, *, natural: bool, priced: bool
    ) -> tuple[Cover, bool]:
        """Return the cheapest cover, and whether all of it is solved; else of what is solved.

        ``natural``: of segments between natural borders.
        """

        def late() -> bool:
            return self.stop() or self.work.seconds >= until

        table = self._costs(share, np.s_[:], priced=priced, natural=natural)
        while not late():
            cover = self._path(table)
            new = [each for each in cover if each not in self.empty.solved]
            new += [each for each in cover if each not in self.held.solved]
            if not new:
                return cover, True
            runs = [each for each in self.held.runs.inside(new) if each not in self._entered]
            if runs:
                self.held.runs.solve(runs, late)
                several = {each.pieces for each in runs}
                known = list(self.held.runs.solved)
                self._entered.update(each for each in known if each.pieces in several)
                for arcs in (self.empty, self.held):
                    arcs.raise_by_runs(several)
                places = [np.s_[:, self.listed.pieces.index(pieces)] for pieces in several]
            else:
                self.held.solve(new, self.threads, self.empty, late)
                places = [tuple(np.array([self.held.place(each) for each in new]).T)]
            for at in places:
                table[at] = self._costs(share, at, priced=priced, natural=natural)
        return self._path(self._costs(share, np.s_[:], priced=True, exact=True)), False

    def _guess(self, cover: Cover) -> None:
        """Take segments that are not solved to move as much as a cover does in their place."""
        moved = np.zeros(self.listed.count + 1)
        for each in cover:
            mean = self.empty.moved[self.held.place(each)] / (each.end - each.begin)
            moved[each.begin + 1 : each.end + 1] = mean
        upto = np.cumsum(moved)
        between = np.maximum(self.held.lengths.between(upto), 0.0)[:, None]
        for arcs in (self.empty, self.held):
            np.copyto(
                arcs.moved,
                np.maximum(arcs.least_moved, between).astype(np.float32),
                where=~arcs.known,
            )

    def gain(self, new: Cover, old: Cover) -> float:
        """Return what is gained, by estimate, where ``new`` stands for ``old``."""
        return self.estimate(old) - self.estimate(new)

    def seed(self, cover: Cover) -> None:
        """Solve the segments of a cover first: where time is short, others are pieced with them."""
        self.held.solve(cover, self.threads, self.empty, self.stop)

    def _solve(self, segments: Iterable[Segment]) -> bool:
        return self.held.solve(segments, self.threads, self.empty)

    def _path(self, table: Floats) -> Cover:
        self.work.seconds += ARC_S * table.size
        return shortest_path(table, range(self.listed.count + 1), self.listed.segment)[1]

    def _costs(
        self, share: float, at: Any, *, priced: bool, natural: bool = False, exact: bool = False
    ) -> Floats:
        """Return estimates of segments, as :attr:`SegmentArcs.value`; with bytes and steps.

        ``natural``: of segments between natural borders; ``exact``: of those that are solved.
        """
        steps = np.broadcast_to(self._steps[:, None], self._length.shape)
        self.work.seconds += _COST_S * self._length[at].size
        found = np.asarray(self._length[at] * steps[at] * float(priced))
        for arcs, weight in self._weights(share):
            found += weight * arcs.value[at]
            if priced:
                found += weight * self._byte * arcs.moved[at]
            if exact:
                found[~arcs.known[at]] = np.inf
        if natural:
            found[self._unnatural[at]] = np.inf
        return found

    def _weights(self, share: float) -> list[tuple[SegmentArcs, float]]:
        both = (self.empty, 1 - share), (self.held, share)
        return [(arcs, weight) for arcs, weight in both if weight]

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
