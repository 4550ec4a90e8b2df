"""The cheapest cover at the values of segments: a shortest path that solves few programs.

Arcs are segments; each has a value that is cheap to tell, and at most its program's. A path is
searched, the programs of its arcs are solved, and so on until all of them are: no cover costs less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import frexp

import numpy as np

from formulations.covers.lengths import Beyond, blocks, shortest_path
from formulations.covers.listed import Listed
from formulations.covers.rows import in_integers
from formulations.covers.runs import Runs
from formulations.covers.segment import SegmentProgram, SegmentValue, renamed
from formulations.solver.program import Floats
from spmopt.core.errors import InfeasibleError
from spmopt.core.pieces.certificate import CoverCertificate, Row
from spmopt.core.pieces.segments import Cover, Segment
from spmopt.core.scheduler import Work
from spmopt.core.table import Bools, Ints

DIGITS = 60
"""Binary digits of the dearest price."""
VALUE_S, ARC_S, _RAISE_S = 8e-8, 4e-9, 2e-8
"""Seconds that a place of a table takes to make, to be looked at by a path, and to be raised."""


@dataclass(frozen=True, slots=True)
class CheapestCover:
    """A cover, the sum of its segments' values, and whether all of these are their programs'.

    If they are not, time was up, and ``value`` is still at most that of any cover.
    """

    cover: Cover
    value: float
    exact: bool


class SegmentArcs:
    """Values of all segments of a listing, in objective units; infinite of those that none are.

    ``held``: as in :class:`~.segment.SegmentProgram`.

    Attributes
    ----------
    lengths
        Which segments have places in tables; what long ones cost is in :meth:`beyond`.
    value : (n + 1, p, width)
        What a segment costs at least, by end, number of pieces (of ``listed.pieces``) and begin.
    known
        Whether its program is solved.
    moved
        Bytes that those move whose program is solved; of others, ``least_moved``.
    solved
        Programs that are solved.
    work
        What was counted, of all searches that share it.
    """

    def __init__(self, listed: Listed, held: float, work: Work | None = None) -> None:
        self.work = Work() if work is None else work
        self.listed, self.held, self.runs = listed, held, Runs(listed, self.work)
        self.lengths = self.runs.lengths
        self._alone: dict[int, Floats] = {}
        self._reaches: dict[int, list[int]] = {}
        # By the end first, so that a path reads what it compares in one go.
        self.value = self.cheap_values()
        self.known: Bools = np.zeros(self.value.shape, bool)
        least: Floats = np.sum([np.maximum(each - held, 0.0) for each in self.crossing()], axis=0)
        self.least_moved = least.astype(np.float32)[:, None]
        self.moved = np.repeat(self.least_moved, len(listed.pieces), axis=1)
        self.work.seconds += VALUE_S * self.value.size
        self.solved: dict[Segment, SegmentValue] = {}
        self._ahead: dict[object, float] = {}
        self._known: dict[object, tuple[SegmentValue, SegmentValue | None, list[int]]] = {}

    def cheapest(
        self,
        stop: Callable[[], bool],
        threads: int = 1,
        tell: Callable[[float], None] = lambda value: None,
    ) -> CheapestCover:
        """Find the cheapest cover; ``tell`` of values that it has at least.

        Raises
        ------
        InfeasibleError
            No cover fits.
        """
        for found in self.paths(threads):
            tell(found.value)
            if stop():
                break
        return found

    def paths(self, threads: int = 1) -> Iterator[CheapestCover]:
        """Yield cheapest covers, each after the programs of the one before, until one is exact.

        A cover comes again after each of its programs.

        Raises
        ------
        InfeasibleError
            No cover fits.
        """
        every: list[int] = list(range(self.listed.count + 1))
        while True:
            value, cover = shortest_path(self.value, every, self.listed.segment, self.beyond())
            if value == np.inf:
                raise InfeasibleError("what must be on chip does not fit, whatever the cover")
            placed = [each for each in cover if self.lengths.has(each)]
            open_arcs = [each for each in placed if each not in self.solved]
            least = max(value, self.listed.compulsory)
            all_solved = len(placed) == len(cover) and not open_arcs
            self.work.seconds += ARC_S * self.value.size
            found = CheapestCover(cover=cover, value=least, exact=all_solved)
            yield found
            long = [each for each in cover if not self.lengths.has(each)]
            inside = self.runs.inside([*open_arcs, *long])
            runs = [each for each in inside if each not in self.runs.solved]
            if not (runs or open_arcs):
                return
            for run in runs:
                self.runs.solve([run])
                yield found
            self.raise_by_runs({each.pieces for each in runs})
            for place in range(0, 0 if runs else len(open_arcs), threads):
                self.solve(open_arcs[place : place + threads], threads)
                yield found

    def beyond(self, runs: Mapping[Segment, SegmentValue] | None = None) -> Beyond | None:
        """Return what long segments cost at least by some runs, all by default; None if none is."""
        if self.lengths.all:
            return None
        listed, block, ends = self.listed, self.runs.block, np.arange(self.listed.count + 1)
        both = [
            blocks(self._alone[pieces], self.runs.blocks(pieces, runs), block)
            for pieces in listed.pieces
        ]
        first: list[Ints] = [
            np.searchsorted(np.maximum.accumulate(self._reaches[pieces]), ends)
            for pieces in listed.pieces
        ]
        return Beyond(
            longest=self.lengths.longest,
            upto=np.array([upto for upto, _ in both]),
            before=np.array([before for _, before in both]),
            first=np.array(first),
        )

    def raise_by_runs(self, several: Iterable[int]) -> None:
        """Raise what segments of some numbers of pieces cost at least to what runs prove."""
        self.raise_by(self.value, several, self.runs.solved)

    def raise_by(
        self, value: Floats, several: Iterable[int], runs: Mapping[Segment, SegmentValue]
    ) -> None:
        """Raise values of segments of some numbers of pieces to what some runs prove."""
        for pieces in several:
            table = value[:, self.listed.pieces.index(pieces)]
            self.work.seconds += _RAISE_S * table.size
            np.maximum(table, self.runs.tiled(pieces, self._alone[pieces], runs), out=table)

    def solve(
        self,
        segments: Iterable[Segment],
        threads: int = 1,
        empty: SegmentArcs | None = None,
        stop: Callable[[], bool] = bool,
    ) -> bool:
        """Solve the programs of segments, until ``stop``; return whether some were not yet.

        ``empty``: it takes what they cost with nothing on chip before and after. What is taken does
        not depend on the number of threads.
        """
        new = [
            each
            for each in dict.fromkeys(segments)
            if each not in self.solved or (empty is not None and each not in empty.solved)
        ]
        ahead, twice = dict[Segment, tuple[SegmentValue, SegmentValue | None]](), empty is not None
        if threads > 1 and len(new) > 1:
            first = list({self._like(each): each for each in reversed(new)}.values())
            with ThreadPoolExecutor(threads, thread_name_prefix="segments") as pool:
                solved = pool.map(lambda each: self._solve(each, twice=twice), first)
                ahead.update(zip(first, solved, strict=True))
            for each in first:
                self._ahead.setdefault(self._like(each), ahead[each][0].work_s)
        for segment in new:
            if stop():
                break
            both = ahead.get(segment) or self._solve(segment, twice=twice)
            # Counted when it is taken: what is solved ahead may not be, before ``stop``.
            found_s = self._ahead.pop(self._like(segment), None) if self._ahead else None
            self.work.seconds += both[0].work_s if found_s is None else found_s
            self._take(segment, both, empty)
        return bool(new)

    def _like(self, segment: Segment) -> object:
        """Return what segments of the same program share."""
        return segment if segment.bands > 1 else self.listed.alike(segment)[0]

    def _take(
        self,
        segment: Segment,
        found: tuple[SegmentValue, SegmentValue | None],
        empty: SegmentArcs | None,
    ) -> None:
        if segment not in self.solved:
            self.take(segment, found[0])
        if empty is not None and found[1] is not None:
            empty.take(segment, found[1])

    def learn(
        self, solved: Mapping[Segment, SegmentValue], runs: Mapping[Segment, SegmentValue]
    ) -> None:
        """Take values of segments and of runs that were solved elsewhere."""
        self.runs.solved |= runs
        for segment, value in solved.items():
            if segment not in self.solved:
                self.take(segment, value)

    def take(self, segment: Segment, found: SegmentValue) -> None:
        """Take what the program of a segment says."""
        self.solved[segment] = found
        if self.lengths.has(segment):
            at = self.place(segment)
            self.value[at] = max(float(self.value[at]), found.value)
            self.known[at], self.moved[at] = True, found.moved_bytes

    def certificate(self, least: float = np.inf) -> CoverCertificate:
        """Return the prices, as integers, of those solved segments that a bound needs.

        These are the ones that are still met where the search begins anew, knowing all values,
        until it is at ``least``: the last 0.003 % of the bound of ResNet-50 on 4 MB take 1,300
        segments and 10 s of exact arithmetic, all others 56.
        """
        value, every = self.cheap_values(), list(range(self.listed.count + 1))
        needed: dict[Segment, SegmentValue] = {}
        runs: dict[Segment, SegmentValue] = {}
        while True:
            length, cover = shortest_path(value, every, self.listed.segment, self.beyond(runs))
            open_arcs = [each for each in cover if each not in needed]
            inside = self.runs.inside(open_arcs, whole=True)
            more = [each for each in inside if each in self.runs.solved and each not in runs]
            new = [each for each in open_arcs if each in self.solved and self.lengths.has(each)]
            if length >= least or not (more or new):
                break
            runs |= {each: self.runs.solved[each] for each in more}
            self.raise_by(value, {each.pieces for each in more}, runs)
            for each in () if more else new:
                needed[each], at = self.solved[each], self.place(each)
                value[at] = max(float(value[at]), needed[each].value)

        return self.stated(needed, runs)

    def stated(
        self,
        priced: Mapping[Segment, SegmentValue],
        runs: Mapping[Segment, SegmentValue],
        carried: Mapping[tuple[int, int], tuple[float, float]] | None = None,
        agreed: Mapping[Segment, SegmentValue] | None = None,
        *,
        fine: bool = False,
    ) -> CoverCertificate:
        """Return the prices of segments and runs, and those at borders, as integers.

        ``fine``: as in :class:`~.segment.SegmentProgram`, of those ``agreed`` on.
        """
        bits = max(0, DIGITS - frexp(self.listed.dearest_row)[1])

        def whole(found: Mapping[Segment, SegmentValue]) -> dict[Segment, dict[Row, int]]:
            return {
                segment: in_integers(each.prices, bits, self.listed)
                for segment, each in found.items()
            }

        return CoverCertificate(
            family=self.listed.family,
            objective=self.listed.objective,
            bits=bits,
            prices=whole(priced),
            runs=whole(runs),
            carried={
                place: (round(held * 2.0**bits), round(newer * 2.0**bits))
                for place, (held, newer) in (carried or {}).items()
            },
            agreed=whole(agreed or {}),
            fine=fine,
        )

    def place(self, segment: Segment) -> tuple[int, int, int]:
        """Return the index in the tables of a segment that has a place."""
        way = self.listed.pieces.index(segment.count)
        return segment.end, way, self.lengths.column(segment)

    def cheap_values(self) -> Floats:
        """Return what segments cost at least by what is cheap to tell."""
        crossing, ways = self.crossing(), self.listed.pieces
        value: Floats = np.empty((self.listed.count + 1, len(ways), self.lengths.width))
        for way, pieces in enumerate(ways):
            value[:, way] = self._cheap(pieces, crossing)
        return value

    def _solve(self, segment: Segment, *, twice: bool) -> tuple[SegmentValue, SegmentValue | None]:
        """Solve the program of a segment, or take the values of one like it; there may be none."""
        cycles = self.listed.cycles(segment.count)[segment.begin : segment.end]
        if not np.isfinite(cycles).all():
            none = SegmentValue(value=np.inf, moved_bytes=0.0)
            return none, none
        if segment.bands > 1:
            # Its bands depend on where it begins, so that it is seldom like another.
            return self._solved(*self.listed.of_bands(segment), twice=twice)
        alike, tensors = self.listed.alike(segment)
        known = self._known.get(alike)
        if known is None or (twice and known[1] is None):
            found, empty = self._solved(self.listed, segment, twice=twice)
            self._known[alike] = found, empty, tensors
            return found, empty
        found, empty, others = known
        return renamed(found, dict(zip(others, tensors, strict=True))), empty

    def _solved(
        self, listed: Listed, segment: Segment, *, twice: bool
    ) -> tuple[SegmentValue, SegmentValue | None]:
        program = SegmentProgram(listed, segment, self.held)
        return program.solve_twice() if twice else (program.solve(), None)

    def _cheap(self, pieces: int, ends: tuple[Floats, Floats]) -> Floats:
        """Return (n + 1, width) what segments cost at least, by what crosses their ends."""
        into, out = ends
        computing, always = self.alone(pieces)
        cost = self.byte_costs
        crossing = cost[0] * np.maximum(into - self.held, 0.0)
        crossing += cost[1] * np.maximum(out - self.held, 0.0)
        value: Floats = np.maximum(computing, crossing + always)
        return value

    @property
    def byte_costs(self) -> tuple[float, float]:
        """What a byte in and out costs when nothing hides it, on all channels at best."""
        listed = self.listed
        rate = listed.bytes_per_cycle * (2 if listed.listing.machine.duplex else 1)
        time, objective = float(listed.objective.cycle) / rate, listed.objective
        return time + float(objective.dram_in_byte), time + float(objective.dram_out_byte)

    def alone(self, pieces: int) -> tuple[Floats, Floats]:
        """Return (n + 1, width) what operations cost at least, and what of it is no transfer."""
        listed = self.listed
        objective, rate = listed.objective, listed.bytes_per_cycle
        least_byte = float(min(objective.dram_in_byte, objective.dram_out_byte))
        cycles, forced = listed.cycles(pieces), self._forced(pieces)
        can = np.isfinite(cycles)
        # At best bytes are shared by both channels.
        rate *= 2 if listed.listing.machine.duplex else 1
        one = float(objective.cycle) * np.maximum(np.where(can, cycles, 0.0), forced / rate)
        upto = np.concatenate(([0.0], np.cumsum(one + least_byte * forced)))
        always = np.where(can, listed.unavoidable(pieces), 0.0)
        self._alone[pieces] = one + least_byte * forced + always
        always = self.lengths.between(np.concatenate(([0.0], np.cumsum(always))))
        value: Floats = self.lengths.between(upto) + always
        self._reaches[pieces] = reaches = self.listed.reaches(pieces)
        value[self.lengths.none(reaches)] = np.inf
        return value, always

    def _forced(self, pieces: int) -> Floats:
        """Return (n,) bytes of all pieces of each operation that cannot be on chip at once."""
        listed, scratch = self.listed, self.listed.scratch(pieces)
        found = np.zeros(listed.count)
        for at, operation in enumerate(listed.listing.operations):
            if pieces in operation.modes:
                size = sum(
                    listed.sizes[use.tensor] / (1 if use.shared else pieces)
                    for use in listed.modes(at, pieces)
                    if use.reads or use.live_after
                )
                found[at] = pieces * max(size + scratch[at] - listed.capacity, 0.0)
        return found

    def crossing(self) -> tuple[Floats, Floats]:
        """Return (n + 1, width) bytes that segments must load or hold, and store or leave."""
        listed, first = self.listed, self.lengths.first.tolist()
        count = listed.count
        found = np.zeros((2, count + 1, self.lengths.width))
        # By begin, of segments that end where the loop is; those before the first are out of date.
        into, out = now = np.zeros((2, count))
        before, wrote, left = dict[int, int](), dict[int, int](), dict[int, int]()
        for at, operation in enumerate(listed.listing.operations):
            start = first[at + 1]
            for tensor in operation.uses(0):
                size = float(listed.sizes[tensor])
                if tensor in operation.reads:
                    into[max(before.get(tensor, -1) + 1, start) : at + 1] += size
                out[start : max(left.pop(tensor, -1) + 1, start)] -= size
                if tensor in operation.writes:
                    wrote[tensor] = at
                if tensor in wrote and listed.live_after(tensor, at):
                    left[tensor] = wrote[tensor]
                    out[start : max(wrote[tensor] + 1, start)] += size
                before[tensor] = at
            found[:, at + 1, : at + 1 - start] = now[:, start : at + 1]
        return found[0], found[1]
