"""The least that a segment costs whatever happens outside, from prices, in exact integers.

Each row holds for the sums over pieces of what any legal schedule of any cover with the segment
does in its steps (formulations/README.md, "Covers"). Multiples of rows, at a price each, are added
to the cost; what is left of it is least where each quantity is at the one or the other end of what
it can be. Any prices prove a bound: no solver is asked. A row has a name that does not depend on
how it was found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import floor

from spmopt.core.errors import InputError
from spmopt.core.listing import ListedOperation, Listing, Row, Segment
from spmopt.core.objective import Objective

Quantity = tuple[str | int, ...]
Terms = list[tuple[Quantity, int]]


@dataclass(frozen=True, slots=True)
class _Use:
    """A use of a tensor in a segment: of all pieces together."""

    step: int
    reads: bool
    writes: bool
    live: bool
    passes: int
    fixed: bool


class Liveness:
    """Which contents of which tensors are needed after each operation of a listing."""

    def __init__(self, listing: Listing) -> None:
        self.listing = listing
        self._live: list[dict[int, bool]] = []
        needed = {t: tensor.keep for t, tensor in enumerate(listing.tensors)}
        for operation in reversed(listing.operations):
            used = {*operation.reads, *operation.writes}
            self._live.append({t: needed[t] for t in used})
            needed.update((t, t in operation.reads) for t in used)
        self._live.reverse()

    def after(self, operation: int, tensor: int) -> bool:
        """Return whether what is in a tensor after an operation that uses it is needed."""
        return self._live[operation][tensor]


def segment_bound(
    liveness: Liveness,
    segment: Segment,
    objective: Objective,
    prices: Mapping[Row, int],
    bits: int,
) -> int:
    """Return what a segment costs at least, in units of ``2**-bits`` objective units.

    Parameters
    ----------
    prices
        Of rows by name, in the same units, positive for what is at least something; 0 if missing.

    Raises
    ------
    InputError
        The prices leave a cost below any bound, or are of rows that there are not.
    """
    priced = _Priced(liveness, segment, objective, prices, bits)
    return priced.value()


class _Priced:
    """The cost of a segment with rows at their prices."""

    def __init__(
        self,
        liveness: Liveness,
        segment: Segment,
        objective: Objective,
        prices: Mapping[Row, int],
        bits: int,
    ) -> None:
        self.listing, self.segment, self.objective = liveness.listing, segment, objective
        self.liveness, self.prices, self.bits = liveness, prices, bits
        self.steps, self.pieces = segment.end - segment.begin, segment.pieces
        self.seen: set[Row] = set()
        self.total = 0
        self.cost: dict[Quantity, int] = {}
        self.most: dict[Quantity, int | None] = {}
        self.least: dict[Quantity, int] = {}
        self.into: list[Terms] = [[] for _ in range(self.steps)]
        self.out: list[Terms] = [[] for _ in range(self.steps)]
        self.fixed_into: list[Terms] = [[] for _ in range(self.steps)]
        self.fixed_out: list[Terms] = [[] for _ in range(self.steps)]
        self.streamed = [[0, 0] for _ in range(self.steps)]
        self.room: list[Terms] = [[] for _ in range(self.steps)]
        self.found: Terms = []
        self.left: Terms = []

    def value(self) -> int:
        """Return the least value."""
        for tensor, whole, uses in self._tensors():
            if whole:
                self._follow_whole(tensor, uses)
            else:
                self._follow_cut(tensor, uses)
        self._borders()
        for step in range(self.steps):
            self._step(step)
        unknown = self.prices.keys() - self.seen
        if unknown:
            raise InputError(
                f"segment {self.segment.begin}: no row is called {min(map(str, unknown))}"
            )
        for (quantity, cost), most in zip(self.cost.items(), self.most.values(), strict=True):
            if cost >= 0:
                self.total += cost * self.least[quantity]
            elif most is None:
                raise InputError(
                    f"segment {self.segment.begin}: prices are too high for {quantity}"
                )
            else:
                self.total += cost * most
        return self.total

    def _weight(self, weight: Fraction) -> int:
        """Return a weight of the objective in the units of prices, rounded down."""
        scaled: Fraction = weight * 2**self.bits
        return floor(scaled)

    def _new(self, *name: str | int, most: int | None, least: int = 0) -> Quantity:
        """Add a quantity that may be from ``least`` to ``most``."""
        self.cost[name], self.most[name], self.least[name] = 0, most, least
        return name

    def _row(
        self, name: Row, terms: Iterable[tuple[Quantity, int]], least: int | None, most: int | None
    ) -> None:
        """Add a multiple of a row: of its lower side at a positive price, else of its upper one."""
        self.seen.add(name)
        price = self.prices.get(name, 0)
        if not price:
            return
        side = least if price > 0 else most
        if side is None:
            raise InputError(f"segment {self.segment.begin}: row {name} has no side for its price")
        self.total += price * side
        for quantity, factor in terms:
            self.cost[quantity] -= price * factor

    def _operations(self) -> list[ListedOperation]:
        return list(self.listing.operations[self.segment.begin : self.segment.end])

    def _tensors(self) -> Iterator[tuple[int, bool, list[_Use]]]:
        """Return each tensor, whether it is whole to each piece, and how it is used."""
        found: dict[int, list[_Use]] = {}
        whole: dict[int, bool] = {}
        for step, operation in enumerate(self._operations()):
            modes = operation.modes[self.pieces]
            first = dict(zip(operation.uses(0), modes.first.operands, strict=True))
            later = dict(zip(operation.uses(1), modes.later.operands, strict=True))
            for tensor, operand in first.items():
                whole[tensor] = self.pieces > 1 and tensor not in operation.cut
                use = _Use(
                    step=step,
                    reads=tensor in operation.reads,
                    writes=tensor in operation.writes,
                    live=self.liveness.after(self.segment.begin + step, tensor),
                    passes=min(operand.passes, later[tensor].passes),
                    fixed=operand.stationary and later[tensor].stationary,
                )
                found.setdefault(tensor, []).append(use)
        for tensor, uses in found.items():
            yield tensor, whole[tensor], uses

    def _load(self, tensor: int, step: int, most: int, *, fixed: bool) -> Quantity:
        load = self._new("load", tensor, step, most=most)
        self.into[step].append((load, 1))
        if fixed:
            self.fixed_into[step].append((load, 1))
        return load

    def _store(self, tensor: int, step: int, most: int, *, fixed: bool) -> Quantity:
        store = self._new("store", tensor, step, most=most)
        self.out[step].append((store, 1))
        if fixed:
            self.fixed_out[step].append((store, 1))
        return store

    def _stream(self, use: _Use, resident: Quantity, size: int, into: int, out: int) -> None:
        """Move what is not resident: ``size`` less ``resident``, so often in and out."""
        step = use.step
        self.streamed[step][0] += into * size
        self.streamed[step][1] += out * size
        self.into[step].append((resident, -into))
        self.out[step].append((resident, -out))

    def _follow_cut(self, tensor: int, uses: list[_Use]) -> None:
        """Follow a tensor along the steps of a piece; quantities are of all pieces together."""
        size, by_step = self.listing.tensors[tensor].size_bytes, {use.step: use for use in uses}
        there = uses[0].reads
        before: Quantity | None = None
        newer: Quantity | None = None
        if there:
            before = self._new("found", tensor, most=size)
            self.found.append((before, 1))
        last = uses[-1].step
        until = self.steps if uses[-1].live and any(use.writes for use in uses) else last + 1
        for step in range(until):
            use = by_step.get(step)
            if use is None and not there:
                continue
            fixed = use is not None and use.fixed
            now = self._new("resident", tensor, step, most=size, least=size if fixed else 0)
            self.room[step].append((now, 1))
            if use is None or use.reads:
                growth: Terms = [(now, 1)] + ([(before, -1)] if before is not None else [])
                if step <= last:
                    growth.append((self._load(tensor, step, size, fixed=fixed), -1))
                self._row(("grows", tensor, step), growth, None, 0)
                if newer is not None:
                    self._row(("holds", tensor, step), [(now, 1), (newer, -1)], 0, None)
            before = now
            if use is not None:
                into = use.passes if use.reads else (use.passes - 1) * use.live
                self._stream(use, now, size, into, use.passes * (use.writes and use.live))
                there = use.live
            if not there:
                before = newer = None
            elif (use is not None and use.writes) or newer is not None:
                written = use is not None and use.writes
                base = now if written or newer is None else newer
                store = self._store(tensor, step, size, fixed=fixed and written)
                newer = self._new("newer", tensor, step, most=size)
                terms = [(newer, 1), (store, 1), (base, -1)]
                self._row(("stores", tensor, step), terms, 0, 0)
        if newer is not None:
            self.left.append((newer, 1))

    def _follow_whole(self, tensor: int, uses: list[_Use]) -> None:
        """Follow a tensor around the pieces; what is resident is the mean over them."""
        size, pieces = self.listing.tensors[tensor].size_bytes, self.pieces
        by_step, summed = {use.step: use for use in uses}, uses[0].writes
        found: Terms = []
        if uses[0].reads:
            found = [(self._new("found", tensor, most=size), 1)]
            self.found += found
        resident, loads, stores = list[Quantity](), Terms(), Terms()
        for step in range(self.steps):
            fixed = step in by_step and by_step[step].fixed
            least = size if fixed else 0
            resident.append(self._new("resident", tensor, step, most=size, least=least))
            self.room[step].append((resident[step], pieces))
            loads.append((self._load(tensor, step, pieces * size, fixed=fixed), 1))
            if summed:
                stores.append((self._store(tensor, step, pieces * size, fixed=fixed), 1))
        for step in range(self.steps if self.steps > 1 else 0):
            anew = step in by_step and not by_step[step].reads
            growth: Terms = [(resident[step], pieces), (resident[step - 1], -pieces)]
            growth.append((loads[step][0], -1))
            growth += _minus(found) if step == 0 else []
            self._row(("grows", tensor, step), growth, None, size if anew else 0)
        for use in uses:
            now = resident[use.step]
            times = use.passes * pieces
            self._stream(use, now, size, times, times if summed else 0)
            if found:
                come = [*loads, *found, (now, -pieces)]
                self._row(("comes", tensor, use.step), come, size - pieces * size, None)
        if summed:
            self._sum(tensor, uses, resident, [*stores, *_minus(loads), *_minus(found)])

    def _sum(self, tensor: int, uses: list[_Use], resident: list[Quantity], terms: Terms) -> None:
        """Store what is loaded again, and at last; the first and the last piece move less."""
        size, pieces = self.listing.tensors[tensor].size_bytes, self.pieces
        first, last = uses[0], uses[-1]
        if not first.reads:
            less = self._new("less", tensor, most=size)
            self.into[first.step].append((less, -1))
            now = resident[first.step]
            self._row(("less", tensor), [(less, 1), (now, pieces)], None, pieces * size)
        if last.live:
            left = self._new("left", tensor, most=size)
            self.left.append((left, 1))
            terms = [*terms, (left, 1)]
        else:
            spared = self._new("spared", tensor, most=last.passes * size)
            self.out[last.step].append((spared, -1))
            times, now = last.passes * pieces, resident[last.step]
            self._row(("spared", tensor), [(spared, 1), (now, times)], None, times * size)
        least = size * (last.live - first.reads)
        terms = [*terms, *((resident[use.step], -pieces) for use in uses)]
        self._row(("sums", tensor), terms, least - len(uses) * pieces * size, None)

    def _borders(self) -> None:
        """What is on chip before and after, and what pieces leave each other."""
        machine = self.listing.machine
        held = machine.spm_pages * machine.page_bytes
        for name, amounts, moved in (
            ("found", self.found, self.into),
            ("left", self.left, self.out),
        ):
            if not amounts:
                continue
            most = sum(self.most[quantity] or 0 for quantity, _ in amounts)
            terms = [*amounts, (self._new("held", name, most=held), -1)]
            for step in range(self.steps if self.pieces > 1 else 0):
                other = self._new("other", name, step, most=most)
                moved[step].append((other, 1))
                terms.append((other, -1))
            self._row((name,), terms, None, 0)

    def _step(self, step: int) -> None:
        """Room and time of a step, and what its transfers cost."""
        machine, objective = self.listing.machine, self.objective
        modes = self.listing.operations[self.segment.begin + step].modes[self.pieces]
        both = [(modes.first, 1), (modes.later, self.pieces - 1)]
        page = machine.page_bytes
        scratch = sum(count * machine.pages(m.scratch_bytes) * page for m, count in both)
        self._row(
            ("room", step),
            self.room[step],
            None,
            self.pieces * machine.spm_pages * page - scratch,
        )
        for mode, count in both:
            always = (
                objective.spm_read_byte * mode.spm_read_bytes
                + objective.spm_write_byte * mode.spm_write_bytes
                + objective.mac * mode.macs
            )
            self.total += count * self._weight(always)
        into, out = self.into[step], self.out[step]
        for terms, weight, constant in (
            (into, objective.dram_in_byte, self.streamed[step][0]),
            (out, objective.dram_out_byte, self.streamed[step][1]),
        ):
            price = self._weight(weight)
            self.total += price * constant
            for quantity, factor in terms:
                self.cost[quantity] += price * factor
        cycles = sum(count * mode.compute_cycles for mode, count in both)
        time = self._new("time", step, most=None, least=cycles)
        self.cost[time] += self._weight(objective.cycle)
        self._time(step, time, cycles)

    def _time(self, step: int, time: Quantity, cycles: int) -> None:
        """A step takes as long as its transfers, and its computing with what waits for it."""
        machine = self.listing.machine
        rate, clock = machine.dram_bytes_per_s, machine.clock_hz
        into, out = self.into[step], self.out[step]
        first, last = self.fixed_into[step], self.fixed_out[step]
        begun = [(time, rate)]
        if first or last:
            waits = [*begun, *_times(-clock, first), *_times(-clock, last)]
            self._row(("waits", step), waits, rate * cycles, None)
        streamed = self.streamed[step]
        if machine.duplex:
            for name, terms, serial, constant in (
                ("reads", into, last, streamed[0]),
                ("writes", out, first, streamed[1]),
            ):
                moved = [*begun, *_times(-clock, terms), *_times(-clock, serial)]
                self._row((name, step), moved, clock * constant, None)
        else:
            moved = [*begun, *_times(-clock, into), *_times(-clock, out)]
            self._row(("moves", step), moved, clock * sum(streamed), None)


def _minus(terms: Terms) -> Terms:
    return _times(-1, terms)


def _times(factor: int, terms: Terms) -> Terms:
    return [(quantity, factor * each) for quantity, each in terms]
