"""Prices of what segments carry across borders, so that neighbors agree on it.

At a border the segment before may leave, and that after may find, a full scratchpad of whatever
they like. A byte on chip there costs the one its price and earns it for the other; so does, the
other way round, a byte that is newer than DRAM. In a schedule both have the same bytes, and what
they pay cancels: the cheapest path at any prices is a bound over all covers. The best prices are
found by cutting planes: each solution of a segment's program says how much that segment costs at
other prices at most, and a linear program over these where prices are best, within a box round the
best known (:mod:`formulations.covers.planes`); there the cheapest path is searched anew.

At other prices the duals of a segment's program bound it still, so that few programs are solved
again, and these from their last basis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from formulations.covers.border_prices import BorderPrices, PricedSegment
from formulations.covers.paths import VALUE_S, SegmentArcs
from formulations.covers.planes import Planes
from formulations.covers.rows import NamedRows
from formulations.covers.segment import SegmentValue
from formulations.covers.sparse import SparseArcs
from formulations.solver.program import Floats
from spmopt.core.pieces.certificate import CoverCertificate
from spmopt.core.pieces.segments import Cover, Segment
from spmopt.core.table import Ints

_SOLVERS = 600_000
"""Entries of programs that are kept with their last basis: each takes half a kilobyte."""
_ROUNDS = 4
"""Paths searched at new prices before the next ones are asked for."""
_RADIUS, _WIDE = 0.05, 1.0
"""Box round the best prices, at first and at most, in prices of a byte."""
_SAME = 5e-6
"""Of the bound: what a segment may cost more than is known before it is solved again."""
_TABLE_S = 2e-8
"""Seconds that an arc takes to value at prices, and to be looked at by a path."""
_NAMED_S = 6e-4
"""Seconds that the prices of a segment take to name in a proof."""
_CLOSE = 1e-4
"""Relative gain below which prices are good enough."""

_Proof = tuple[float, NamedRows, Floats]
"""What a segment costs at least, and prices of the rows that prove it."""


class Agreement:
    """Raises the bound over all covers by prices at borders.

    Attributes
    ----------
    best
        The bound at ``center``, the best prices so far.
    exact
        Whether all segments of the cheapest cover at these prices are solved there.
    cover
        The cheapest cover at these prices.
    solved
        How many programs were solved.
    """

    def __init__(self, arcs: SegmentArcs, *, fine: bool = False) -> None:
        self.arcs, self.listed, self.fine = arcs, arcs.listed, fine
        self._costs, (into, out) = arcs.byte_costs, arcs.crossing()
        self.prices = BorderPrices(self.listed)
        plain, always = zip(*(arcs.alone(pieces) for pieces in self.listed.pieces), strict=True)
        self.sparse = SparseArcs(np.isfinite(np.stack(plain, axis=1)))
        self._free = self.sparse.of(arcs.value)
        crossing = self._costs[0] * into + self._costs[1] * out
        self._crossing = crossing[self.sparse.end, self.sparse.begin]
        self._crossing += self.sparse.of(np.stack(always, axis=1))
        self._segments: dict[Segment, PricedSegment] = {}
        self._kept = 0
        self._last: dict[Segment, Floats] = {}
        self._most: dict[Segment, list[tuple[float, Ints, Floats]]] = {}
        self._now: Floats = np.empty(0)
        self._duals, self._proofs = _Duals(), list[_Proof]()
        self._paid: list[tuple[Floats, tuple[Floats, Floats]]] = []
        self.planes = Planes(self.listed, self.prices.count, max(self._costs) or 1.0)
        self.center: Floats = np.zeros(self.prices.count)
        self.best, self.exact = -np.inf, False
        self.cover: Cover = ()
        self.solved = 0

    def improve(
        self, stop: Callable[[], bool], tell: Callable[[float], None] = lambda _: None
    ) -> None:
        """Look for better prices until they are good enough; ``tell`` of each bound."""
        for best in self.steps():
            tell(best)
            if stop():
                break

    def steps(self) -> Iterator[float]:
        """Yield the bound at the best prices, after each search of better ones."""
        radius = _RADIUS
        self._look(self.center)
        yield self.best
        while True:
            expected, prices = self.planes.best(self.center, radius)
            self.arcs.work.seconds += self.planes.work_s
            gain, before = expected - self.best, self.best
            if gain < _CLOSE * abs(self.best):
                if self.exact and radius >= _WIDE:
                    return
                radius = min(4 * radius, _WIDE) if self.exact else radius
                self._look(self.center)
            else:
                self._try(prices, gain)
                if self.best > before:
                    radius = min(1.5 * radius, _WIDE)
                else:
                    radius *= 0.7
                    self._look(self.center)
            yield self.best

    def _look(self, prices: Floats) -> None:
        """Solve the programs of the cheapest path at some prices; take these if they are best."""
        value, cover = self._path(prices)
        new = self._open(cover, prices)
        for segment in new:
            self._solve(segment, prices)
        if new:
            value, cover = self._path(prices)
        if value >= self.best:
            self.best, self.center, self.cover = value, prices, cover
            self.exact = not self._open(cover, prices)

    def _try(self, prices: Floats, gain: float) -> None:
        """Search the cheapest path at new prices, as long as it may be a better bound."""
        for _ in range(_ROUNDS):
            _, cover = self._path(prices)
            new = self._open(cover, prices)
            if not new:
                break
            for segment in new:
                self._solve(segment, prices)
            if self._table(prices)[self._at(cover)].sum() < self.best + 0.1 * gain:
                return
        self._look(prices)

    def _open(self, cover: Cover, prices: Floats) -> list[Segment]:
        """Return the segments whose program is not solved at these prices."""
        return [each for each in cover if not self._known(each, prices)]

    def _known(self, segment: Segment, prices: Floats) -> bool:
        """Return whether what a segment costs at prices is known well enough."""
        last = self._last.get(segment)
        if last is None:
            return False
        if last is prices or np.array_equal(last, prices):
            return True
        most = min(
            plain + float((change * prices[number]).sum())
            for plain, number, change in self._most[segment]
        )
        return most - float(self._now[self._at([segment])[0]]) < _SAME * abs(self.best)

    def _path(self, prices: Floats) -> tuple[float, Cover]:
        return self.sparse.shortest(self._table(prices), self.listed.segment)

    def _table(self, prices: Floats) -> Floats:
        """Return (a,) what segments cost at least at prices, as far as is known."""
        value = self._beside(self._free, prices)
        self._duals.raise_to(value, prices)
        self.arcs.work.seconds += _TABLE_S * value.size
        self._now = value
        return value

    def _beside(self, free: Floats, prices: Floats) -> Floats:
        """Return (a,) what segments cost at least at prices, from what they do without any."""
        if not prices.size:
            return free.copy()
        alone, crossing = self._earned(prices)
        value: Floats = np.maximum(free + alone, crossing)
        return value

    def _earned(self, prices: Floats) -> tuple[Floats, Floats]:
        """Return (a,) what segments pay at their ends, and by bytes that cross these cost."""
        for known, found in self._paid:
            if known is prices:
                return found
        both = [self.prices.least(prices, costs) for costs in ((0.0, 0.0), self._costs)]
        alone, crossing = (each[self.sparse.begin, self.sparse.end] for each in both)
        found = alone, crossing + self._crossing
        self._paid = [*self._paid[-1:], (prices, found)]
        return found

    def _at(self, segments: Iterable[Segment]) -> Ints:
        """Return which ones segments are."""
        places = zip(*(self.arcs.place(each) for each in segments), strict=True)
        at = tuple(np.array(each) for each in places)
        return self.sparse.index(np.ravel_multi_index(at, self.arcs.value.shape))

    def _solve(self, segment: Segment, prices: Floats) -> None:
        """Solve a program; note its duals, and what it costs at other prices at most."""
        known = self._segments.pop(segment, None)
        if known is None:
            known = PricedSegment(self.listed, segment, self.prices, fine=self.fine)
        else:
            self._kept -= known.size
        self._segments[segment] = known
        self._kept += known.size
        while self._kept > _SOLVERS:
            old = next(iter(self._segments))
            self._kept -= self._segments.pop(old).size
        known.solve(prices)
        self.arcs.work.seconds += known.work_s
        self.solved += 1
        self._last[segment] = prices
        change = known.sign * known.amount
        if np.isfinite(known.value):
            self._duals.add(int(self._at([segment])[0]), known, prices)
            self._proofs.append((known.value, known.program.named, known.row_dual))
            plain = known.value - float((change * prices[known.number]).sum())
            self.planes.add(segment, plain, known.number, change)
            self._most.setdefault(segment, []).append((plain, known.number, change))
        else:
            self._most.setdefault(segment, []).append((np.inf, known.number, change))
            self._free[self._at([segment])] = np.inf

    def certificate(self, least: float = np.inf) -> CoverCertificate:
        """Return the prices, as integers, of borders and of what the bound needs beside.

        As :meth:`~.paths.SegmentArcs.certificate`: what is still met where the search begins anew,
        until it is at ``least``. No program is solved.
        """
        arcs, sparse = self.arcs, self.sparse
        earned, _ = self._earned(self.center)
        free, known = arcs.cheap_values(), self._duals.at(self.center)
        arcs.work.seconds += VALUE_S * free.size
        plain, agreed, runs = (dict[Segment, SegmentValue]() for _ in range(3))
        best: dict[int, float] = {}
        value = self._beside(sparse.of(free), self.center)
        while True:
            length, cover = sparse.shortest(value, self.listed.segment)
            arcs.work.seconds += _TABLE_S * value.size
            where = dict(zip(cover, self._at(cover).tolist(), strict=True))
            open_arcs = [e for e in cover if e not in plain and e not in agreed]
            # Runs may prove more of a segment than its own program does.
            inside = arcs.runs.inside(cover, whole=True)
            more = {e: arcs.runs.solved[e] for e in inside if e in arcs.runs.solved}
            more = {each: found for each, found in more.items() if each not in runs}
            known_arcs = [e for e in open_arcs if e in arcs.solved or where[e] in known]
            if length >= least or not (more or known_arcs):
                break
            for each in () if more else known_arcs:
                place = where[each]
                which, proved = known.get(place, (0, -np.inf))
                found = arcs.solved.get(each)
                alone = -np.inf if found is None else found.value + earned[place]
                if found is not None and alone >= proved:
                    plain[each] = found
                else:
                    worth, named, dual = self._proofs[which]
                    agreed[each] = SegmentValue(
                        value=worth, moved_bytes=0.0, prices=named.prices(dual)
                    )
                best[place] = max(float(alone), proved)
            if more:
                runs |= more
                arcs.raise_by(free, {each.pieces for each in more}, runs)
                value = self._beside(sparse.of(free), self.center)
            places = list(best)
            value[places] = np.maximum(value[places], list(best.values()))
        arcs.work.seconds += _NAMED_S * len(best)
        carried = self.prices.named(self.center)
        return arcs.stated(plain, runs, carried, agreed, fine=self.fine)


class _Duals:
    """Bounds of segments at any prices: ``value + sum(most * min(0, rest + sign * price))``."""

    def __init__(self) -> None:
        self.place: Ints = np.empty(0, np.int64)
        self.value: Floats = np.empty(0)
        self.owner: Ints = np.empty(0, np.int64)
        self.number: Ints = np.empty(0, np.int64)
        self.sign, self.rest, self.most = np.empty((3, 0))
        self._new: list[tuple[int, float, Ints, Floats, Floats, Floats]] = []

    def add(self, place: int, found: PricedSegment, prices: Floats) -> None:
        """Add the duals that a program was solved with."""
        value = found.value - float((np.minimum(0.0, found.rest) * found.most).sum())
        rest = found.rest - found.sign * prices[found.number]
        self._new.append((place, value, found.number, found.sign, rest, found.most))

    def _gather(self) -> None:
        if not self._new:
            return
        place, value, *parts = zip(*self._new, strict=True)
        count = self.place.size
        owner = np.repeat(np.arange(len(place)) + count, [each.size for each in parts[0]])
        self.place = np.concatenate((self.place, place))
        self.value = np.concatenate((self.value, value))
        self.owner = np.concatenate((self.owner, owner))
        self.number, self.sign, self.rest, self.most = (
            np.concatenate((old, *new))
            for old, new in zip((self.number, self.sign, self.rest, self.most), parts, strict=True)
        )
        self._new.clear()

    def _values(self, prices: Floats) -> Floats:
        self._gather()
        paid = np.minimum(0.0, self.rest + self.sign * prices[self.number]) * self.most
        values: Floats = self.value + np.bincount(self.owner, paid, self.place.size)
        return values

    def raise_to(self, table: Floats, prices: Floats) -> None:
        """Raise values of segments to what duals prove."""
        values = self._values(prices)
        np.maximum.at(table, self.place, values)

    def at(self, prices: Floats) -> dict[int, tuple[int, float]]:
        """Return, by place, the best duals of each segment, and what they prove."""
        values = self._values(prices)
        order = np.argsort(values, kind="stable").tolist()
        return {int(self.place[which]): (which, float(values[which])) for which in order}
