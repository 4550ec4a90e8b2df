"""The least that a segment costs whatever happens outside, from prices, in exact integers.

Each row holds for the sums over pieces of a class (all, or the first, those between and the last)
of what any legal schedule of any cover with the segment does in its steps (formulations/README.md,
"Covers"). Multiples of rows, at a price each, are added to the cost; what is left of it is least
where each quantity is at the one or the other end of what it can be. Any prices prove a bound: no
solver is asked. A row has a name that does not depend on how it was found.

This is of a segment's own steps; ``segment_ends`` has what it finds on chip, and leaves there.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import floor

from spmopt.core.objective import Objective
from spmopt.core.pieces.certificate import Row
from spmopt.core.pieces.segments import Segment
from spmopt.verifier.handing import Handing
from spmopt.verifier.pricing import Pricing, Quantity, Terms, minus, times
from spmopt.verifier.segment_ends import Around, Ends
from spmopt.verifier.segment_uses import Liveness, SegmentUse, uses_of


def segment_bound(
    liveness: Liveness,
    segment: Segment,
    objective: Objective,
    prices: Mapping[Row, int],
    bits: int,
    *,
    handing: Handing | None = None,
    fine: bool = False,
    inner: bool = False,
) -> int:
    """Return what a segment costs at least, in units of ``2**-bits`` objective units.

    Parameters
    ----------
    prices
        Of rows by name, in the same units, positive for what is at least something; 0 if missing.
    handing
        Prices of what is handed over at borders, by default none.
    fine
        Rows are of the first piece, those between and the last, and not of all together.
    inner
        It is a run of operations in any segment of as many pieces: around each of its pieces steps
        of others come, and all that fits may be on chip.

    Raises
    ------
    InputError
        The prices leave a cost below any bound, or are of rows that there are not.
    """
    handing = Handing(liveness.listing, {}) if handing is None else handing
    found = _Segment(liveness, segment, objective, prices, bits)
    return found.value(None if inner else handing, fine=fine)


class _Segment(Pricing):
    """The cost of a segment with rows at their prices."""

    def __init__(
        self,
        liveness: Liveness,
        segment: Segment,
        objective: Objective,
        prices: Mapping[Row, int],
        bits: int,
    ) -> None:
        super().__init__(f"segment {segment.begin}", prices)
        self.listing, self.segment = liveness.listing, segment
        self.objective, self.bits = objective, bits
        self.steps, self.pieces = segment.end - segment.begin, segment.pieces
        self.tensors = uses_of(liveness, segment)

    def value(self, handing: Handing | None, *, fine: bool) -> int:
        """Return the least value; without ``handing`` of a run inside of a segment."""
        self.counts = [self.pieces]
        if fine and self.pieces > 1:
            self.counts = [1] + [self.pieces - 2] * (self.pieces > 2) + [1]
        places = [
            (number, step) for number in range(len(self.counts)) for step in range(self.steps)
        ]
        self.into, self.out, self.fixed_into, self.fixed_out, self.room = (
            {place: Terms() for place in places} for _ in range(5)
        )
        self.streamed = {place: [0, 0] for place in places}
        self.ends: Ends | Around = Around(self.listing, self.pieces)
        if handing is not None:
            self.ends = Ends(self.listing, self.segment, handing, self.tensors, self.counts)
        for tensor, whole, uses in self.tensors:
            if whole and handing is None:
                self._follow_inside(tensor, uses)
            elif whole:
                self._follow_whole(tensor, uses)
            else:
                for number in range(len(self.counts)):
                    self._follow_cut(tensor, uses, number)
        if isinstance(self.ends, Ends):
            self.ends.add(self, self.into, self.out, self.room)
        else:
            self.ends.add(self)
        for number, step in self.into:
            self._step(number, step)
        return self.least()

    def _weight(self, weight: Fraction) -> int:
        """Return a weight of the objective in the units of prices, rounded down."""
        scaled: Fraction = weight * 2**self.bits
        return floor(scaled)

    def _load(self, tensor: int, place: tuple[int, int], most: int, *, fixed: bool) -> Quantity:
        load = self.new("load", tensor, *place, most=most)
        self.into[place].append((load, 1))
        if fixed:
            self.fixed_into[place].append((load, 1))
        return load

    def _store(self, tensor: int, place: tuple[int, int], most: int, *, fixed: bool) -> Quantity:
        store = self.new("store", tensor, *place, most=most)
        self.out[place].append((store, 1))
        if fixed:
            self.fixed_out[place].append((store, 1))
        return store

    def _stream(
        self, place: tuple[int, int], resident: Quantity, size: int, into: int, out: int
    ) -> None:
        """Move what is not resident: ``size`` less ``resident``, so often in and out."""
        self.streamed[place][0] += into * size
        self.streamed[place][1] += out * size
        self.into[place].append((resident, -into))
        self.out[place].append((resident, -out))

    def _follow_cut(self, tensor: int, uses: list[SegmentUse], number: int) -> None:
        """Follow a tensor along the steps of a piece; quantities are of all pieces of a class."""
        size = self.listing.tensors[tensor].size_bytes * self.counts[number] // self.pieces
        by_step = {use.step: use for use in uses}
        there = uses[0].reads
        before: Quantity | None = None
        newer: Quantity | None = None
        if there:
            before = self.new("found", tensor, number, most=size)
            self.ends.found(tensor, number, before)
        followed = uses[-1].live and self.ends.follows(tensor)
        last = self.steps - 1 if followed else uses[-1].step
        written = uses[-1].live and any(use.writes for use in uses)
        for step in range(self.steps if written else last + 1):
            use, place = by_step.get(step), (number, step)
            if use is None and not there:
                continue
            fixed = use is not None and use.fixed
            now = self.new("resident", tensor, *place, most=size, least=size if fixed else 0)
            self.room[place].append((now, 1))
            if use is None or use.reads:
                growth: Terms = [(now, 1)] + ([(before, -1)] if before is not None else [])
                if step <= last:
                    growth.append((self._load(tensor, place, size, fixed=fixed), -1))
                self.row(("grows", tensor, *place), growth, None, 0)
                if newer is not None:
                    self.row(("holds", tensor, *place), [(now, 1), (newer, -1)], 0, None)
            before = now
            if use is not None:
                into = use.passes if use.reads else (use.passes - 1) * use.live
                self._stream(place, now, size, into, use.passes * (use.writes and use.live))
                there = use.live
            if not there:
                before = newer = None
            elif (use is not None and use.writes) or newer is not None:
                wrote = use is not None and use.writes
                base = now if wrote or newer is None else newer
                store = self._store(tensor, place, size, fixed=fixed and wrote)
                newer = self.new("newer", tensor, *place, most=size)
                terms = [(newer, 1), (store, 1), (base, -1)]
                self.row(("stores", tensor, *place), terms, 0, 0)
        if uses[-1].live and before is not None:
            self.ends.leaves(tensor, number, before if followed or written else None, newer)

    def _follow_whole(self, tensor: int, uses: list[SegmentUse]) -> None:
        """Follow a tensor around the pieces; quantities are sums over the pieces of a class."""
        assert isinstance(self.ends, Ends)
        size = self.listing.tensors[tensor].size_bytes
        summed, ends = uses[0].writes, uses[-1].live
        rest: Quantity | None = None
        balance: Terms = []
        if uses[0].reads:
            rest = self.new("found", tensor, most=size)
            balance.append((rest, -1))
            self.ends.found_whole(tensor, rest)
        for number, count in enumerate(self.counts):
            resident, loads = list[Quantity](), Terms()
            for step in range(self.steps):
                place, most = (number, step), count * size
                fixed = any(use.fixed for use in uses if use.step == step)
                least = most if fixed else 0
                resident.append(self.new("resident", tensor, *place, most=most, least=least))
                self.room[place].append((resident[step], 1))
                loads.append((self._load(tensor, place, most, fixed=fixed), 1))
                if summed:
                    balance.append((self._store(tensor, place, most, fixed=fixed), 1))
            balance += minus(loads) + [(resident[use.step], -1) for use in uses]
            self._stream_whole(tensor, uses, number, resident)
            rest = self._around(tensor, uses, number, (resident, loads), rest)
        if ends:
            assert rest is not None
            self.ends.leaves_whole(tensor, rest)
        if summed:
            if ends:
                left = self.new("left", tensor, most=size)
                self.ends.leaves_sum(tensor, left)
                balance.append((left, 1))
            least = size * (ends - uses[0].reads) - len(uses) * self.pieces * size
            self.row(("sums", tensor), balance, least, None)

    def _follow_inside(self, tensor: int, uses: list[SegmentUse]) -> None:
        """Follow a tensor that is whole to each piece along the steps of a run in each of them."""
        size = self.pieces * self.listing.tensors[tensor].size_bytes
        before = self.new("found", tensor, most=size)
        self.ends.found_whole(tensor, before)
        by_step, resident = {use.step: use for use in uses}, list[Quantity]()
        for step in range(self.steps):
            place, use = (0, step), by_step.get(step)
            fixed = use is not None and use.fixed
            now = self.new("resident", tensor, *place, most=size, least=size if fixed else 0)
            self.room[place].append((now, 1))
            load = self._load(tensor, place, size, fixed=fixed)
            anew = use is not None and not use.reads
            growth = [(now, 1), (before, -1), (load, -1)]
            self.row(("grows", tensor, *place), growth, None, anew * size // self.pieces)
            resident.append(now)
            before = now
        self._stream_whole(tensor, uses, 0, resident)

    def _around(
        self,
        tensor: int,
        uses: list[SegmentUse],
        number: int,
        moved: tuple[list[Quantity], Terms],
        rest: Quantity | None,
    ) -> Quantity | None:
        """Rows of what pieces of a class find of the one before; return what the last leaves."""
        resident, loads = moved
        size, count = self.listing.tensors[tensor].size_bytes, self.counts[number]
        anew = {use.step for use in uses if not use.reads} if number == 0 else set()
        found = [] if rest is None else [(rest, 1)]
        left: Quantity | None = resident[-1]
        first = [(resident[0], 1)]
        if count > 1:
            left = None
            first = [(resident[0], 1), (resident[-1], -1)] if self.steps > 1 else []
            if number < len(self.counts) - 1 or uses[-1].live:
                left = self.new("rest", tensor, number, most=size)
                self.row(("rests", tensor, number), [(left, 1), (resident[-1], -1)], None, 0)
                first.append((left, 1))
            for use in uses if number or uses[0].reads else []:
                come = [(resident[use.step], 1), *times(-count, [*loads, *found])]
                self.row(("comes", tensor, number, use.step), come, None, 0)
        for step in range(self.steps):
            growth = [(resident[step], 1), (resident[step - 1], -1)]
            if step == 0:
                growth = [*first, *minus(found)]
            growth += minus([loads[step]])
            self.row(("grows", tensor, number, step), growth, None, size if step in anew else 0)
        return left

    def _stream_whole(
        self, tensor: int, uses: list[SegmentUse], number: int, resident: list[Quantity]
    ) -> None:
        """Move what is not resident; of sums the first and the last piece move less."""
        size, count = self.listing.tensors[tensor].size_bytes, self.counts[number]
        summed, begun, done = uses[0].writes, not uses[0].reads, not uses[-1].live
        begins, ends = summed and begun and number == 0, False
        ends = summed and done and number == len(self.counts) - 1
        for use in uses:
            into, out = use.passes, use.passes * summed
            if count == 1:
                into -= begins and use is uses[0]
                out *= not (ends and use is uses[-1])
            self._stream((number, use.step), resident[use.step], count * size, into, out)
        if count > 1 and begins:
            less = self.new("less", tensor, most=size)
            self.into[number, uses[0].step].append((less, -1))
            terms = [(less, 1), (resident[uses[0].step], 1)]
            self.row(("less", tensor), terms, None, count * size)
        if count > 1 and ends:
            passes, now = uses[-1].passes, resident[uses[-1].step]
            spared = self.new("spared", tensor, most=passes * size)
            self.out[number, uses[-1].step].append((spared, -1))
            terms = [(spared, 1), (now, passes)]
            self.row(("spared", tensor), terms, None, passes * count * size)

    def _step(self, number: int, step: int) -> None:
        """Room and time of a step, and what its transfers cost."""
        machine, objective, place = self.listing.machine, self.objective, (number, step)
        modes = self.listing.operations[self.segment.begin + step].modes[self.pieces]
        first = int(number == 0)
        both = [(modes.first, first), (modes.later, self.counts[number] - first)]
        page = machine.page_bytes
        scratch = sum(count * machine.pages(m.scratch_bytes) * page for m, count in both)
        free = self.counts[number] * machine.spm_pages * page - scratch
        self.row(("room", *place), self.room[place], None, free)
        for mode, count in both:
            always = (
                objective.spm_read_byte * mode.spm_read_bytes
                + objective.spm_write_byte * mode.spm_write_bytes
                + objective.mac * mode.macs
            )
            self.total += count * self._weight(always)
        for terms, weight, constant in (
            (self.into[place], objective.dram_in_byte, self.streamed[place][0]),
            (self.out[place], objective.dram_out_byte, self.streamed[place][1]),
        ):
            price = self._weight(weight)
            self.total += price * constant
            for quantity, factor in terms:
                self.cost[quantity] += price * factor
        cycles = sum(count * mode.compute_cycles for mode, count in both)
        time = self.new("time", *place, most=None, least=cycles)
        self.cost[time] += self._weight(objective.cycle)
        self._time(place, time, cycles)

    def _time(self, place: tuple[int, int], time: Quantity, cycles: int) -> None:
        """A step takes as long as its transfers, and its computing with what waits for it."""
        machine = self.listing.machine
        rate, clock = machine.dram_bytes_per_s, machine.clock_hz
        into, out = self.into[place], self.out[place]
        first, last = self.fixed_into[place], self.fixed_out[place]
        begun = [(time, rate)]
        if first or last:
            waits = [*begun, *times(-clock, first), *times(-clock, last)]
            self.row(("waits", *place), waits, rate * cycles, None)
        streamed = self.streamed[place]
        if machine.duplex:
            for name, terms, serial, constant in (
                ("reads", into, last, streamed[0]),
                ("writes", out, first, streamed[1]),
            ):
                moved = [*begun, *times(-clock, terms), *times(-clock, serial)]
                self.row((name, *place), moved, clock * constant, None)
        else:
            moved = [*begun, *times(-clock, into), *times(-clock, out)]
            self.row(("moves", *place), moved, clock * sum(streamed), None)
