"""The least that a fused group costs whatever happens outside, from dual values, in exact integers.

Each row holds for the sums over fusion tiles of a class (all, or the first, those between and the
last) of any legal schedule of any fusion plan with the fused group, in its steps
(formulations/README.md, "Fusion plans"). Multiples of rows, at a dual value each, are added to the
cost; the rest of it is least where each quantity is at one end of its range. Any dual values prove
a bound: no solver is asked. A row has a name that does not depend on how it was found.

This is of a fused group's own steps; ``fused_group_ends`` has the bytes that it finds on chip, and
leaves there.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import floor

import numpy as np

from spmopt.core.fusion.certificate import Row
from spmopt.core.fusion.fused_groups import FusedGroup
from spmopt.core.objective import Objective
from spmopt.core.table import Bools, Ints
from spmopt.verifier.carried import Carried
from spmopt.verifier.fused_group_ends import Around, Channels, Ends
from spmopt.verifier.fused_group_uses import FusedGroupUse, Liveness, Tracks, uses_of
from spmopt.verifier.pricing import Pricing, Sizes, Terms, minus, times


def fused_group_bound(
    liveness: Liveness,
    fused_group: FusedGroup,
    objective: Objective,
    duals: Mapping[Row, int],
    bits: int,
    *,
    carried: Carried | None = None,
    fine: bool = False,
    inner: bool = False,
    beside: Mapping[int, int] | None = None,
) -> int:
    """Return the lower bound on a fused group, in units of ``2**-bits`` objective units.

    Parameters
    ----------
    duals
        Of rows by name, in the same units, positive for rows ``>=``; 0 if missing.
    carried
        Dual values of bytes carried across boundaries, by default none.
    fine
        Rows are of the first fusion tile, those between and the last, and not of all together.
    inner
        It is a run of operations in any fused group of as many fusion tiles: around each of its
        fusion tiles steps of others come, and all that fits may be on chip.
    beside
        Bytes of tensors that are not followed, beside their size in the tileable graph, of stripes.

    Raises
    ------
    InputError
        The dual values leave a cost below any bound, or are of rows that there are not.
    """
    carried = Carried(liveness.tileable, {}) if carried is None else carried
    found = _FusedGroup(liveness, fused_group, objective, duals, bits)
    found.beside = beside or {}
    return found.value(None if inner else carried, fine=fine)


Uses = tuple[int, list[FusedGroupUse]]
"""A tensor, and how it is used."""
Stream = tuple[int, int, int, int, int]
"""Step, resident bytes in it, of how many, and how often the rest moves in and out."""


class _FusedGroup(Pricing):
    """The cost of a fused group with rows at their dual values."""

    def __init__(
        self,
        liveness: Liveness,
        fused_group: FusedGroup,
        objective: Objective,
        duals: Mapping[Row, int],
        bits: int,
    ) -> None:
        super().__init__(f"fused group {fused_group.begin}", duals)
        self.beside: Mapping[int, int] = {}
        self.tileable, self.fused_group = liveness.tileable, fused_group
        self.objective, self.bits = objective, bits
        self.steps = fused_group.end - fused_group.begin
        self.micro_batches = fused_group.micro_batches
        self.tensors = uses_of(liveness, fused_group)

    def value(self, carried: Carried | None, *, fine: bool) -> int:
        """Return the least value; without ``carried`` of a run inside of a fused group."""
        self.counts = [self.micro_batches]
        if fine and self.micro_batches > 1:
            self.counts = [1] + [self.micro_batches - 2] * (self.micro_batches > 2) + [1]
        self.channels = [self._channels(number) for number in range(len(self.counts))]
        self.ends: Ends | Around = Around(self.tileable, self.micro_batches)
        if carried is not None:
            self.ends = Ends(self.tileable, self.fused_group, carried, self.tensors, self.counts)
            self.ends.add_beside(self, self.beside)
        cut = [(tensor, uses) for tensor, whole, uses in self.tensors if not whole]
        whole = [(tensor, uses) for tensor, whole, uses in self.tensors if whole]
        if cut:
            self._follow_cut(cut)
        if whole:
            self._follow_inside(whole) if carried is None else self._follow_whole(whole)
        self.ends.add(self, self.channels)
        for number in range(len(self.counts)):
            self._count_streams(number)
        return self.least()

    def _weight(self, weight: Fraction) -> int:
        """Return a weight of the objective in the units of dual values, rounded down."""
        # Rounded down: a smaller weight makes the bound weaker, never false.
        scaled: Fraction = weight * 2**self.bits
        return floor(scaled)

    def _channels(self, number: int) -> Channels:
        """Room and time of the steps of a class, and costs beside transfers.

        A step takes as long as its transfers, and its computing with the transfers that wait for
        it.
        """
        machine, objective = self.tileable.machine, self.objective
        page, count = machine.page_bytes, self.counts[number]
        rate, clock = machine.dram_bytes_per_s, machine.clock_hz
        free, cycles = list[int](), list[int]()
        for operation in self.tileable.operations[self.fused_group.begin : self.fused_group.end]:
            mappings = operation.mappings[self.micro_batches]
            # The first tile has a mapping of its own; the others are alike.
            first = int(number == 0)
            both = [(mappings.first, first), (mappings.later, count - first)]
            scratch = sum(n * machine.pages(mapping.scratch_bytes) * page for mapping, n in both)
            # (G2) R1 summed over the tiles of the class, scratch in whole pages taken off.
            free.append(count * machine.spm_pages * page - scratch)
            cycles.append(sum(n * mapping.compute_cycles for mapping, n in both))
            for mapping, n in both if objective.weighs_mappings else ():
                self.total += n * self._weight(objective.of_mappings(*mapping.unchanging))
        every, zero = np.ones((1, self.steps), bool), np.zeros((1, self.steps), object)
        # A step takes at least its computing: the lower end of its range.
        time = self.several(every, None, np.array([cycles], object))[0]
        cost = np.full((3, self.steps), -1)
        weights = objective.cycle, objective.dram_in_byte, objective.dram_out_byte
        for each, weight in zip(cost, weights, strict=True):
            each[:] = self.costing(self._weight(weight))
        self.add(cost[0], time)
        # (G1) R6: computing and the transfers that wait for it, one after the other.
        (waits,) = self.rows([("serial time", number)], every, zero, None)
        self.raise_values(waits, [rate * each for each in cycles])
        names = (
            ("inward time", "outward time") if machine.duplex else ("channel time", "channel time")
        )
        (reads,) = (writes,) = self.rows([(names[0], number)], every, zero, None)
        if machine.duplex:
            (writes,) = self.rows([(names[1], number)], every, zero, None)
        for rows in (waits, reads, writes) if machine.duplex else (waits, reads):
            self.add(rows, time, rate)
        waits_for = [(waits, -clock)]
        return Channels(
            room=self.rows([("capacity", number)], every, None, np.array([free], object))[0],
            into=[(cost[1], 1), (reads, -clock)],
            out=[(cost[2], 1), (writes, -clock)],
            fixed_into=waits_for + ([(writes, -clock)] if machine.duplex else []),
            fixed_out=waits_for + ([(reads, -clock)] if machine.duplex else []),
            streamed=([0] * self.steps, [0] * self.steps),
        )

    def _count_streams(self, number: int) -> None:
        """Count bytes streamed if nothing is resident."""
        channels = self.channels[number]
        both = zip((channels.into, channels.out), channels.streamed, strict=True)
        for rows, streamed in both:
            for each, factor in rows:
                self.raise_values(each, [-factor * size for size in streamed])

    def _move(
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
        """Add bytes resident in steps of a class; all of it where it is ``fixed``."""
        # R3, R4: required-resident operands are resident in full.
        least = np.where(fixed, most, 0) if fixed.any() else None
        resident = self.several(where, most, least)
        self.add(self.channels[number].room, resident)
        return resident

    def _stream(self, number: int, streams: list[Stream]) -> None:
        """Move non-resident bytes: of each of its bytes so often in and out."""
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
        sizes = [self.tileable.tensors[tensor].size_bytes * times for tensor, _ in tensors]
        return np.array(sizes, object)[:, None]

    def _follow_cut(self, tensors: list[Uses]) -> None:
        """Follow tensors along the steps of a tile; quantities are of all tiles of a class."""
        loaded, followed = [uses[-1].step for _, uses in tensors], list[bool]()
        for at, (tensor, uses) in enumerate(tensors):
            live, written = uses[-1].live, any(use.writes for use in uses)
            # Contents carried across the end may still be loaded after their last use here.
            if live and self.ends.follows(tensor):
                loaded[at] = self.steps - 1
            followed.append(live and (written or self.ends.follows(tensor)))
        tracks = Tracks([uses for _, uses in tensors], followed, self.steps)
        loads = tracks.grows & (np.arange(self.steps) <= np.array(loaded)[:, None])
        for number, count in enumerate(self.counts):
            size = self._sizes(tensors, count) // self.micro_batches
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
        """Add resident bytes of a class newer than DRAM, step by step; return both."""
        now = self._residents(number, tracks.some, size, tracks.fixed)
        before, none = np.full((len(tensors), self.steps + 1), -1), np.zeros(now.shape, object)
        before[:, 1:] = now
        for at, (tensor, uses) in enumerate(tensors):
            if uses[0].reads:
                before[at, 0] = self.new(size[at, 0])
                self.ends.add_found(tensor, number, int(before[at, 0]))
        loads = self._move(number, loaded, size, tracks.fixed & loaded)
        # (G3) R2: bytes on chip grow by loads alone.
        rows = self._rows("growth", tensors, number, tracks.grows, (None, none))
        for columns, factor in ((now, 1), (before[:, :-1], -1), (loads, -1)):
            self.add(rows, columns, factor)
        newer, was = self.several(tracks.newer, size), np.full(now.shape, -1)
        was[:, 1:] = newer[:, :-1]
        # (G4) R7: dirty bytes stay resident until they are stored.
        rows = self._rows("no loss", tensors, number, tracks.grows & (was >= 0), (none, None))
        self.add(rows, now)
        self.add(rows, was, -1)
        fixed = tracks.fixed & tracks.wrote & tracks.newer
        stores = self._move(number, tracks.newer, size, fixed, back=True)
        # (G4) R5: after a write all resident bytes are dirty; only stores make them clean.
        rows = self._rows("write back", tensors, number, tracks.newer, (none, none))
        base = np.where(tracks.wrote | (was < 0), now, was)
        for columns, factor in ((newer, 1), (stores, 1), (base, -1)):
            self.add(rows, columns, factor)
        streams = list[Stream]()
        for at, (_, uses) in enumerate(tensors):
            for use in uses:
                into = use.fetches if use.reads else (use.fetches - 1) * use.live
                out = use.fetches * (use.writes and use.live)
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
        """Follow tensors around the tiles; quantities are sums over the tiles of a class."""
        assert isinstance(self.ends, Ends)
        rests: list[int | None] = []
        for tensor, uses in tensors:
            rests.append(None)
            if uses[0].reads:
                rests[-1] = found = self.new(self.tileable.tensors[tensor].size_bytes)
                self.ends.find_whole(tensor, found)
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
                if ("partial sums", tensor) in self.duals:
                    balances[at] += [(each, 1) for each in stores[at].tolist()]
                    balances[at] += [(each, -1) for each in moved[1]]
                    balances[at] += [(moved[0][use.step], -1) for use in uses]
                terms = minus([(moved[1][0], 1)] + ([] if rests[at] is None else [(rests[at], 1)]))
                rests[at], before = self._around(tensor, uses, number, moved, rests[at])
                self.extend(int(first[at]), [*terms, *before])
        for (tensor, uses), rest, balance in zip(tensors, rests, balances, strict=True):
            whole, ends = self.tileable.tensors[tensor].size_bytes, uses[-1].live
            if ends:
                assert rest is not None
                self.ends.leaves_whole(tensor, rest)
            if uses[0].writes:
                if ends:
                    left = self.new(whole)
                    self.ends.leaves_sum(tensor, left)
                    balance.append((left, 1))
                # (G7): every load of a part of a sum needs a store before it.
                least = whole * (ends - uses[0].reads - len(uses) * self.micro_batches)
                self.row(("partial sums", tensor), balance, least, None)

    def _grow_whole(
        self, tensors: list[Uses], number: int, size: Sizes, most: Sizes
    ) -> tuple[Ints, Ints, Ints]:
        """Add bytes resident and loaded of whole tensors; return the rows of the first step."""
        fixed, where = self._fix(tensors), np.ones(most.shape, bool)
        resident = self._residents(number, where, size, fixed)
        loads = self._move(number, where, size, fixed)
        before = np.full(where.shape, -1)
        before[:, 1:] = resident[:, :-1]
        # (G5) R2 around the tiles; the first step's row is completed by _around.
        grows = self._rows("growth", tensors, number, where, (None, most))
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

    def _fix(self, tensors: list[Uses]) -> Bools:
        """Return (m, steps) whether a tensor must be resident."""
        fixed = np.zeros((len(tensors), self.steps), bool)
        for at, (_, uses) in enumerate(tensors):
            fixed[at, [use.step for use in uses if use.fixed]] = True
        return fixed

    def _stores_of_sums(self, tensors: list[Uses], number: int, size: Sizes) -> Ints:
        """Add bytes stored of partial sums over the fusion tiles."""
        summed = np.array([[uses[0].writes] * self.steps for _, uses in tensors])
        fixed = self._fix(tensors) & summed
        return self._move(number, summed, size, fixed, back=True)

    def _follow_inside(self, tensors: list[Uses]) -> None:
        """Follow tensors that are whole to each tile along the steps of a run in each of them."""
        one = self._sizes(tensors, 1)
        most = np.zeros((len(tensors), self.steps), object)
        for at, (_, uses) in enumerate(tensors):
            most[at, [use.step for use in uses if not use.reads]] = one[at, 0]
        resident, loads, first = self._grow_whole(tensors, 0, one * self.micro_batches, most)
        for at, (tensor, _) in enumerate(tensors):
            before = self.new(one[at, 0] * self.micro_batches)
            self.ends.find_whole(tensor, before)
            terms = [(int(resident[at, 0]), 1), (before, -1), (int(loads[at, 0]), -1)]
            self.extend(int(first[at]), terms)

    def _around(
        self,
        tensor: int,
        uses: list[FusedGroupUse],
        number: int,
        moved: tuple[list[int], list[int]],
        rest: int | None,
    ) -> tuple[int | None, Terms]:
        """Rows of bytes that tiles of a class find of the one before.

        Return bytes that the last leaves. And the increase on chip in the first steps.
        """
        resident, loads = moved
        size, count = self.tileable.tensors[tensor].size_bytes, self.counts[number]
        found: Terms = [] if rest is None else [(rest, 1)]
        left: int | None = resident[-1]
        first = [(resident[0], 1)]
        if count > 1:
            left = None
            first = [(resident[0], 1), (resident[-1], -1)] if self.steps > 1 else []
            if number < len(self.counts) - 1 or uses[-1].live:
                left = self.new(size)
                # The last tile leaves at most its residents of its last step.
                self.row(("last tile", tensor, number), [(left, 1), (resident[-1], -1)], None, 0)
                first.append((left, 1))
            for use in uses if number or uses[0].reads else []:
                name = "arrival", tensor, number, use.step
                if name in self.duals:
                    # (G6), (G10): each tile streams the bytes that were never found nor loaded.
                    come = times(-count, [*((each, 1) for each in loads), *found])
                    self.row(name, [(resident[use.step], 1), *come], None, 0)
        return left, first

    def _streams_whole(
        self, tensor: int, uses: list[FusedGroupUse], number: int, resident: list[int]
    ) -> list[Stream]:
        """Return non-resident bytes moved; of sums the first and last fusion tile move less."""
        size, count = self.tileable.tensors[tensor].size_bytes, self.counts[number]
        summed, begun, done = uses[0].writes, not uses[0].reads, not uses[-1].live
        begins, ends = summed and begun and number == 0, False
        ends = summed and done and number == len(self.counts) - 1
        streams = list[Stream]()
        for use in uses:
            into, out = use.fetches, use.fetches * summed
            if count == 1:
                # A class of one tile saves them outright; a larger one by a quantity below.
                into -= begins and use is uses[0]
                out *= not (ends and use is uses[-1])
            streams.append((use.step, resident[use.step], count * size, into, out))
        if count > 1 and begins:
            less, step = self.new(size), uses[0].step
            streams.append((step, less, 0, 1, 0))
            # The first tile has no part to read: at most the non-resident bytes of one tile are
            # saved.
            terms = [(less, 1), (resident[step], 1)]
            self.row(("first read", tensor), terms, None, count * size)
        if count > 1 and ends:
            fetches, step = uses[-1].fetches, uses[-1].step
            spared = self.new(fetches * size)
            streams.append((step, spared, 0, 0, 1))
            # The last tile stores nothing of a sum that is dead.
            terms = [(spared, 1), (resident[step], fetches)]
            self.row(("last store", tensor), terms, None, fetches * count * size)
        return streams
