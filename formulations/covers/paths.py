"""The cheapest cover at the values of segments: a shortest path that solves few programs.

Arcs are segments; each has a value that is cheap to tell, and at most its program's. A path is
searched, the programs of its arcs are solved, and so on until all of them are: no cover costs less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import frexp

import numpy as np

from formulations.covers.listed import Listed
from formulations.covers.segment import SegmentProgram, SegmentValue
from formulations.solver.program import Floats
from spmopt.core.errors import InfeasibleError
from spmopt.core.listing import Cover, CoverCertificate, Segment

_DIGITS = 60
"""Binary digits of the dearest price."""


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

    ``held``: as in :class:`~.segment.SegmentProgram`. ``spare``: what a byte moved costs beside the
    objective, as a share of its time on the channel. ``borders``: positions at which segments may
    begin, by default all; with fewer the cheapest cover is one of those.
    """

    def __init__(
        self,
        listed: Listed,
        held: float,
        spare: float = 0.0,
        borders: Iterable[int] | None = None,
    ) -> None:
        self.listed, self.held, self.spare = listed, held, spare
        self.value = {pieces: self._cheap(pieces) for pieces in listed.pieces}
        self.solved: dict[Segment, SegmentValue] = {}
        if borders is not None:
            closed = np.ones(listed.count + 1, bool)
            closed[[0, *borders, listed.count]] = False
            for value in self.value.values():
                value[closed, :] = value[:, closed] = np.inf

    def cheapest(self, stop: Callable[[], bool], threads: int = 1) -> CheapestCover:
        """Find the cheapest cover.

        Raises
        ------
        InfeasibleError
            No cover fits.
        """
        with ThreadPoolExecutor(threads, thread_name_prefix="segments") as pool:
            while True:
                value, cover = self._path()
                if value == np.inf:
                    raise InfeasibleError("what must be on chip does not fit, whatever the cover")
                open_arcs = [each for each in cover if each not in self.solved]
                if not open_arcs or stop():
                    return CheapestCover(cover=cover, value=value, exact=not open_arcs)
                for segment, found in zip(open_arcs, pool.map(self._solve, open_arcs), strict=True):
                    self.solved[segment] = found
                    known = self.value[segment.pieces]
                    at = segment.begin, segment.end
                    known[at] = max(float(known[at]), found.value + self.spare * self._byte(found))

    def certificate(self) -> CoverCertificate:
        """Return the prices of the segments that were solved, as integers."""
        bits = _DIGITS - frexp(self.listed.dearest_row)[1]
        return CoverCertificate(
            objective=self.listed.objective,
            bits=bits,
            prices={
                segment: {row: round(price * 2.0**bits) for row, price in found.prices.items()}
                for segment, found in self.solved.items()
                if found.prices
            },
        )

    def _byte(self, found: SegmentValue) -> float:
        listed = self.listed
        return found.moved_bytes * float(listed.objective.cycle) / listed.bytes_per_cycle

    def _solve(self, segment: Segment) -> SegmentValue:
        return SegmentProgram(self.listed, segment, self.held).solve()

    def _path(self) -> tuple[float, Cover]:
        """Return the shortest path at the values that are known."""
        count = self.listed.count
        pieces = list(self.value)
        reached = np.full(count + 1, np.inf)
        reached[0] = 0.0
        came = np.zeros((count + 1, 2), np.int64)
        for end in range(1, count + 1):
            arcs = np.stack([self.value[each][:end, end] for each in pieces]) + reached[:end]
            best = int(arcs.argmin())
            way, begin = divmod(best, end)
            reached[end], came[end] = arcs[way, begin], (begin, way)
        cover, end = list[Segment](), count
        while end:
            begin, way = came[end].tolist()
            cover.append(Segment(begin=begin, end=end, pieces=pieces[way]))
            end = begin
        return float(reached[count]), tuple(reversed(cover))

    def _cheap(self, pieces: int) -> Floats:
        """Return (n + 1, n + 1) what segments from one operation to another cost at least."""
        listed, count = self.listed, self.listed.count
        objective, rate = listed.objective, listed.bytes_per_cycle
        least_byte = float(min(objective.dram_in_byte, objective.dram_out_byte))
        cycles, forced = listed.cycles(pieces), self._forced(pieces)
        can = np.isfinite(cycles)
        # At best bytes are shared by both channels.
        rate *= 2 if listed.listing.machine.duplex else 1
        one = float(objective.cycle) * np.maximum(np.where(can, cycles, 0.0), forced / rate)
        upto = np.concatenate(([0.0], np.cumsum(one + least_byte * forced)))
        always = np.where(can, listed.unavoidable(pieces), 0.0)
        always = np.concatenate(([0.0], np.cumsum(always)))
        value: Floats = upto[None, :] - upto[:, None]
        into, out = self._crossing
        crossing = (
            float(objective.cycle) * (into + out) / rate
            + float(objective.dram_in_byte) * into
            + float(objective.dram_out_byte) * out
        )
        value = np.maximum(value, crossing) + always[None, :] - always[:, None]
        for begin in range(count):
            value[begin, : begin + 1] = np.inf
            value[begin, self._reach(begin, pieces) + 1 :] = np.inf
        value[count] = np.inf
        return value

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

    @property
    def _crossing(self) -> tuple[Floats, Floats]:
        """Return (n + 1, n + 1) bytes that segments must load, and store, beside what is held."""
        listed = self.listed
        count = listed.count
        into, out = np.zeros((2, count + 2, count + 2))
        for tensor, accesses in enumerate(listed.accesses):
            size, before, wrote = float(listed.sizes[tensor]), -1, -1
            for number, (at, reads) in enumerate(accesses):
                if reads:
                    _rectangle(into, (before + 1, at + 1), (at + 1, count + 1), size)
                if tensor in listed.listing.operations[at].writes:
                    wrote = at
                last = number == len(accesses) - 1
                after = count if last else accesses[number + 1][0]
                if wrote >= 0 and listed.live_after(tensor, at):
                    _rectangle(out, (0, wrote + 1), (at + 1, after + 1), size)
                before = at
        for each in (into, out):
            np.cumsum(each, axis=0, out=each)
            np.cumsum(each, axis=1, out=each)
        shape = slice(count + 1), slice(count + 1)
        held = self.held
        return np.maximum(into[shape] - held, 0.0), np.maximum(out[shape] - held, 0.0)

    def _reach(self, begin: int, pieces: int) -> int:
        """Return the farthest end of a segment of so many pieces."""
        listing = self.listed.listing
        begun: set[int] = set()
        read: set[int] = set()
        for at in range(begin, self.listed.count):
            operation = listing.operations[at]
            if not listing.fits(at, pieces):
                return at
            if pieces == 1:
                continue
            again = any(t in begun and t not in operation.reads for t in operation.sums)
            read.update(t for t in operation.reads if t not in operation.sums)
            begun |= operation.sums
            if again or read & begun:
                return at
        return self.listed.count


def _rectangle(
    table: Floats, rows: tuple[int, int], columns: tuple[int, int], value: float
) -> None:
    """Add to rows and columns [first, last) of a table that is summed up later."""
    for row, sign in zip(rows, (1, -1), strict=True):
        table[row, columns[0]] += sign * value
        table[row, columns[1]] -= sign * value
