"""Faults of the bound of a fused group are noticed, and bounds move as the machine does."""

from __future__ import annotations

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
from spmopt.verifier import tile_paths
from spmopt.verifier.carried import Carried
from spmopt.verifier.dual_check import INFINITE, CheckedDuals
from spmopt.verifier.fused_group_bound import fused_group_bound
from spmopt.verifier.fused_group_ends import Ends
from spmopt.verifier.fused_group_uses import Liveness
from spmopt.verifier.paths import D, N, R
from tests.formulations.fusion.random_tileable_graph import (
    OBJECTIVES,
    drawn,
    duplex,
    fusion_plans,
    random_tileable_graph,
)
from tests.formulations.fusion.test_carried import BITS, Duals, priced, random_duals
from tests.formulations.fusion.test_fused_groups import bound_of, fused_groups, relaxed
from tests.thorough import share, some

STAYING: Duals = {(2, 1): (2**BITS, 1000 * 2**BITS)}
"""Of bytes that stay: they earn one each, and bytes newer than DRAM are dear."""


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

    def exact(self) -> float:
        """Return the value that the verifier proves."""
        duals, fine = self.rows, self.fine
        bound = fused_group_bound(
            self.live,
            self.fused_group,
            self.objective,
            duals,
            BITS,
            carried=self.carried,
            fine=fine,
        )
        return float(bound / 2**BITS)

    def weak(self) -> bool:
        """Return whether that is less than the value of the program, whose paths are looser."""
        return self.exact() < self.value - 1e-6 * self.scale


@cache
def cases() -> list[Priced]:
    """Fused groups of random graphs at random duals of what is carried across boundaries."""
    random, found = np.random.default_rng(5), list[Priced]()
    for seed in some(range(500, 644), 4):
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


@cache
def plans() -> list[tuple[float, list[Priced]]]:
    """Fusion plans of random graphs: the value of the relaxation, and their fused groups."""
    random, found = np.random.default_rng(6), list[tuple[float, list[Priced]]]()
    for seed in some(range(500, 580), 4):
        listed, objective, figures = drawn(seed)
        live, few = Liveness(listed), list(fusion_plans(listed))
        random.shuffle(few)
        for fusion_plan in few[:4]:
            value = relaxed(listed, fusion_plan, objective)
            if value is None:
                continue
            duals = random_duals(figures, random)
            fine, carried = bool(random.random() < 0.5), Carried(listed, duals)
            groups = [
                Priced(live, each, objective, rows, carried, fine, least, abs(least) + value[1])
                for each in fusion_plan
                for least, rows in [priced(figures, each, duals, fine=fine)]
            ]
            found.append((value[1], groups))
    return found


def false() -> bool:
    """Return whether the values of the groups of some plan are more than a schedule of it costs."""
    return any(
        sum(each.exact() for each in groups) > value * (1 + 1e-6) + 1e-12
        for value, groups in plans()
    )


def test_without_a_fault_no_value_is_below_its_program_and_no_sum_above_a_schedule() -> None:
    assert len(cases()) > share(300, 4)
    assert not any(case.weak() for case in cases())
    better = sum(case.exact() > case.value + 1e-4 * case.scale for case in cases())
    assert better > share(20, 4)
    assert len(plans()) > share(60, 4)
    assert not false()


def whole_once(tables: Ints, times: int) -> Ints:
    return tables


def held_for_nothing(duals: CheckedDuals, first: Ints, end: Ints) -> Ints:
    nothing = np.zeros_like(duals.hold)
    return TABLE(replace(duals, hold=nothing, held=np.zeros_like(duals.held)), first, end)


def lost(duals: CheckedDuals, first: Ints, end: Ints) -> Ints:
    found: Ints = TABLE(duals, first, end)
    found[D, N] = 0
    return found


def unpaid(self: Ends, shift: int) -> tuple[Ints, Ints]:
    found, left = COSTS(self, shift)
    found[R] = np.where(found[R] < INFINITE, np.minimum(found[R], 0), found[R])
    return found, left


def empty(self: Ends, shift: int) -> tuple[Ints, Ints]:
    found, left = COSTS(self, shift)
    found[R], found[D] = INFINITE, INFINITE
    return found, left


TABLE, COSTS = tile_paths._table, Ends.costs
FAULTS: dict[str, tuple[Any, str, Any]] = {
    "what is whole is used by one fusion tile": (tile_paths, "_power", whole_once),
    "bytes between uses take no room": (tile_paths, "_table", held_for_nothing),
    "bytes newer than DRAM are lost": (tile_paths, "_table", lost),
    "bytes found cost nothing": (Ends, "costs", unpaid),
    "nothing is found": (Ends, "costs", empty),
    "full scratchpads cost nothing": (Ends, "constant", 0),
    "what is never written is newer": (Carried, "newer", lambda *_: True),
    "nothing is newer": (Carried, "newer", lambda *_: False),
    "the scratch buffer takes no room": (Machine, "pages", lambda *_: 0),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_noticed(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It proves less than the program, or more than a schedule costs."""
    # Made before the fault is there.
    assert len(cases())
    assert len(plans())
    monkeypatch.setattr(*FAULTS[fault])
    assert false() or any(case.weak() for case in cases())


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


@pytest.mark.parametrize(
    ("row", "dual", "word"),
    [
        (("capacity", 0, 0), 1, "wrong sign"),
        (("channel time", 0, 0), -1, "wrong sign"),
        (("channel time", 0, 0), 2**BITS + 1, "too high"),
        (("capacity", 0, 2), -1, "no row is called"),
        (("capacity", 1, 0), -1, "no row is called"),
        (("growth", 0, 0, 0), -1, "no row is called"),
        (("dirty at end", 7), -1, "no row is called"),
    ],
)
def test_duals_that_prove_nothing_are_refused(row: Row, dual: int, word: str) -> None:
    listed, fused_group = listing_of_stores(), FusedGroup(begin=0, end=2, micro_batches=2)
    time = objective_named("time", listed.machine)
    with pytest.raises(InputError, match=word):
        fused_group_bound(Liveness(listed), fused_group, time, {row: dual}, BITS)


@pytest.mark.parametrize("digits", [100, 1000])
@pytest.mark.parametrize("row", [("capacity", 0, 0), ("resident at end", -2), ("dirty at end", -2)])
def test_huge_duals_prove_next_to_nothing(row: Row, digits: int) -> None:
    """They overflow nothing."""
    listed, fused_group = listing_of_stores(), FusedGroup(begin=0, end=2, micro_batches=2)
    time = objective_named("time", listed.machine)
    for sign in (1, -1)[row[0] == "capacity" :]:
        rows = {row: sign * 10**digits}
        exact = fused_group_bound(Liveness(listed), fused_group, time, rows, BITS)
        assert exact <= 24 * 2**BITS


@pytest.mark.parametrize(("name", "least"), [("time", 16), ("traffic", 8)])
def test_bytes_that_stay_are_stored_once_and_take_room_once(name: str, least: int) -> None:
    """All of ``t`` stays, in DRAM too: this earns 8, one each; bytes newer than DRAM are dear.

    The first fusion tile's four are stored while the second reads ``x``, the second's after it is
    computed: 10 + 10 + 4 seconds, or 8 bytes in and 8 out. Were what is stored to take room once
    more, the time would be above that of this schedule; were it not moved, the traffic below.
    """
    listed, fused_group = listing_of_stores(), FusedGroup(begin=0, end=2, micro_batches=2)
    objective = objective_named(name, listed.machine)
    value, rows = priced(Listed(listed, objective), fused_group, STAYING, fine=True)
    assert value == pytest.approx(least, rel=1e-9)
    exact = fused_group_bound(
        Liveness(listed),
        fused_group,
        objective,
        rows,
        BITS,
        carried=Carried(listed, STAYING),
        fine=True,
    )
    assert exact / 2**BITS == pytest.approx(least, rel=1e-9)


def test_duals_of_a_program_that_counts_room_twice_prove_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At the dual values of the right program the verifier's value does not depend on it."""
    moved, since = Boundaries._move, Boundaries._since
    stored, calls = list[Ints](), list[int]()

    def remember(self: Boundaries, *arguments: Any) -> list[Ints]:
        columns = moved(self, *arguments)
        if columns is not None and len(calls) % 4 == 2:  # the third: stores of the rest
            stored.extend(columns)
        calls.append(1)
        return columns

    def twice(self: Boundaries, several: list[Ints], *arguments: Any, **options: Any) -> None:
        since(self, several if options else [*several, *stored], *arguments, **options)

    monkeypatch.setattr(Boundaries, "_move", remember)
    monkeypatch.setattr(Boundaries, "_since", twice)
    listed, fused_group = listing_of_stores(), FusedGroup(begin=0, end=2, micro_batches=2)
    time = objective_named("time", listed.machine)
    value, rows = priced(Listed(listed, time), fused_group, STAYING, fine=True)
    assert value > 17
    carried = Carried(listed, STAYING)
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
