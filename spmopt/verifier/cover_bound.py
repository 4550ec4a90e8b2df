"""A bound over all covers of a listing: values of segments, and a shortest path, in exact integers.

A certificate has prices for some segments. All others count with what is plain to see: computing,
what cannot be on chip at once, and what crosses a segment's ends beyond what the scratchpad holds;
the long ones of a long list with what is plain of each operation, and runs of these.
Steps of a schedule belong to one segment each, so the cheapest path from the first operation to the
end, over all segments, is at most what any schedule of any cover costs. Where a certificate has
prices of what is carried across borders, segments pay and earn these, and in all nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import accumulate
from math import floor

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.pieces.band_bounds import Banded, followed
from spmopt.core.pieces.certificate import (
    CoverCertificate,
    Row,
    block_length,
    longest_valued,
)
from spmopt.core.pieces.listing import Listing
from spmopt.core.pieces.segments import Segment
from spmopt.core.table import Ints
from spmopt.verifier.border_credit import BorderCredit
from spmopt.verifier.carried import Carried
from spmopt.verifier.price_check import MOST_BITS
from spmopt.verifier.segment_bound import segment_bound
from spmopt.verifier.segment_uses import Liveness

_NONE = np.iinfo(np.int64).max // 4
_Change = tuple[tuple[int, int], int]
_DIGITS = 55
"""Binary digits of the longest path."""


def cover_bound(listing: Listing, certificate: CoverCertificate) -> Fraction:
    """Return a lower bound of the objective over all legal schedules of all covers of a family.

    Covers are depth first, in the order of the listing; time is the sum of the steps' (PROBLEM.md,
    section 3).

    Raises
    ------
    InputError
        Prices that prove nothing, or of rows or segments that there are not.
    """
    if certificate.objective.replayed:
        raise InputError("certificate: prices of steps prove nothing about the replay")
    if not 0 <= certificate.bits <= MOST_BITS:
        raise InputError(f"certificate: bits must be from 0 to {MOST_BITS}")
    path = CoverPath(listing, certificate)
    return max(path.value(), path.compulsory())


class CoverPath:
    """Costs of segments in units of ``2**-self.bits``, fewer than those of the certificate."""

    def __init__(self, listing: Listing, certificate: CoverCertificate) -> None:
        banded = Banded(listing, certificate.family.bands)
        self.listing, self.reach, self.certificate = banded.listing, banded.reach, certificate
        self.objective, self.liveness = certificate.objective, Liveness(self.listing)
        self.count, machine = len(listing.operations), listing.machine
        self.capacity = machine.spm_pages * machine.page_bytes
        self.cycles_of_byte = Fraction(machine.clock_hz, machine.dram_bytes_per_s)
        self.family = certificate.family
        self.pieces, self.barrier = self.family.counts(listing.batch), self._barriers()
        self.longest = longest_valued(self.count, len(self.pieces))
        self.first = [max(end - self.longest, 0) for end in range(self.count + 1)]
        plain = [[self._alone(at, pieces) for at in range(self.count)] for pieces in self.pieces]
        fixed = [[self._always(at, pieces) for at in range(self.count)] for pieces in self.pieces]
        known = [max((v for v in row if v is not None), default=Fraction(0)) for row in plain]
        most = (max(known) + max(map(max, fixed))) * self.count + self._byte(
            1, 1
        ) * 2 * self.count * sum(tensor.size_bytes for tensor in listing.tensors)
        self.bits = _DIGITS - max(floor(most).bit_length(), 0)
        self.alone = [[None if v is None else self._units(v) for v in row] for row in plain]
        self.always = [[self._units(v) for v in row] for row in fixed]
        self.carried = Carried(self.listing, certificate.carried)

    def value(self) -> Fraction:
        """Return the length of the shortest path."""
        reached = np.full(self.count + 1, _NONE)
        reached[0] = 0
        tables = self.tables()
        longer = [self._longer(way) for way in range(len(self.pieces))]
        # By begin: the way there, less what a long segment from there on does not have.
        ahead = np.full((len(longer), self.count + 1), _NONE)
        for end in range(1, self.count + 1):
            first = self.first[end]
            ways = [int((reached[first:end] + table[end, : end - first]).min()) for table in tables]
            for (upto, before, reach), begins in zip(longer, ahead, strict=True):
                if first:
                    begins[first - 1] = reached[first - 1] - before[first - 1]
                if reach[end] < first:
                    ways.append(int(begins[reach[end] : first].min() + upto[end]))
            reached[end] = min(_NONE, *ways)
        return Fraction(int(reached[-1])) / Fraction(2) ** self.bits

    def tables(self) -> list[Ints]:
        """Return what segments cost at least, for each number of pieces.

        Tables are (n + 1, longest), by end and begin: the last column is that before the end, or
        the first that of the first operation.
        """
        alone, crossing = self._at_ends()
        self.runs = self._proved_runs()
        tables = [self._table(way, (alone, crossing)) for way in range(len(self.pieces))]
        certificate = self.certificate
        for given, agreed in ((certificate.prices, False), (certificate.agreed, True)):
            for segment, prices in given.items():
                value = self._value(segment, prices, agreed=agreed)
                at = segment.end, segment.begin - self.first[segment.end]
                table = tables[self.pieces.index(segment.count)]
                # Where what is carried across has no prices in a program, it is earned beside.
                value += 0 if agreed else int(alone[at])
                table[at] = max(int(table[at]), min(value, _NONE))
        return tables

    def compulsory(self) -> Fraction:
        """Return what all computing costs at least, and bytes that come and go once.

        Nothing is on chip at first, so that what an operation reads that none has written comes;
        what is written and kept goes. Each row of an operand is in some band.
        """
        objective, machine, into = self.objective, self.listing.machine, 0
        there, written = set[int](), set[int]()
        cycles, always = 0, Fraction(0)
        for at, operation in enumerate(self.listing.operations):
            into += sum(self.listing.tensors[t].size_bytes for t in {*operation.reads} - there)
            there |= {*operation.reads, *operation.writes}
            written |= {*operation.writes}
            fitting = [k for k in self.pieces if self.listing.fits(at, k)]
            both = [(operation.modes[k], k) for k in fitting]
            cycles += min(
                (m.first.compute_cycles + (k - 1) * m.later.compute_cycles for m, k in both),
                default=0,
            )
            always += min((self._always(at, k) for k in fitting), default=Fraction(0))
        kept = (self.listing.tensors[t] for t in written)
        out = sum(tensor.size_bytes for tensor in kept if tensor.keep)
        moved = max(into, out) if machine.duplex else into + out
        time = objective.cycle * max(Fraction(cycles), moved * self.cycles_of_byte)
        return time + objective.dram_in_byte * into + objective.dram_out_byte * out + always

    def _units(self, value: Fraction) -> int:
        # floor(value * 2**bits), for the hundred thousand of a long list
        above, below = max(self.bits, 0), max(-self.bits, 0)
        return (value.numerator << above) // (value.denominator << below)

    def _byte(self, into: int, out: int) -> Fraction:
        """Return what bytes in and out cost when nothing hides them, on all channels at best."""
        objective = self.objective
        moved = objective.cycle * (into + out) * self.cycles_of_byte
        if self.listing.machine.duplex:
            moved /= 2
        return moved + objective.dram_in_byte * into + objective.dram_out_byte * out

    def _alone(self, at: int, pieces: int) -> Fraction | None:
        """Return what time and transfers of an operation cost at least; None if it is never."""
        operation, machine = self.listing.operations[at], self.listing.machine
        objective = self.objective
        modes = operation.modes.get(pieces)
        if modes is None or not self.listing.fits(at, pieces):
            return None
        both = [(modes.first, 1), (modes.later, pieces - 1)]
        cycles = sum(count * mode.compute_cycles for mode, count in both)
        scratch = sum(
            count * machine.pages(mode.scratch_bytes) * machine.page_bytes for mode, count in both
        )
        used = sum(
            self.listing.tensors[t].size_bytes * (1 if t in operation.cut else pieces)
            for t in operation.uses(0)
            if t in operation.reads or self.liveness.after(at, t)
        )
        forced = max(used + scratch - pieces * self.capacity, 0)
        least = min(objective.dram_in_byte, objective.dram_out_byte) * forced
        channels = 2 if machine.duplex else 1
        time = objective.cycle * max(Fraction(cycles), forced * self.cycles_of_byte / channels)
        return time + least

    def _always(self, at: int, pieces: int) -> Fraction:
        """Return what an operation costs beside time and transfers: accesses of the SPM, MACs."""
        modes, objective = self.listing.operations[at].modes.get(pieces), self.objective
        return sum(
            (
                count * objective.of_modes(*mode.unchanging)
                for mode, count in ([(modes.first, 1), (modes.later, pieces - 1)] if modes else [])
            ),
            Fraction(0),
        )

    def _each(self, way: int) -> list[int]:
        """Return what operations cost at least; 0 of those that are never."""
        both = zip(self.alone[way], self.always[way], strict=True)
        return [(value or 0) + more for value, more in both]

    def _table(self, way: int, ends: tuple[Ints, Ints]) -> Ints:
        """Return costs of segments of some pieces, as :meth:`tables`."""
        pieces = self.pieces[way]
        table = ends[1] + self._between(np.concatenate(([0], np.cumsum(self.always[way]))))
        tiled = self._tiled(self._each(way), self.runs.get(pieces, {}))
        np.maximum(table, ends[0] + tiled, out=table)
        reach = np.array(self._ends(pieces))
        for end, first in enumerate(self.first):
            table[end, end - first :] = _NONE
            table[end, : end - first][reach[first:end] < end] = _NONE
        return table

    def _between(self, upto: Ints) -> Ints:
        """Return what a figure is more at the ends of segments than at begins."""
        padded = np.concatenate((upto, np.zeros(self.longest, np.int64)))
        begins = np.lib.stride_tricks.sliding_window_view(padded, self.longest)[self.first]
        found: Ints = upto[:, None] - begins
        return found

    def _tiled(self, alone: list[int], runs: Mapping[tuple[int, int], int]) -> Ints:
        """Return the most that disjoint runs prove, with the operations in none."""
        table, begin = np.zeros((self.count + 1, self.longest), np.int64), self.first
        ending: dict[int, list[tuple[int, int]]] = {}
        for (first, last), value in runs.items():
            if last - first <= self.longest:
                ending.setdefault(last, []).append((first, value))
        for end in range(1, self.count + 1):
            row = table[end]
            lost, most = begin[end] - begin[end - 1], end - begin[end]
            row[: most - 1] = table[end - 1, lost : lost + most - 1]
            row[:most] += alone[end - 1]
            for first, value in ending.get(end, ()):
                ahead = first - begin[end]
                before = np.zeros(ahead + 1, np.int64)
                before[:-1] = table[first, begin[end] - begin[first] :][:ahead]
                row[: ahead + 1] = np.maximum(row[: ahead + 1], before + value)
        return table

    def _longer(self, way: int) -> tuple[list[int], list[int], list[int]]:
        """Return figures of ends, figures of begins, and of each end the first begin.

        A segment longer than ``longest`` costs at least the difference of the two: all of the
        blocks in it, each by its run or by its operations, and the operations before and after.
        """
        if self.longest == self.count:
            return [0] * (self.count + 1), [0] * (self.count + 1), [*range(self.count + 1)]
        pieces, length = self.pieces[way], block_length(self.longest)
        runs, upto = self.runs.get(pieces, {}), [0, *accumulate(self._each(way))]
        whole, most = [0], _NONE // self.count
        for begin in range(0, self.count - length + 1, length):
            run = min(runs.get((begin, begin + length), 0), most)
            whole.append(whole[-1] + max(run, upto[begin + length] - upto[begin]))
        ends, begins, firsts, first = list[int](), list[int](), list[int](), 0
        reach = [*self._ends(pieces), self.count]
        for at in range(self.count + 1):
            last, following = at // length, min(-(-at // length), len(whole) - 1)
            ends.append(whole[last] + upto[at] - upto[last * length])
            begins.append(whole[following] + upto[at] - upto[following * length])
            while reach[first] < at:
                first += 1
            firsts.append(first)
        return ends, begins, firsts

    def _ends(self, pieces: int) -> list[int]:
        """Return the farthest end of a segment by its begin; none beyond it has no obstacle."""
        operations, found = self.listing.operations, list[int]()
        fits = [self.listing.fits(at, pieces) for at in range(self.count)]
        end = products = 0
        for begin in range(self.count):
            last = self.reach[pieces][begin] if pieces in self.reach else self.count
            if end < begin:
                end, products = begin, 0
            while end < last and fits[end]:
                more = products + operations[end].is_product
                if pieces > 1 and (self.barrier[end] >= begin or not self.family.takes(more)):
                    break
                end, products = end + 1, more
            found.append(min(end, last))
            products -= operations[begin].is_product if end > begin else 0
        return found

    def _barriers(self) -> list[int]:
        """Return, of each operation, the last before whose pieces it cannot follow; -1 if none.

        What one of both sums up over the pieces the other reads, or writes anew; or what one cuts
        is whole to each piece of the other.
        """
        sums, read = dict[int, int](), dict[int, int]()
        cut, whole = dict[int, int](), dict[int, int]()
        found = list[int]()
        for at, operation in enumerate(self.listing.operations):
            barrier = -1
            for t in operation.uses(0):
                mine, other = (cut, whole) if t in operation.cut else (whole, cut)
                barrier, mine[t] = max(barrier, other.get(t, -1)), at
                if t in operation.sums:
                    barrier = max(barrier, read.get(t, -1))
                    anew = t not in operation.reads
                    barrier = max(barrier, sums.get(t, -1) if anew else -1)
                elif t in operation.reads:
                    barrier = max(barrier, sums.get(t, -1))
            found.append(barrier)
            for t in operation.uses(0):
                if t in operation.sums:
                    sums[t] = at
                elif t in operation.reads:
                    read[t] = at
        return found

    def _at_ends(self) -> tuple[Ints, Ints]:
        """Return what is carried across costs, and it with bytes that must move; tables."""
        into, out = self._crossing()
        prices = self._units(self._byte(1, 0)), self._units(self._byte(0, 1))
        over = [np.maximum(each - self.capacity, 0) for each in (into, out)]
        plain: Ints = prices[0] * over[0] + prices[1] * over[1]
        if not self.carried.prices:
            return np.broadcast_to(np.int64(0), into.shape), plain
        if self.longest < self.count:
            raise InputError("certificate: what a long list carries across has no prices")
        digits = self.certificate.bits, self.bits
        credit = BorderCredit(self.listing, self.carried, digits, self._units(self._byte(1, 1)) + 1)
        alone = credit.least(0, 0)[:-1].T
        crossing: Ints = prices[0] * into + prices[1] * out + credit.least(*prices)[:-1].T
        return alone, np.maximum(crossing, plain + alone)

    def _crossing(self) -> tuple[Ints, Ints]:
        """Return bytes that segments load or find, and store or leave, as :meth:`tables`."""
        into, out = np.zeros((2, self.count + 1, self.longest), np.int64)
        for at, (read, written) in enumerate(self._crossed()):
            # What a segment has that ends before this operation, it has here too, or no more.
            end, first, lost = at + 1, self.first[at + 1], self.first[at + 1] - self.first[at]
            for table, changed in ((into, read), (out, written)):
                row = table[end]
                row[: at - first] = table[at, lost : lost + at - first]
                for begins, size in changed:
                    row[max(begins[0] - first, 0) : max(begins[1] - first, 0)] += size
        return into, out

    def _crossed(self) -> Iterator[tuple[list[_Change], list[_Change]]]:
        """Yield, of each operation: begins of segments for which it changes bytes, and by how many.

        Of a segment that ends with it in place of before it.
        """
        last, left = dict[int, int](), dict[int, int]()
        wrote = dict[int, int]()
        for at, operation in enumerate(self.listing.operations):
            read, written = list[_Change](), list[_Change]()
            for t in operation.uses(0):
                size = self.listing.tensors[t].size_bytes
                if t in operation.reads:
                    read.append(((last.get(t, -1) + 1, at + 1), size))
                if t in left:
                    written.append(((0, left.pop(t) + 1), -size))
                if t in operation.writes:
                    wrote[t] = at
                if t in wrote and self.liveness.after(at, t):
                    left[t] = wrote[t]
                    written.append(((0, wrote[t] + 1), size))
                last[t] = at
            yield read, written

    def _proved_runs(self) -> dict[int, dict[tuple[int, int], int]]:
        """Return those of runs, by number of pieces, and begin and end."""
        found: dict[int, dict[tuple[int, int], int]] = {}
        for run, prices in self.certificate.runs.items():
            value = self._value(run, prices, inner=True)
            # Nothing costs less than 0: prices may prove that little, and far less.
            found.setdefault(run.count, {})[run.begin, run.end] = min(max(value, 0), _NONE)
        return found

    def _value(
        self,
        segment: Segment,
        prices: Mapping[Row, int],
        *,
        inner: bool = False,
        agreed: bool = False,
    ) -> int:
        """Return what prices of rows prove of a segment, or of a run, in units of the path."""
        where = f"segment {segment.begin} to {segment.end}"
        if segment.end > self.count or segment.count not in self.pieces:
            raise InputError(f"certificate: {where} in {segment.pieces} pieces is none")
        obstacle = self.listing.obstacle(segment)
        obstacle = obstacle or self.listing.outside(self.family, (segment,))
        if not inner and segment.end - segment.begin > self.longest:
            obstacle = f"of a list as long as this none of more than {self.longest} has prices"
        if inner and segment.bands > 1:
            obstacle = "runs of operations have prices in one band only"
        if obstacle:
            raise InputError(f"certificate: {where}: {obstacle}")
        liveness, own, bits = self.liveness, segment, self.certificate.bits
        beside = dict[int, int]()
        if segment.bands > 1:
            listing, own = followed(self.listing, segment)
            liveness = Liveness(listing)
            sizes = zip(self.listing.tensors, listing.tensors, strict=True)
            rests = (one.size_bytes - other.size_bytes for one, other in sizes)
            beside = {t: rest for t, rest in enumerate(rests) if rest}
        value = segment_bound(
            liveness,
            own,
            self.objective,
            prices,
            bits,
            carried=self.carried if agreed else None,
            # Bands are uneven: only of all together is it known what they do.
            fine=agreed and self.certificate.fine and segment.bands == 1,
            inner=inner,
            beside=beside,
        )
        return self._units(Fraction(value) / Fraction(2) ** bits)
