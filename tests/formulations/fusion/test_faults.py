"""Faults of rows are noticed, and bounds move as the machine does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from formulations.fusion.boundaries import Boundaries
from formulations.fusion.tileable import Listed
from spmopt.core.errors import InputError
from spmopt.core.fusion.certificate import Row
from spmopt.core.fusion.fused_groups import FusedGroup, TileableOperation, TileMappings
from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.core.machine import Machine
from spmopt.core.objective import Objective, objective_named
from spmopt.core.operation import Operand, OpMapping
from spmopt.core.problem import Tensor
from spmopt.core.table import Ints
from spmopt.verifier.carried import Carried
from spmopt.verifier.fused_group_bound import fused_group_bound
from spmopt.verifier.fused_group_ends import Ends
from spmopt.verifier.fused_group_uses import Liveness
from spmopt.verifier.pricing import Pricing
from tests.formulations.fusion.random_tileable_graph import (
    OBJECTIVES,
    duplex,
    random_tileable_graph,
)
from tests.formulations.fusion.test_carried import BITS, Duals, priced, random_duals
from tests.formulations.fusion.test_fused_groups import bound_of, fused_groups
from tests.thorough import share, some

OF_STEPS = (
    "growth",
    "no loss",
    "write back",
    "arrival",
    "last tile",
    "first read",
    "last store",
    "partial sums",
    "capacity",
)
OF_TIME = ("channel time", "inward time", "outward time", "serial time")
OF_ENDS = (
    *(
        "found in tiles",
        "loads ahead",
        "resident at begin",
        "dirty at begin",
        "capacity at begin",
        "dirty after tiles",
        "resident after tiles",
        "dirty to the end",
        "stores behind",
        "stores of the rest",
    ),
    *(
        "write back of old",
        "old dirty resident",
        "dirty at end",
        "dirty within resident",
        "resident at end",
        "capacity at end",
        "loads for later",
    ),
)
FAULTS = ("row", "sign", "term", "size")
Terms = Iterable[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Priced:
    """A fused group, dual values of its rows and at boundaries, and the value of its program."""

    live: Liveness
    fused_group: FusedGroup
    objective: Objective
    rows: dict[Row, int]
    carried: Carried
    fine: bool
    value: float
    scale: float

    def wrong(self) -> bool:
        """Return whether the verifier finds another value."""
        try:
            exact = fused_group_bound(
                self.live,
                self.fused_group,
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
    """Fused groups of random graphs at random duals of what is carried across boundaries."""
    random, found = np.random.default_rng(5), list[Priced]()
    for seed in some(range(500, 644), 2):
        listed = random_tileable_graph(seed)
        listed = duplex(listed) if seed % 4 == 3 else listed
        objective = objective_named(OBJECTIVES[seed % 3], listed.machine)
        figures, live = Listed(listed, objective), Liveness(listed)
        byte = figures.dearest_row * listed.machine.clock_hz
        duals = random_duals(figures, random)
        for fused_group in fused_groups(listed):
            fine = bool(random.random() < 0.5)
            value, rows = priced(figures, fused_group, duals, fine=fine)
            if np.isfinite(value):
                scale = abs(value) + byte * figures.capacity
                carried = Carried(listed, duals)
                found.append(
                    Priced(live, fused_group, objective, rows, carried, fine, value, scale)
                )
    return found


def plant(monkeypatch: pytest.MonkeyPatch, kind: str, fault: str) -> None:
    """Leave out rows of a kind, or a term of each, turn its sign, or add a byte to a side."""
    add, extend, priced = Pricing.add, Pricing.extend, Pricing._dual_columns
    whole = dict[Pricing, set[int]]()

    def wrong_dual(self: Pricing, name: Row, dual: int, least: int | None, most: int | None) -> int:
        if name[0] != kind:
            return priced(self, name, dual, least, most)
        if fault == "row":
            self._known.add(name)
            return -1
        if fault == "size":
            least, most = (side if side is None else side + 1 for side in (least, most))
        number = priced(self, name, dual, least, most)
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

    monkeypatch.setattr(Pricing, "_dual_columns", wrong_dual)
    monkeypatch.setattr(Pricing, "add", wrong_add)
    monkeypatch.setattr(Pricing, "extend", wrong_extend)


def test_without_a_fault_all_values_are_the_same() -> None:
    assert len(cases()) > share(300, 2)
    assert not any(case.wrong() for case in cases())


def test_a_row_has_one_price() -> None:
    """Of rows that have a dual value together none has one of its own, and all of them are rows."""
    refused = 0
    for case in cases():
        for row in case.rows:
            if not isinstance(row[-1], tuple):
                continue
            first, end = row[-1]
            for other in (first, (end - 1, end), (first, 10**6), (end, first)):
                again = replace(case, rows={**case.rows, (*row[:-1], other): -1})
                assert again.wrong(), (case.fused_group, row, other)
                refused += 1
    assert refused > share(500, 2)


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
        if fault == "later once" and name == "loads for later":
            options["room"] = False
        move(self, name, *arguments, **options)

    monkeypatch.setattr(Ends, "_move", wrong)
    if fault == "held nowhere":
        monkeypatch.setattr(Ends, "_takes", lambda self, quantity, times: None)
    assert any(case.wrong() for case in cases())


def listing_of_stores() -> TileableGraph:
    """Two fusion tiles of four bytes of ``t`` each; the second is computed with the first on chip.

    Where the second reads ``x`` there is room for the first's four bytes of ``t`` and no more, and
    time to store them; where the first does there is no room at all.
    """
    machine = Machine(
        name="two fusion tiles",
        spm_bytes=8,
        dram_bytes_per_s=1,
        clock_hz=1,
        operations_per_s=1,
        page_bytes=1,
    )

    def mapping(cycles: int, scratch: int) -> OpMapping:
        return OpMapping(
            compute_cycles=cycles, operands=(Operand(),), scratch_bytes=scratch, macs=0
        )

    read = TileableOperation(name="read", reads=(0,), writes=(), cut=frozenset({0}))
    write = TileableOperation(name="write", reads=(), writes=(1,), cut=frozenset({1}))
    use = TileableOperation(name="use", reads=(1,), writes=(), cut=frozenset())
    read.mappings.update(
        {
            1: TileMappings(mapping(20, 8), mapping(20, 8)),
            2: TileMappings(mapping(10, 8), mapping(10, 4)),
        }
    )
    write.mappings.update({n: TileMappings(mapping(0, 0), mapping(0, 0)) for n in (1, 2)})
    use.mappings[1] = TileMappings(mapping(0, 0), mapping(0, 0))
    return TileableGraph(
        name="stores",
        machine=machine,
        tensors=(
            Tensor(name="x", size_bytes=8, in_dram=True, keep=False),
            Tensor(name="t", size_bytes=8, in_dram=False, keep=False),
        ),
        operations=(read, write, use),
        batch=2,
        mapper="custom",
    )


@pytest.mark.parametrize(("name", "least"), [("time", 16), ("traffic", 8)])
def test_bytes_that_stay_are_stored_once_and_take_room_once(name: str, least: int) -> None:
    """All of ``t`` stays, in DRAM too: this earns 8, one each; bytes newer than DRAM are dear.

    The first fusion tile's four are stored while the second reads ``x``, the second's after it is
    computed: 10 + 10 + 4 seconds, or 8 bytes in and 8 out. Were what is stored to take room once
    more, the time would be above that of this schedule; were it not moved, the traffic below.
    """
    listed, fused_group = listing_of_stores(), FusedGroup(begin=0, end=2, micro_batches=2)
    objective = objective_named(name, listed.machine)
    duals: Duals = {(2, 1): (2**BITS, 1000 * 2**BITS)}
    value, rows = priced(Listed(listed, objective), fused_group, duals, fine=True)
    assert value == pytest.approx(least, rel=1e-9)
    exact = fused_group_bound(
        Liveness(listed),
        fused_group,
        objective,
        rows,
        BITS,
        carried=Carried(listed, duals),
        fine=True,
    )
    assert exact / 2**BITS == pytest.approx(least, rel=1e-9)


def test_duals_of_a_program_that_counts_room_twice_prove_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At the dual values of the right program the verifier's value does not depend on it."""
    moved, since, stored = Boundaries._move, Boundaries._since, list[Ints]()

    def remember(self: Boundaries, kind: str, *arguments: Any) -> Ints:
        columns = moved(self, kind, *arguments)
        if kind == "stores of the rest":
            stored.append(columns)
        return columns

    def twice(self: Boundaries, several: list[Ints], *arguments: Any, **options: Any) -> None:
        since(self, several if options else [*several, *stored], *arguments, **options)

    monkeypatch.setattr(Boundaries, "_move", remember)
    monkeypatch.setattr(Boundaries, "_since", twice)
    listed, fused_group = listing_of_stores(), FusedGroup(begin=0, end=2, micro_batches=2)
    time = objective_named("time", listed.machine)
    duals: Duals = {(2, 1): (2**BITS, 1000 * 2**BITS)}
    value, rows = priced(Listed(listed, time), fused_group, duals, fine=True)
    assert value > 17
    carried = Carried(listed, duals)
    exact = fused_group_bound(
        Liveness(listed), fused_group, time, rows, BITS, carried=carried, fine=True
    )
    assert exact <= 16 * 2**BITS


@pytest.mark.parametrize("name", ["batch", "all"])
def test_a_smaller_or_slower_memory_lowers_no_bound(name: str) -> None:
    """Of tileable graphs whose mappings are the same on each machine."""
    compared = higher = 0
    for seed in some(range(700, 724)):
        listed = random_tileable_graph(seed, most=3)
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
            bounds.append(bound_of(one, objective, one.fusion_space(name)))
        for more, less in pairwise(bounds):
            assert less >= more * (1 - 1e-6) - 1e-12, (seed, bounds)
            compared += np.isfinite(less)
            higher += less > more * 1.01
    assert compared > share(30)
    assert higher > share(15)
