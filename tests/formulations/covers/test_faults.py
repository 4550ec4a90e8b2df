"""Faults of rows are noticed, and bounds move as the machine does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from formulations.covers.borders import Borders
from formulations.covers.listed import Listed
from spmopt.core.errors import InputError
from spmopt.core.instance import Tensor
from spmopt.core.machine import Machine
from spmopt.core.objective import Objective, objective_named
from spmopt.core.operation import Mode, Operand
from spmopt.core.pieces.certificate import Row
from spmopt.core.pieces.listing import Listing
from spmopt.core.pieces.segments import ListedOperation, PieceModes, Segment
from spmopt.core.table import Ints
from spmopt.verifier.carried import Carried
from spmopt.verifier.pricing import Pricing
from spmopt.verifier.segment_bound import segment_bound
from spmopt.verifier.segment_ends import Ends
from spmopt.verifier.segment_uses import Liveness
from tests.formulations.covers.random_listing import duplex, random_listing
from tests.formulations.covers.test_carried import BITS, Prices, priced, random_prices
from tests.formulations.covers.test_segments import OBJECTIVES, bound_of, segments
from tests.thorough import share, some

OF_STEPS = ("grows", "holds", "stores", "comes", "rests", "less", "spared", "sums", "room")
OF_TIME = ("moves", "reads", "writes", "waits")
OF_ENDS = (
    *("found", "ahead", "in", "dirty in", "held", "newer", "stays", "kept", "behind", "stored"),
    *("owed", "old", "dirty out", "newer out", "out", "left", "later"),
)
FAULTS = ("row", "sign", "term", "size")
Terms = Iterable[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Priced:
    """A segment, prices of its rows and at borders, and the value of its program."""

    live: Liveness
    segment: Segment
    objective: Objective
    rows: dict[Row, int]
    carried: Carried
    fine: bool
    value: float
    scale: float

    def wrong(self) -> bool:
        """Return whether the verifier finds another value."""
        try:
            exact = segment_bound(
                self.live,
                self.segment,
                self.objective,
                self.rows,
                BITS,
                carried=self.carried,
                fine=self.fine,
            )
        except InputError:
            return True
        return bool(abs(exact / 2**BITS - self.value) > 1e-6 * self.scale)


@cache
def cases() -> list[Priced]:
    """Segments of random listings at random prices of what is carried across borders."""
    random, found = np.random.default_rng(5), list[Priced]()
    for seed in range(500, 640):
        listed = random_listing(seed)
        listed = duplex(listed) if seed % 4 == 3 else listed
        objective = objective_named(OBJECTIVES[seed % 3], listed.machine)
        figures, live = Listed(listed, objective), Liveness(listed)
        byte = figures.dearest_row * listed.machine.clock_hz
        prices = random_prices(figures, random)
        for segment in segments(listed):
            fine = bool(random.random() < 0.5)
            value, rows = priced(figures, segment, prices, fine=fine)
            if np.isfinite(value):
                scale = abs(value) + byte * figures.capacity
                carried = Carried(listed, prices)
                found.append(Priced(live, segment, objective, rows, carried, fine, value, scale))
    return found


def plant(monkeypatch: pytest.MonkeyPatch, kind: str, fault: str) -> None:
    """Leave out rows of a kind, or a term of each, turn its sign, or add a byte to a side."""
    add, extend, priced = Pricing.add, Pricing.extend, Pricing._priced
    whole = dict[Pricing, set[int]]()

    def wrong_price(
        self: Pricing, name: Row, price: int, least: int | None, most: int | None
    ) -> int:
        if name[0] != kind:
            return priced(self, name, price, least, most)
        if fault == "row":
            self._known.add(name)
            return -1
        if fault == "size":
            least, most = (side if side is None else side + 1 for side in (least, most))
        number = priced(self, name, price, least, most)
        whole.setdefault(self, set()).add(number)
        return number

    def hit(self: Pricing, number: int) -> bool:
        """Return whether a term is the first of a row that bears the fault."""
        some = whole.get(self, set()) if fault in ("sign", "term") else set()
        found = number in some
        some.discard(number)
        return found

    def wrong_add(self: Pricing, rows: Ints, quantities: Ints, factor: int | Ints = 1) -> None:
        numbers = np.broadcast_to(rows, np.broadcast_shapes(rows.shape, quantities.shape))
        there = np.broadcast_to(quantities, numbers.shape) >= 0
        some = [
            hit(self, int(n)) if t else False for n, t in zip(numbers.flat, there.flat, strict=True)
        ]
        first = np.array(some, bool).reshape(numbers.shape)
        add(self, np.where(first, -1, numbers), quantities, factor)
        if fault == "sign":
            add(self, np.where(first, numbers, -1), quantities, -1 * np.asarray(factor))

    def wrong_extend(self: Pricing, number: int, terms: Terms) -> None:
        some = list(terms)
        if some and hit(self, number):
            quantity, factor = some.pop(0)
            some += [(quantity, -factor)] if fault == "sign" else []
        extend(self, number, some)

    monkeypatch.setattr(Pricing, "_priced", wrong_price)
    monkeypatch.setattr(Pricing, "add", wrong_add)
    monkeypatch.setattr(Pricing, "extend", wrong_extend)


def test_without_a_fault_all_values_are_the_same() -> None:
    assert len(cases()) > 300
    assert not any(case.wrong() for case in cases())


def test_a_row_has_one_price() -> None:
    """Of rows that have a price together none has one of its own, and all of them are rows."""
    refused = 0
    for case in cases():
        for row in case.rows:
            if not isinstance(row[-1], tuple):
                continue
            first, end = row[-1]
            for other in (first, (end - 1, end), (first, 10**6), (end, first)):
                again = replace(case, rows={**case.rows, (*row[:-1], other): -1})
                assert again.wrong(), (case.segment, row, other)
                refused += 1
    assert refused > 500


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("kind", [*OF_STEPS, *OF_TIME, *OF_ENDS])
def test_a_fault_of_a_row_is_noticed(
    kind: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = [case for case in cases() if any(row[0] == kind for row in case.rows)]
    plant(monkeypatch, kind, fault)
    assert any(case.wrong() for case in some)


@pytest.mark.parametrize("fault", ["later once", "held nowhere"])
def test_a_fault_of_the_room_of_other_pieces_is_noticed(
    fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loads for later take no room after them, or what is held takes none."""
    move = Ends._move

    def wrong(self: Ends, name: str, *arguments: Any, **options: Any) -> None:
        if fault == "later once" and name == "later":
            options["room"] = False
        move(self, name, *arguments, **options)

    monkeypatch.setattr(Ends, "_move", wrong)
    if fault == "held nowhere":
        monkeypatch.setattr(Ends, "_takes", lambda self, quantity, times: None)
    assert any(case.wrong() for case in cases())


def listing_of_stores() -> Listing:
    """Two pieces of four bytes of ``t`` each; the second is computed with the first on chip.

    Where the second reads ``x`` there is room for the first's four bytes of ``t`` and no more, and
    time to store them; where the first does there is no room at all.
    """
    machine = Machine(
        name="two pieces",
        spm_bytes=8,
        dram_bytes_per_s=1,
        clock_hz=1,
        operations_per_s=1,
        page_bytes=1,
    )

    def mode(cycles: int, scratch: int) -> Mode:
        return Mode(compute_cycles=cycles, operands=(Operand(),), scratch_bytes=scratch, macs=0)

    read = ListedOperation(name="read", reads=(0,), writes=(), cut=frozenset({0}))
    write = ListedOperation(name="write", reads=(), writes=(1,), cut=frozenset({1}))
    use = ListedOperation(name="use", reads=(1,), writes=(), cut=frozenset())
    read.modes.update(
        {1: PieceModes(mode(20, 8), mode(20, 8)), 2: PieceModes(mode(10, 8), mode(10, 4))}
    )
    write.modes.update({n: PieceModes(mode(0, 0), mode(0, 0)) for n in (1, 2)})
    use.modes[1] = PieceModes(mode(0, 0), mode(0, 0))
    return Listing(
        name="stores",
        machine=machine,
        tensors=(
            Tensor(name="x", size_bytes=8, in_dram=True, keep=False),
            Tensor(name="t", size_bytes=8, in_dram=False, keep=False),
        ),
        operations=(read, write, use),
        batch=2,
        lowering="custom",
    )


@pytest.mark.parametrize(("name", "least"), [("time", 16), ("traffic", 8)])
def test_bytes_that_stay_are_stored_once_and_take_room_once(name: str, least: int) -> None:
    """All of ``t`` stays, in DRAM too: this earns 8, one each; bytes newer than DRAM are dear.

    The first piece's four are stored while the second reads ``x``, the second's after it is
    computed: 10 + 10 + 4 seconds, or 8 bytes in and 8 out. Were what is stored to take room once
    more, the time would be above that of this schedule; were it not moved, the traffic below.
    """
    listed, segment = listing_of_stores(), Segment(begin=0, end=2, pieces=2)
    objective = objective_named(name, listed.machine)
    prices: Prices = {(2, 1): (2**BITS, 1000 * 2**BITS)}
    value, rows = priced(Listed(listed, objective), segment, prices, fine=True)
    assert value == pytest.approx(least, rel=1e-9)
    exact = segment_bound(
        Liveness(listed),
        segment,
        objective,
        rows,
        BITS,
        carried=Carried(listed, prices),
        fine=True,
    )
    assert exact / 2**BITS == pytest.approx(least, rel=1e-9)


def test_prices_of_a_program_that_counts_room_twice_prove_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At the prices of the right program the verifier's value does not depend on it."""
    moved, since, stored = Borders._moved, Borders._since, list[Ints]()

    def remember(self: Borders, kind: str, *arguments: Any) -> Ints:
        columns = moved(self, kind, *arguments)
        if kind == "stored":
            stored.append(columns)
        return columns

    def twice(self: Borders, several: list[Ints], *arguments: Any, **options: Any) -> None:
        since(self, several if options else [*several, *stored], *arguments, **options)

    monkeypatch.setattr(Borders, "_moved", remember)
    monkeypatch.setattr(Borders, "_since", twice)
    listed, segment = listing_of_stores(), Segment(begin=0, end=2, pieces=2)
    time = objective_named("time", listed.machine)
    prices: Prices = {(2, 1): (2**BITS, 1000 * 2**BITS)}
    value, rows = priced(Listed(listed, time), segment, prices, fine=True)
    assert value > 17
    carried = Carried(listed, prices)
    exact = segment_bound(Liveness(listed), segment, time, rows, BITS, carried=carried, fine=True)
    assert exact <= 16 * 2**BITS


@pytest.mark.parametrize("name", ["batch", "all"])
def test_a_smaller_or_slower_memory_lowers_no_bound(name: str) -> None:
    """Of listings whose modes are the same on each machine."""
    compared = higher = 0
    for seed in some(range(700, 724)):
        listed = random_listing(seed, most=3)
        machine = replace(listed.machine, dram_bytes_per_s=4)
        chain = [
            replace(machine, spm_bytes=machine.spm_bytes + 6),
            machine,
            replace(machine, dram_bytes_per_s=2),
            replace(machine, dram_bytes_per_s=2, spm_bytes=machine.spm_bytes - 3),
        ]
        bounds = []
        for each in chain:
            one = replace(listed, machine=each)
            objective = objective_named(OBJECTIVES[seed % 2], each)
            bounds.append(bound_of(one, objective, one.family(name)))
        for more, less in pairwise(bounds):
            assert less >= more * (1 - 1e-6) - 1e-12, (seed, bounds)
            compared += np.isfinite(less)
            higher += less > more * 1.01
    assert compared > share(30)
    assert higher > share(15)
