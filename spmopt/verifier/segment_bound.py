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

import numpy as np

from spmopt.core.objective import Objective
from spmopt.core.pieces.certificate import Row
from spmopt.core.pieces.segments import Segment
from spmopt.core.table import Bools, Ints
from spmopt.verifier.carried import Carried
from spmopt.verifier.pricing import Pricing, Sizes, Terms, minus, times
from spmopt.verifier.segment_ends import Around, Channels, Ends
from spmopt.verifier.segment_uses import Liveness, SegmentUse, Tracks, uses_of


def segment_bound(
    liveness: Liveness,
    segment: Segment,
    objective: Objective,
    prices: Mapping[Row, int],
    bits: int,
    *,
    carried: Carried | None = None,
    fine: bool = False,
    inner: bool = False,
    beside: Mapping[int, int] | None = None,
) -> int:
    """Return what a segment costs at least, in units of ``2**-bits`` objective units.

    Parameters
    ----------
    prices
        Of rows by name, in the same units, positive for what is at least something; 0 if missing.
    carried
        Prices of what is carried across borders, by default none.
    fine
        Rows are of the first piece, those between and the last, and not of all together.
    inner
        It is a run of operations in any segment of as many pieces: around each of its pieces steps
        of others come, and all that fits may be on chip.
    beside
        Bytes of tensors that are not followed, beside their size in the listing, of bands of rows.

    Raises
    ------
    InputError
        The prices leave a cost below any bound, or are of rows that there are not.
    """
    carried = Carried(liveness.listing, {}) if carried is None else carried
    found = _Segment(liveness, segment, objective, prices, bits)
    found.beside = beside or {}
    return found.value(None if inner else carried, fine=fine)


Uses = tuple[int, list[SegmentUse]]
"""A tensor, and how it is used."""
Stream = tuple[int, int, int, int, int]
"""Step, what is resident in it, of how much, and how often the rest moves in and out."""


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
        self.beside: Mapping[int, int] = {}
        self.listing, self.segment = liveness.listing, segment
        self.objective, self.bits = objective, bits
        self.steps, self.pieces = segment.end - segment.begin, segment.pieces
        self.tensors = uses_of(liveness, segment)

    def value(self, carried: Carried | None, *, fine: bool) -> int:
        """Return the least value; without ``carried`` of a run inside of a segment."""
        self.counts = [self.pieces]
        if fine and self.pieces > 1:
            self.counts = [1] + [self.pieces - 2] * (self.pieces > 2) + [1]
        self.channels = [self._channels(number) for number in range(len(self.counts))]
        self.ends: Ends | Around = Around(self.listing, self.pieces)
        if carried is not None:
            self.ends = Ends(self.listing, self.segment, carried, self.tensors, self.counts)
            self.ends.add_beside(self, self.beside)
        cut = [(tensor, uses) for tensor, whole, uses in self.tensors if not whole]
        whole = [(tensor, uses) for tensor, whole, uses in self.tensors if whole]
        if cut:
            self._follow_cut(cut)
        if whole:
            self._follow_inside(whole) if carried is None else self._follow_whole(whole)
        self.ends.add(self, self.channels)
        for number in range(len(self.counts)):
            self._streamed(number)
        return self.least()

    def _weight(self, weight: Fraction) -> int:
        """Return a weight of the objective in the units of prices, rounded down."""
        scaled: Fraction = weight * 2**self.bits
        return floor(scaled)

    def _channels(self, number: int) -> Channels:
        """Room and time of the steps of a class, and what it costs beside transfers.

        A step takes as long as its transfers, and its computing with what waits for it.
        """
        machine, objective = self.listing.machine, self.objective
        page, count = machine.page_bytes, self.counts[number]
        rate, clock = machine.dram_bytes_per_s, machine.clock_hz
        free, cycles = list[int](), list[int]()
        for operation in self.listing.operations[self.segment.begin : self.segment.end]:
            modes = operation.modes[self.pieces]
            first = int(number == 0)
            both = [(modes.first, first), (modes.later, count - first)]
            scratch = sum(n * machine.pages(mode.scratch_bytes) * page for mode, n in both)
            free.append(count * machine.spm_pages * page - scratch)
            cycles.append(sum(n * mode.compute_cycles for mode, n in both))
            for mode, n in both if objective.weighs_modes else ():
                self.total += n * self._weight(objective.of_modes(*mode.unchanging))
        every, zero = np.ones((1, self.steps), bool), np.zeros((1, self.steps), object)
        time = self.several(every, None, np.array([cycles], object))[0]
        cost = np.full((3, self.steps), -1)
        weights = objective.cycle, objective.dram_in_byte, objective.dram_out_byte
        for each, weight in zip(cost, weights, strict=True):
            each[:] = self.costing(self._weight(weight))
        self.add(cost[0], time)
        (waits,) = self.rows([("waits", number)], every, zero, None)
        self.raised(waits, [rate * each for each in cycles])
        names = ("reads", "writes") if machine.duplex else ("moves", "moves")
        (reads,) = (writes,) = self.rows([(names[0], number)], every, zero, None)
        if machine.duplex:
            (writes,) = self.rows([(names[1], number)], every, zero, None)
        for rows in (waits, reads, writes) if machine.duplex else (waits, reads):
            self.add(rows, time, rate)
        waits_for = [(waits, -clock)]
        return Channels(
            room=self.rows([("room", number)], every, None, np.array([free], object))[0],
            into=[(cost[1], 1), (reads, -clock)],
            out=[(cost[2], 1), (writes, -clock)],
            fixed_into=waits_for + ([(writes, -clock)] if machine.duplex else []),
            fixed_out=waits_for + ([(reads, -clock)] if machine.duplex else []),
            streamed=([0] * self.steps, [0] * self.steps),
        )

    def _streamed(self, number: int) -> None:
        """Count what is streamed if nothing is resident."""
        channels = self.channels[number]
        both = zip((channels.into, channels.out), channels.streamed, strict=True)
        for rows, streamed in both:
            for each, factor in rows:
                self.raised(each, [-factor * size for size in streamed])

    def _moved(
        self, number: int, where: Bools, most: Sizes, fixed: Bools, *, back: bool = False
    ) -> Ints:
        """Add loads where there may be any, or stores; those ``fixed`` precede computing."""
        channels, moved = self.channels[number], self.several(where, most)
        for rows, factor in channels.out if back else channels.into:
            self.add(rows, moved, factor)
        if fixed.any():
            for rows, factor in channels.fixed_out if back else channels.fixed_into:
                self.add(rows, np.where(fixed, moved, -1), factor)
        return moved

    def _residents(self, number: int, where: Bools, most: Sizes, fixed: Bools) -> Ints:
        """Add what is resident in steps of a class; all of it where it is ``fixed``."""
        least = np.where(fixed, most, 0) if fixed.any() else None
        resident = self.several(where, most, least)
        self.add(self.channels[number].room, resident)
        return resident

    def _stream(self, number: int, streams: list[Stream]) -> None:
        """Move what is not resident: of each of its bytes so often in and out."""
        channels = self.channels[number]
        for step, _, size, into, out in streams:
            channels.streamed[0][step] += size * into
            channels.streamed[1][step] += size * out
        step, resident, *both = np.array([(s, q, i, o) for s, q, _, i, o in streams]).T
        for each, often in zip((channels.into, channels.out), both, strict=True):
            for rows, factor in each if often.any() else ():
                self.add(rows[step], resident, -factor * often)

    def _sizes(self, tensors: list[Uses], times: int) -> Sizes:
        """Return (m, 1) the bytes of tensors, so many times."""
        sizes = [self.listing.tensors[tensor].size_bytes * times for tensor, _ in tensors]
        return np.array(sizes, object)[:, None]

    def _follow_cut(self, tensors: list[Uses]) -> None:
        """Follow tensors along the steps of a piece; quantities are of all pieces of a class."""
        loaded, followed = [uses[-1].step for _, uses in tensors], list[bool]()
        for at, (tensor, uses) in enumerate(tensors):
            live, written = uses[-1].live, any(use.writes for use in uses)
            if live and self.ends.follows(tensor):
                loaded[at] = self.steps - 1
            followed.append(live and (written or self.ends.follows(tensor)))
        tracks = Tracks([uses for _, uses in tensors], followed, self.steps)
        loads = tracks.grows & (np.arange(self.steps) <= np.array(loaded)[:, None])
        for number, count in enumerate(self.counts):
            size = self._sizes(tensors, count) // self.pieces
            now, newer = self._cut_class(tensors, number, size, tracks, loads)
            ends = np.stack((now[:, -1], newer[:, -1]), axis=1).tolist()
            for at, (tensor, uses) in enumerate(tensors):
                if uses[-1].live:
                    left, dirty = ends[at]
                    self.ends.leaves(
                        tensor,
                        number,
                        left if followed[at] else None,
                        dirty if dirty >= 0 else None,
                    )

    def _cut_class(
        self, tensors: list[Uses], number: int, size: Sizes, tracks: Tracks, loaded: Bools
    ) -> tuple[Ints, Ints]:
        """Add what is resident of a class and newer than DRAM, step by step; return both."""
        now = self._residents(number, tracks.some, size, tracks.fixed)
        before, none = np.full((len(tensors), self.steps + 1), -1), np.zeros(now.shape, object)
        before[:, 1:] = now
        for at, (tensor, uses) in enumerate(tensors):
            if uses[0].reads:
                before[at, 0] = self.new(size[at, 0])
                self.ends.found(tensor, number, int(before[at, 0]))
        loads = self._moved(number, loaded, size, tracks.fixed & loaded)
        rows = self._rows("grows", tensors, number, tracks.grows, (None, none))
        for columns, factor in ((now, 1), (before[:, :-1], -1), (loads, -1)):
            self.add(rows, columns, factor)
        newer, was = self.several(tracks.newer, size), np.full(now.shape, -1)
        was[:, 1:] = newer[:, :-1]
        rows = self._rows("holds", tensors, number, tracks.grows & (was >= 0), (none, None))
        self.add(rows, now)
        self.add(rows, was, -1)
        fixed = tracks.fixed & tracks.wrote & tracks.newer
        stores = self._moved(number, tracks.newer, size, fixed, back=True)
        rows = self._rows("stores", tensors, number, tracks.newer, (none, none))
        base = np.where(tracks.wrote | (was < 0), now, was)
        for columns, factor in ((newer, 1), (stores, 1), (base, -1)):
            self.add(rows, columns, factor)
        streams = list[Stream]()
        for at, (_, uses) in enumerate(tensors):
            for use in uses:
                into = use.passes if use.reads else (use.passes - 1) * use.live
                out = use.passes * (use.writes and use.live)
                streams.append((use.step, now[at, use.step], size[at, 0], into, out))
        self._stream(number, streams)
        return now, newer

    def _rows(
        self,
        kind: str,
        tensors: list[Uses],
        number: int,
        where: Bools,
        sides: tuple[Sizes | None, Sizes | None],
    ) -> Ints:
        return self.rows([(kind, tensor, number) for tensor, _ in tensors], where, *sides)

    def _follow_whole(self, tensors: list[Uses]) -> None:
        """Follow tensors around the pieces; quantities are sums over the pieces of a class."""
        assert isinstance(self.ends, Ends)
        rests: list[int | None] = []
        for tensor, uses in tensors:
            rests.append(None)
            if uses[0].reads:
                rests[-1] = found = self.new(self.listing.tensors[tensor].size_bytes)
                self.ends.found_whole(tensor, found)
        balances: list[Terms] = [[] if rest is None else [(rest, -1)] for rest in rests]
        for number, count in enumerate(self.counts):
            size = self._sizes(tensors, 1)
            most = np.zeros((len(tensors), self.steps), object)
            for at, (_, uses) in enumerate(tensors):
                anew = [use.step for use in uses if not use.reads and number == 0]
                most[at, anew] = size[at, 0]
            resident, loads, first = self._grow_whole(tensors, number, size * count, most)
            stores = self._stores_of_sums(tensors, number, size * count)
            for at, (tensor, uses) in enumerate(tensors):
                moved = resident[at].tolist(), loads[at].tolist()
                if ("sums", tensor) in self.prices:
                    balances[at] += [(each, 1) for each in stores[at].tolist()]
                    balances[at] += [(each, -1) for each in moved[1]]
                    balances[at] += [(moved[0][use.step], -1) for use in uses]
                terms = minus([(moved[1][0], 1)] + ([] if rests[at] is None else [(rests[at], 1)]))
                rests[at], before = self._around(tensor, uses, number, moved, rests[at])
                self.extend(int(first[at]), [*terms, *before])
        for (tensor, uses), rest, balance in zip(tensors, rests, balances, strict=True):
            whole, ends = self.listing.tensors[tensor].size_bytes, uses[-1].live
            if ends:
                assert rest is not None
                self.ends.leaves_whole(tensor, rest)
            if uses[0].writes:
                if ends:
                    left = self.new(whole)
                    self.ends.leaves_sum(tensor, left)
                    balance.append((left, 1))
                least = whole * (ends - uses[0].reads - len(uses) * self.pieces)
                self.row(("sums", tensor), balance, least, None)

    def _grow_whole(
        self, tensors: list[Uses], number: int, size: Sizes, most: Sizes
    ) -> tuple[Ints, Ints, Ints]:
        """Add what is resident and loaded of whole tensors; return the rows of the first step."""
        fixed, where = self._fixed(tensors), np.ones(most.shape, bool)
        resident = self._residents(number, where, size, fixed)
        loads = self._moved(number, where, size, fixed)
        before = np.full(where.shape, -1)
        before[:, 1:] = resident[:, :-1]
        grows = self._rows("grows", tensors, number, where, (None, most))
        for columns, factor in ((resident[:, 1:], 1), (before[:, 1:], -1), (loads[:, 1:], -1)):
            self.add(grows[:, 1:], columns, factor)
        self._stream(
            number,
            [
                stream
                for at, (tensor, uses) in enumerate(tensors)
                for stream in self._streams_whole(tensor, uses, number, resident[at].tolist())
            ],
        )
        return resident, loads, grows[:, 0]

    def _fixed(self, tensors: list[Uses]) -> Bools:
        """Return (m, steps) whether a tensor must be resident."""
        fixed = np.zeros((len(tensors), self.steps), bool)
        for at, (_, uses) in enumerate(tensors):
            fixed[at, [use.step for use in uses if use.fixed]] = True
        return fixed

    def _stores_of_sums(self, tensors: list[Uses], number: int, size: Sizes) -> Ints:
        """Add what is stored of tensors that are summed up over the pieces."""
        summed = np.array([[uses[0].writes] * self.steps for _, uses in tensors])
        fixed = self._fixed(tensors) & summed
        return self._moved(number, summed, size, fixed, back=True)

    def _follow_inside(self, tensors: list[Uses]) -> None:
        """Follow tensors that are whole to each piece along the steps of a run in each of them."""
        one = self._sizes(tensors, 1)
        most = np.zeros((len(tensors), self.steps), object)
        for at, (_, uses) in enumerate(tensors):
            most[at, [use.step for use in uses if not use.reads]] = one[at, 0]
        resident, loads, first = self._grow_whole(tensors, 0, one * self.pieces, most)
        for at, (tensor, _) in enumerate(tensors):
            before = self.new(one[at, 0] * self.pieces)
            self.ends.found_whole(tensor, before)
            terms = [(int(resident[at, 0]), 1), (before, -1), (int(loads[at, 0]), -1)]
            self.extend(int(first[at]), terms)

    def _around(
        self,
        tensor: int,
        uses: list[SegmentUse],
        number: int,
        moved: tuple[list[int], list[int]],
        rest: int | None,
    ) -> tuple[int | None, Terms]:
        """Rows of what pieces of a class find of the one before; return what the last leaves.

        And what is more on chip in the first steps than before them.
        """
        resident, loads = moved
        size, count = self.listing.tensors[tensor].size_bytes, self.counts[number]
        found: Terms = [] if rest is None else [(rest, 1)]
        left: int | None = resident[-1]
        first = [(resident[0], 1)]
        if count > 1:
            left = None
            first = [(resident[0], 1), (resident[-1], -1)] if self.steps > 1 else []
            if number < len(self.counts) - 1 or uses[-1].live:
                left = self.new(size)
                self.row(("rests", tensor, number), [(left, 1), (resident[-1], -1)], None, 0)
                first.append((left, 1))
            for use in uses if number or uses[0].reads else []:
                name = "comes", tensor, number, use.step
                if name in self.prices:
                    come = times(-count, [*((each, 1) for each in loads), *found])
                    self.row(name, [(resident[use.step], 1), *come], None, 0)
        return left, first

    def _streams_whole(
        self, tensor: int, uses: list[SegmentUse], number: int, resident: list[int]
    ) -> list[Stream]:
        """Return what is moved that is not resident; of sums the first and last piece move less."""
        size, count = self.listing.tensors[tensor].size_bytes, self.counts[number]
        summed, begun, done = uses[0].writes, not uses[0].reads, not uses[-1].live
        begins, ends = summed and begun and number == 0, False
        ends = summed and done and number == len(self.counts) - 1
        streams = list[Stream]()
        for use in uses:
            into, out = use.passes, use.passes * summed
            if count == 1:
                into -= begins and use is uses[0]
                out *= not (ends and use is uses[-1])
            streams.append((use.step, resident[use.step], count * size, into, out))
        if count > 1 and begins:
            less, step = self.new(size), uses[0].step
            streams.append((step, less, 0, 1, 0))
            terms = [(less, 1), (resident[step], 1)]
            self.row(("less", tensor), terms, None, count * size)
        if count > 1 and ends:
            passes, step = uses[-1].passes, uses[-1].step
            spared = self.new(passes * size)
            streams.append((step, spared, 0, 0, 1))
            terms = [(spared, 1), (resident[step], passes)]
            self.row(("spared", tensor), terms, None, passes * count * size)
        return streams
