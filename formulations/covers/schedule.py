"""What is computed in pieces, decided together with residency, with a bound over all covers.

Covers are searched at the values of their segments (:mod:`formulations.covers.search`), and each is
scheduled as the instance that it makes (:mod:`formulations.residency.page`), the list as given the
first. Meanwhile the bound over all covers rises (:mod:`formulations.covers.paths`); a cover that it
names is tried as well. Of a small listing all covers are tried that may be better than the best.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np

from formulations.covers.bounding import BoundSearch, Problem, Values
from formulations.covers.enumeration import by_value
from formulations.covers.estimates import Estimates
from formulations.covers.listed import Listed
from formulations.covers.neighbors import neighbors
from formulations.covers.paths import CheapestCover, SegmentArcs
from formulations.covers.search import CoverSearch
from formulations.covers.trials import COARSE, ROUGH, STEP_S, CoverTrials, steps_of
from spmopt.core.errors import InfeasibleError
from spmopt.core.instance import Instance
from spmopt.core.pieces.certificate import CoverCertificate
from spmopt.core.pieces.family import Family
from spmopt.core.pieces.listing import Listing, Pieces, listing_of, whole
from spmopt.core.pieces.segments import Cover, Segment
from spmopt.core.result import Outcome
from spmopt.core.scheduler import Request

_FEW = 200
"""Segments of a listing that is small: each of its covers may be tried."""
_QUICK = 6_000
"""Steps of a uniform cover that is scheduled first: ResNet-50 in 8 bands takes 10 s."""
_MANY = 300
"""Operations of a list whose covers by estimates are scheduled first: to tabulate and solve values
of segments takes most of 10 s in training (GoogLeNet, DenseNet-121, MobileNetV2, Inception). Not
where layers are equal and share values: a Transformer in training was at 4.5 % so, not 0.5 %."""
_A_SECOND = 36
"""Of them, for each second that there is: with more time values lead to better covers. ResNet-50 in
training (508 operations) is at 1.0 % by estimates and 7.7 by values after 10 s on 24 MB, at 0.8 and
0.3 after 15; on 4 MB at 7.3 and 0.4."""
_ESTIMATE_SHARES = 0.25, 0.5
"""Of the time that is left: to schedule covers by estimates, of coarse pieces and of fine ones."""
_ESTIMATE_STEPS = 3
"""Steps for each operation that such a cover may have, if there is time: in training, fine ones of
GoogLeNet and ResNet-50 with two are 8 and 33 % worse than without limit."""
_NEAR = 0.05
"""Gap of a cover by estimates that one of fine pieces, or a uniform one, hardly betters."""
_LONG = 200
"""Operations of a segment whose program takes too long to choose among uniform covers: those of a
Transformer with 689 take 11 s."""
_LOST = 0.02, 0.05
"""Of the gap, or of the tolerance: what the bound may lose so that its proof is short."""
_FIRST_SHARE = 0.35
"""Of the time: until when some cover is searched before a uniform one is tried. Of 40 networks
12 had none after 10 s without this limit."""
_BATCH_SHARE = 0.25
"""Of the time: until when covers without bands of rows are searched alone, once there is a first.
ResNet-50, 4 images in 8 bits on 2 MiB, is at 3.2 million cycles after 15 s, not 6.2."""
_WHOLE_SHARE = 0.2
"""Of the time: the list as given."""
_LIST_S, _MODE_S, _ESTIMATE_S = 7e-4, 3e-4, 1e-6
"""Seconds that an operation takes to list in pieces; that its modes take to make, for each number
of bands; and that a cost takes to estimate."""
_UNFIT = "what must be on chip does not fit, whole or in pieces"
_NONE_FITS = "no cover was found in which what must be on chip fits"


def schedule(instance: Instance, request: Request, family: str = "all") -> Outcome:
    """Find a cover and its schedule, and a bound over all covers; never worse than ``page``'s.

    ``family``: name of the covers, see :meth:`~spmopt.core.pieces.listing.Listing.family`.

    Raises
    ------
    InputError
        It is not known what the operations compute, as of an instance that was read from a file.
    InfeasibleError
        An operation's stationary operands and scratch do not fit the SPM, whole or in pieces.
    """
    begun, listing = request.work.seconds, listing_of(instance)
    request.work.seconds += _LIST_S * len(listing.operations)
    return _Search(listing, listing.family(family), request, begun).run()


def _longest(cover: Cover) -> int:
    """Return the operations of a cover's longest segment."""
    return max(each.end - each.begin for each in cover)


class _Search(CoverTrials):
    """Which covers are tried, and what bounds all of them."""

    def __init__(
        self, listing: Listing, family: Family, request: Request, begun: float = 0.0
    ) -> None:
        super().__init__(listing, request, begun)
        self.family = family
        self.cut_short, self.unfit = True, False
        self.arcs: SegmentArcs | None = None
        self.named: Cover = ()
        self.proof: CoverCertificate | None = None
        self.notes: tuple[str, ...] = ()
        self.bounding: BoundSearch | None = None
        self._waiting: list[tuple[Values, Values]] = []

    @cached_property
    def listed(self) -> Listed:
        """The listing with modes for all numbers of pieces and bands: DenseNet's takes 2 s."""
        self.work.seconds += _MODE_S * len(self.listing.operations) * len(self.family.bands)
        return Listed(self.listing, self.request.objective, self.family)

    def run(self) -> Outcome:
        """Search until the time is up, all is tried, or the gap is closed."""
        request = self.request
        fit = all(self.listing.fits(at, 1) for at in range(len(self.listing.operations)))
        if not (fit or np.isfinite(self.listed.compulsory)):
            raise InfeasibleError(_UNFIT)
        if request.start is None or request.prices is None:
            self.attempt(whole(self.listing), request.start is not None, _WHOLE_SHARE)
        else:
            self.take(request.start, request.prices)
        try:
            if self._estimates_first():
                self._begin()
                self._by_estimates()
                self._tabulate()
            else:
                self._tabulate()
                self._begin()
            self._search(max(1, request.threads - 1))
            self._end()
        finally:
            if self.bounding is not None:
                self.bounding.close()
        if self.named:
            self.attempt(self.named)
        return self._finished()

    def _begin(self) -> None:
        """Begin the search of the bound beside that of covers."""
        self.bounding = BoundSearch(
            Problem(self.listing, self.request.objective, self.family),
            self._hear,
            self._learn,
            seconds=self.request.time_limit_s,
            apart=self.request.threads > 1 and not self.few,
            stop=lambda: self.late,
            note=self._note,
        )

    def _end(self) -> None:
        """Raise the bound on: no longer than the search of covers took, until one is exact."""
        assert self.bounding is not None
        bounding, most = self.bounding, 2 * self.clock

        def enough(work_s: float) -> bool:
            closed = self.gap <= self.request.tolerance or work_s > self.end
            return closed or (bounding.found.exact and work_s > most)

        bounding.finish(enough)
        self.unfit |= bounding.unfit
        self.cut_short = not bounding.found.exact
        if bounding.found.exact and self.proof is None:
            self.named = bounding.found.cover

    def _tabulate(self) -> None:
        """Tabulate the values of segments, with those that the search of the bound has told."""
        arcs = SegmentArcs(self.listed, self.listed.capacity, self.work)
        self.few = arcs.lengths.all and int(np.isfinite(arcs.value).sum()) <= _FEW
        if not arcs.lengths.all and self.listed.compulsory > self.bound:
            # The first path of a long list takes a while.
            self.bound = self.listed.compulsory
            self.request.report_incumbent(bound=self.bound)
        self.arcs = arcs
        for solved, runs in self._waiting:
            arcs.learn(solved, runs)
        self._waiting.clear()

    def _learn(self, solved: Values, runs: Values) -> None:
        """Take values that the search of the bound tells."""
        if self.arcs is None:
            self._waiting.append((solved, runs))
        else:
            self.arcs.learn(solved, runs)

    def _hear(self, found: CheapestCover, proof: CoverCertificate | None) -> None:
        """Take a bound."""
        if found.value > self.bound:
            self.bound = found.value
            self.request.report_incumbent(bound=self.bound)
        if proof is not None:
            self.named, self.proof = found.cover, proof

    def _estimates_first(self) -> bool:
        """Return whether the list is long for its time, and of layers that differ, with windows."""
        operations, least = self.listing.operations, _A_SECOND * self.request.time_limit_s
        differ = any(each.rows is not None for each in operations)
        return len(operations) > max(_MANY, least) and differ and len(self.family.pieces) > 1

    def _by_estimates(self) -> None:
        """Schedule covers that are good by estimates, roughly."""
        if not self._estimates_first():
            return
        batch = replace(self.family, bands=(1,))
        estimates = Estimates(Listed(self.listing, self.request.objective, batch))
        self.work.seconds += _ESTIMATE_S * estimates.entries
        for fine, share in enumerate(_ESTIMATE_SHARES):
            # The first is not kept waiting for the bound's process, which begins by listing all
            # pieces anew: of DenseNet-121 in training, 3 of 10 s, after which there was no cover.
            if self.late or (fine and (self.stop() or self.gap <= _NEAR)):
                break
            left = (self.end - self.clock) / STEP_S
            most = max(share * left, min(_ESTIMATE_STEPS * len(self.listing.operations), left))
            self.attempt(estimates.cover(most, fine=bool(fine)), gap=ROUGH)

    def stop(self) -> bool:
        """Return whether the time of the search is up, or the gap closed."""
        if self.bounding is not None:
            self.bounding.upto(self.clock)
        return self.late or self.clock > self.end or self.gap <= self.request.tolerance

    def _note(self, message: str) -> None:
        if message not in self.notes:
            self.notes = (*self.notes, message)

    def _search(self, threads: int) -> None:
        """Try covers of passes of windows, then neighbors of the best."""
        assert self.arcs is not None
        stop = self.stop
        self._try_long(stop)
        begun = self._search_batch(threads, stop)
        first = self.begun + begun + _FIRST_SHARE * (self.request.time_limit_s - begun)
        search = CoverSearch(self.arcs, stop, threads, first)
        cut = self.best is not None and self.best.cover != whole(self.listing)
        if self.best is not None and cut:
            search.seed(self.best.cover)
        found = cut and begun > 0
        uniform = self._uniform()
        for number, cover in enumerate(search.covers()):
            if not (number or search.exact or found) and self.gap > _NEAR:
                self._try_uniform(search, uniform)
            self.attempt(cover)
            self.attempt(self.named)
            if stop():
                return
            others = [each for each in uniform if _longest(each) <= _LONG]
            if number == 1 and others:
                best = min(others, key=search.value)
                if search.value(best) < search.value(cover) * (1 + COARSE):
                    self.attempt(best)
        while not stop() and self.best is not None:
            before = self.best
            if not (self.few or self.fits(before.cover)):
                break  # Neighbors have about as many steps.
            for cover in neighbors(search, before.cover):
                self.attempt(cover)
                self.attempt(self.named)
                if stop() or self.best is not before:
                    break
            if self.best is before:
                break
        if self.few:
            self._try_all(stop)

    def _search_batch(self, threads: int, stop: Callable[[], bool]) -> float:
        """Try covers without bands of rows first, and return at which time all are searched.

        They are few, and programs of their segments short. A search of all begins at the best of
        them, with the values of their segments: it is hardly worse than one of them alone.
        """
        assert self.arcs is not None
        limit = self.request.time_limit_s
        few = self.few or not self.arcs.lengths.all or len(self.family.bands) == 1
        if few or self._estimates_first():
            return 0.0
        until, first = (self.begun + each * limit for each in (_BATCH_SHARE, _FIRST_SHARE))
        family = replace(self.family, bands=(1,))
        listed = Listed(self.listing, self.request.objective, family)
        arcs = SegmentArcs(listed, listed.capacity, self.work)

        def over() -> bool:
            return stop() or (search.first == np.inf and self.work.seconds > until)

        search = CoverSearch(arcs, over, threads, first)
        for cover in search.covers():
            self.attempt(cover)
        self.arcs.learn(arcs.solved, arcs.runs.solved)
        return self.clock

    def _try_long(self, stop: Callable[[], bool]) -> None:
        """Try uniform covers of a long list: of others those of short segments are searched."""
        assert self.arcs is not None
        for cover in [] if self.arcs.lengths.all else self._uniform():
            if not stop():
                self.attempt(cover, gap=ROUGH)

    def _try_uniform(self, search: CoverSearch, uniform: list[Cover]) -> None:
        """Schedule a uniform cover of few steps: the search of others takes long."""
        quick = [each for each in uniform if steps_of(each) <= _QUICK] or uniform[:1]
        priced = [each for each in quick if _longest(each) <= _LONG]
        if quick:
            first = min(priced, key=search.estimate) if priced else quick[-1]
            self.attempt(first, gap=ROUGH)

    def _uniform(self) -> list[Cover]:
        """Return the covers of the same number of pieces throughout, of few steps the first."""
        listing, family = self.listing, self.family
        found = [listing.uniform(each, family) for each in family.pieces[1:]]
        found += [listing.uniform(listing.batch, family, bands=each) for each in family.bands[1:]]
        return sorted(dict.fromkeys(found), key=steps_of)

    def _try_all(self, stop: Callable[[], bool]) -> None:
        """Try all covers whose segments' values do not add up to the best schedule's already."""
        assert self.arcs is not None
        ends, ways, begins = np.nonzero(np.isfinite(self.arcs.value))
        places = zip(ends.tolist(), ways.tolist(), begins.tolist(), strict=True)
        every = [self.listed.segment(begin, end, way) for end, way, begin in places]
        self.arcs.solve(every, stop=stop)
        for value, cover in by_value(self.arcs.value.copy(), self.listed.segment):
            if stop() or (self.best is not None and value >= self.best.value):
                return
            self.attempt(cover)
        self.unfit = self.best is None

    def _apart(self) -> Cover:
        """Return a cover of single operations, each in the fewest pieces in which it fits."""
        listed, cover = self.listed, list[Segment]()
        for at in range(listed.count):
            every = (
                listed.segment(at, at + 1, way)
                for way, pieces in enumerate(listed.pieces)
                if np.isfinite(listed.cycles(pieces)[at])
            )
            some = next((each for each in every if listed.allows(each)), None)
            if some is None:
                return ()
            cover.append(some)
        return tuple(cover)

    def _least(self) -> float:
        """Return the bound that is to be proved: a little less than what is known."""
        of_gap, of_tolerance = _LOST
        lost = max(of_gap * self.gap, of_tolerance * self.request.tolerance)
        return self.bound * (1 - min(lost, COARSE))

    def _finished(self) -> Outcome:
        """Schedule the best cover to the tolerance asked for."""
        if self.best is None:
            self.attempt(self._apart())
        best, request, arcs = self.best, self.request, self.arcs
        if best is None:
            if self.unfit:
                raise InfeasibleError(_UNFIT)
            return Outcome(plan=None, notes=(*self.notes, _NONE_FITS), cut_short=True)
        outcome = self.finer(best)
        certificate = self.proof
        if certificate is None and arcs is not None:
            certificate = arcs.certificate(self._least())
        return replace(
            outcome,
            class_bound=None,
            notes=(*outcome.notes, *self.notes),
            cut_short=self.cut_short and self.gap > request.tolerance,
            pieces=Pieces(
                listing=self.listing,
                cover=best.cover,
                instance=best.instance,
                certificate=certificate,
            ),
        )
