"""Bounds over fusion plans with stripes: never above a schedule, and found the same twice."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from itertools import islice, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from formulations.fusion.agreement import Agreement
from formulations.fusion.boundary_duals import BoundaryDuals, PricedFusedGroup
from formulations.fusion.fused_group import FusedGroupProgram
from formulations.fusion.paths import FusedGroupArcs
from formulations.fusion.tileable import Listed
from spmopt.core.errors import InfeasibleError, InputError
from spmopt.core.fusion.certificate import FusionCertificate
from spmopt.core.fusion.fused_groups import FusedGroup, FusionPlan
from spmopt.core.fusion.fusion_space import FusionSpace
from spmopt.core.fusion.stripe_bounds import Skews, Striped, UsePattern, follow, tabulate
from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.core.objective import TRAFFIC, Objective, objective_named
from spmopt.core.operation import OpMapping
from spmopt.frontends import zoo
from spmopt.frontends.zoo.layers import NetworkBuilder
from spmopt.graph.build import GraphBuilder
from spmopt.graph.in_place import update_in_place
from spmopt.graph.tileable import tileable
from spmopt.hardware.machines import load_machine
from spmopt.verifier.fusion_bound import FusionPlanPath, fusion_bound
from tests.checked import need
from tests.formulations.fusion.random_tileable_graph import fusion_plans as every_fusion_plan
from tests.formulations.fusion.test_carried import BITS, Duals, priced, random_duals
from tests.formulations.fusion.test_fused_groups import relaxed
from tests.graph.feature_maps import feature_maps
from tests.thorough import share

PATH = import_module("spmopt.verifier.fusion_bound")
STRIPES = (1, 2, 3, 4)
MACHINE = load_machine("rtx2080ti", {"spm": "4MB"})


def fusion_plans(found: TileableGraph) -> Iterator[FusionPlan]:
    """Yield all fusion plans, those with many stripes and long groups first."""
    ways = [(found.batch, stripes, 0) for stripes in (3, 2, 4, 1)] + [(1, 1, 0)]
    return every_fusion_plan(found, ways=ways, longest_first=True)


def in_stripes(found: TileableGraph, objective: Objective) -> Listed:
    """Return the figures of all fusion plans of one and of all images, in stripes."""
    micro_batches = tuple(sorted({1, found.batch}))
    return Listed(
        found,
        objective,
        FusionSpace(name="all", micro_batches=micro_batches, stripes=STRIPES),
    )


@st.composite
def small(draw: st.DrawFn) -> TileableGraph:
    """A few windows on a machine that holds some rows of them."""
    machine = replace(
        MACHINE,
        spm_bytes=draw(st.sampled_from((64, 128, 256, 512, 1024))),
        page_bytes=draw(st.sampled_from((1, 16))),
        operations_per_s=10 ** draw(st.integers(8, 12)),
        duplex=draw(st.booleans()),
    )
    # Of many rows a full scratchpad at both ends does not hide what is taken twice.
    maps = feature_maps(most=4, height=10, width=2) | feature_maps(most=3, height=48, width=2)
    graph = draw(maps)
    mapper = draw(st.sampled_from(("tiled", "choose")))
    graph = update_in_place(graph) if draw(st.booleans()) else graph
    return tileable(graph, machine, mapper=mapper)


@settings(max_examples=share(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_modes_of_stripes_are_those_that_another_process_is_sent(data: st.DataObject) -> None:
    found = data.draw(small())
    sent = pickle.loads(pickle.dumps(tabulate(found, STRIPES)))
    assert Striped(sent, STRIPES).tileable == Striped(found, STRIPES).tileable
    for fused_group in {
        each for fusion_plan in islice(fusion_plans(found), 40) for each in fusion_plan
    }:
        if fused_group.stripes > 1:
            assert follow(sent, fused_group) == follow(found, fused_group), fused_group


@settings(max_examples=share(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_no_fusion_plan_with_stripes_is_below_the_bound(data: st.DataObject) -> None:
    """Nor below the sum of its fused groups' values; what dual values prove is what was found."""
    found = data.draw(small())
    objective = objective_named(
        data.draw(st.sampled_from(("time", "traffic", "energy"))), found.machine
    )
    # Of a byte: what a solver takes for nothing.
    tiny = 1e-9 * max(objective.cycle / found.machine.bytes_per_cycle, objective.dram_in_byte)
    arcs = FusedGroupArcs(in_stripes(found, objective), float(found.machine.spm_bytes))
    some = [*islice(fusion_plans(found), 0, data.draw(st.integers(6, 60)), 6)]
    values = {fusion_plan: relaxed(found, fusion_plan, objective) for fusion_plan in some}
    try:
        least = arcs.cheapest(lambda: False).value
    except InfeasibleError:
        assert not any(values.values())
        return
    exact = float(fusion_bound(found, arcs.certificate()))
    assert exact == pytest.approx(least, rel=1e-6, abs=float(tiny))
    for fusion_plan, value in values.items():
        if value is None:
            continue
        arcs.solve(fusion_plan)
        slack = 1e-6 * value[1] + float(tiny)
        assert (
            sum(arcs.solved[fused_group].value for fused_group in fusion_plan) <= value[1] + slack
        ), fusion_plan
        assert exact <= value[1] + slack, fusion_plan


@settings(max_examples=share(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_no_fusion_plan_with_stripes_costs_less_than_its_fused_groups_at_any_duals(
    data: st.DataObject,
) -> None:
    """What is carried across boundaries cancels; duals of rows prove what the program says."""
    found = data.draw(small())
    objective = objective_named(
        data.draw(st.sampled_from(("time", "traffic", "energy"))), found.machine
    )
    figures, random = in_stripes(found, objective), np.random.default_rng(len(found.tensors))
    byte = figures.dearest_row * found.machine.clock_hz
    duals = random_duals(figures, random)
    certificate = FusionCertificate(
        fusion_space=figures.fusion_space, objective=objective, bits=BITS, duals={}, carried=duals
    )
    path = FusionPlanPath(found, certificate)
    for fusion_plan in islice(fusion_plans(found), 0, data.draw(st.integers(6, 60)), 6):
        value = relaxed(found, fusion_plan, objective)
        if value is None:
            continue
        total = 0.0
        for fused_group in fusion_plan:
            costs, rows = priced(figures, fused_group, duals, fine=False)
            exact = path._value(fused_group, rows, agreed=True) / 2**path.bits
            scale = abs(costs) + byte * figures.capacity
            # Paths may be tighter than the program.
            assert exact >= costs - 1e-7 * scale, fused_group
            total += exact
        assert total <= value[1] * (1 + 1e-6) + 1e-9 * byte, fusion_plan


@settings(max_examples=share(20), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(small(), st.sampled_from(("time", "traffic")), st.booleans())
def test_bounds_of_fusion_plans_with_stripes_rise_and_are_proved(
    found: TileableGraph, name: str, fine: bool
) -> None:
    objective = objective_named(name, found.machine)
    figures = in_stripes(found, objective)
    arcs = FusedGroupArcs(figures, float(figures.capacity), split=True)
    try:
        plain = arcs.cheapest(lambda: False).value
    except InfeasibleError:
        return
    search = Agreement(arcs, fine=fine)
    for _ in islice(search.steps(), 8):
        pass
    exact = float(fusion_bound(found, search.certificate()[0]))
    # Paths may be tighter than the program.
    assert exact >= max(search.best, figures.compulsory) * (1 - 1e-6) - 1e-12
    assert exact >= plain * (1 - 1e-6) - 1e-12
    for fusion_plan in islice(fusion_plans(found), 0, 30, 6):
        value = relaxed(found, fusion_plan, objective)
        assert value is None or exact <= value[1] * (1 + 1e-6) + 1e-12, fusion_plan


@settings(max_examples=share(400), deadline=None)
@given(small())
def test_boundaries_of_all_begins_are_those_of_each(found: TileableGraph) -> None:
    """And the mappings of a bound have the least sums of all of them."""
    compare_boundaries(found)


def test_boundaries_where_a_map_is_updated_in_place_are_those_of_each() -> None:
    b = GraphBuilder("updated")
    x = b.input("x", (1, 2, 16, 2))
    for k in range(3):
        y = b.add("Conv", [x, b.weight(f"w{k}", (2, 2, 3, 1))], name=f"c{k}", pads=(1, 0, 1, 0))
        x = b.add("Relu", [y], name=f"r{k}")
    found = tileable(update_in_place(b.finish([x])), MACHINE)
    assert len(found.tensors) == 1 + 3 + 3
    assert Skews(found.operations, 4).reach == [6] * 6
    compare_boundaries(found)


def compare_boundaries(found: TileableGraph) -> None:
    count = len(found.operations)
    for stripes in STRIPES[1:]:
        skews, striped = Skews(found.operations, stripes), Striped(found, (1, stripes))
        micro_batches = found.batch * stripes
        seen: list[set[tuple[int, ...]]] = [set() for _ in range(count)]
        for begin, last in enumerate(skews.reach):
            for end in range(begin + 1, count + 1):
                fused_group = FusedGroup(
                    begin=begin, end=end, micro_batches=found.batch, stripes=stripes
                )
                assert bool(found.obstacle(fused_group)) == (end > last)
            if last > begin:
                whole = FusedGroup(
                    begin=begin, end=last, micro_batches=found.batch, stripes=stripes
                )
                exact, alone, _ = follow(found, whole)
                for at, own in enumerate(found.boundaries(whole), begin):
                    seen[at].add(own)
                    least = striped.tileable.operations[at].mappings[micro_batches]
                    mine = exact.operations[at].mappings[alone.micro_batches]
                    assert total(found, at, own) == mine.first.compute_cycles + (
                        (micro_batches - 1) * mine.later.compute_cycles
                    )
                    assert total(found, at, own) >= least.first.compute_cycles + (
                        (micro_batches - 1) * least.later.compute_cycles
                    )
        assert [set(each) for each in skews.boundaries] == seen


def total(found: TileableGraph, at: int, own: tuple[int, ...]) -> int:
    """Cycles of all stripes of an operation, each in its fastest mapping."""
    choices = [need(found.stripe_mappings)(at, *stripe) for stripe in pairwise(own)]
    return found.batch * sum(min(each.compute_cycles for each in some) for some in choices)


def residual(*, before: bool = False) -> TileableGraph:
    """Two windows of three rows, and a sum with their input, of two images of twelve rows."""
    b = GraphBuilder("residual")
    x = b.input("x", (2, 1, 12, 1))
    x = y = b.add("Relu", [b.add("Relu", [x], name="p") if before else x], name="r")
    for k in range(2):
        y = b.add("Conv", [y, b.weight(f"w{k}", (1, 1, 3, 1))], name=f"c{k}", pads=(1, 0, 1, 0))
    y = b.add("Add", [y, x], name="sum")
    y = b.add("Add", [y, x], name="last") if before else y
    return tileable(b.finish([y]), replace(MACHINE, spm_bytes=512, page_bytes=1))


def test_patterns_say_in_which_stripes_rows_are_used() -> None:
    found = residual()
    fused_group = FusedGroup(begin=0, end=4, micro_batches=2, stripes=3)
    boundaries = [(0, 4, 8, 12), (0, 3, 7, 12), (0, 2, 6, 12), (0, 2, 6, 12)]
    assert found.boundaries(fused_group) == boundaries
    _, whole, patterns = follow(found, fused_group)
    assert whole.micro_batches == 6
    rows = {
        found.tensors[tensor].name: {each.uses: [size // 4 for size in each.sizes] for each in own}
        for tensor, own in patterns.items()
    }
    # Made in step 0, read by the first window in step 1, and by the sum in step 3: the last two of
    # four rows are in the halo of the next stripe, and wait for its sum.
    assert rows["r"] == {
        (0, 1, 3): [2, 2, 4] * 2,
        (0, 1, 5, 7): [2, 2, 0] * 2,
    }
    assert rows["c0"] == {(1, 2): [1, 2, 5] * 2, (1, 2, 6): [2, 2, 0] * 2}
    assert rows["x"] == {(0,): [4, 4, 4] * 2}
    # The sum is updated in place.
    assert rows["sum"] == {(2, 3): [2, 4, 6] * 2}


@pytest.mark.parametrize("rows", [1, -1])
@pytest.mark.parametrize("begin", [1, 2])
def test_bytes_of_patterns_are_proved_as_many_as_there_are(
    begin: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row more or less of ``r`` proves another value: where it is made, and where it is read."""
    found = residual(before=True)
    traffic = objective_named("traffic", found.machine)
    fused_group = FusedGroup(begin=begin, end=5, micro_batches=2, stripes=3)
    figures = Listed(found, traffic, FusionSpace(name="all", micro_batches=(1, 2), stripes=(1, 3)))
    duals: Duals = {
        (boundary, group): (3 * 2**BITS // 4, 2**BITS // 4)
        for boundary, crossed in enumerate(figures.crossing)
        for group in crossed
    }
    costs, row_duals = priced(figures, fused_group, duals, fine=False)
    given = PATH.fused_group_bound
    (r,) = (at for at, tensor in enumerate(found.tensors) if tensor.name == "p")

    def wrong(*arguments: Any, patterns: dict[int, list[UsePattern]], **options: Any) -> int:
        first, *others = patterns[r]
        sizes = first.sizes[0] + 4 * rows, *first.sizes[1:]
        changed = patterns | {r: [first._replace(sizes=sizes), *others]}
        return int(given(*arguments, patterns=changed, **options))

    certificate = FusionCertificate(
        fusion_space=figures.fusion_space, objective=traffic, bits=BITS, duals={}, carried=duals
    )
    path = FusionPlanPath(found, certificate)
    right = path._value(fused_group, row_duals, agreed=True) / 2**path.bits
    assert right == pytest.approx(costs, rel=1e-9)
    monkeypatch.setattr(PATH, "fused_group_bound", wrong)
    assert path._value(fused_group, row_duals, agreed=True) / 2**path.bits != pytest.approx(
        right, rel=1e-6
    )


@pytest.mark.parametrize("stripes", [2, 3, 4])
def test_rows_that_wait_for_a_window_take_room_or_come_again(stripes: int) -> None:
    """A program of two stripes is as good as one of each stripe and row; of uneven ones, no less.

    The latter have the least figures of all stripes.
    """
    net = NetworkBuilder("skip", element_type="int8")
    x = net.input("x", (1, 4, 8, 8))
    y = net.conv("conv", x, 4, 3, pad=1)
    graph = update_in_place(net.finish([net.layer("Add", "sum", y, x)]))
    ratios = []
    for size in (96, 128, 160, 192, 224, 256, 320):
        machine = replace(MACHINE, spm_bytes=size, page_bytes=1)
        found = tileable(graph, machine, mapper="tiled")
        plan = (FusedGroup(begin=0, end=2, micro_batches=found.batch, stripes=stripes),)
        value = need(relaxed(found, plan, TRAFFIC))
        listed, own = in_stripes(found, TRAFFIC).of_stripes(plan[0])
        ratios.append(FusedGroupProgram(listed, own, float(size)).solve().value / value[1])
    assert max(ratios) <= 1 + 1e-6, ratios
    assert min(ratios) >= (1 - 1e-6 if stripes == 2 else 0.75), ratios


def test_rows_of_a_halo_count_once() -> None:
    """They may stay: an image of 48 rows in 8 stripes moves no more than in one, and no less."""
    b = GraphBuilder("halo")
    x, w = b.input("x", (1, 2, 48, 2)), b.weight("w", (2, 2, 5, 1))
    graph = b.finish([b.add("Conv", [x, w], name="y", pads=(2, 0, 2, 0))])
    found = tileable(graph, replace(MACHINE, spm_bytes=192, page_bytes=1), mapper="panel")
    traffic = objective_named("traffic", found.machine)
    fusion_plan = (FusedGroup(begin=0, end=1, stripes=8),)
    arcs = FusedGroupArcs(Listed(found, traffic), float(found.machine.spm_bytes))
    arcs.solve(fusion_plan)
    value = need(relaxed(found, fusion_plan, traffic))
    assert 0.7 * value[1] <= arcs.solved[fusion_plan[0]].value <= value[1] * (1 + 1e-6)


def test_stripes_that_fit_in_some_fused_group_only_have_no_value_in_others() -> None:
    """Of even ones the last takes more scratch than there is; of others the program is solved."""
    b = GraphBuilder("two")
    x = b.add("Relu", [b.input("x", (1, 1, 8, 1))], name="r")
    w = b.weight("w", (1, 1, 3, 1))
    found = tileable(b.finish([b.add("Conv", [x, w], name="c", pads=(1, 0, 1, 0))]), MACHINE)
    given = need(found.stripe_mappings)

    def mappings(at: int, begin: int, end: int) -> tuple[OpMapping, ...]:
        dear = (at, begin) == (1, 4)
        scratch_bytes = 3 * MACHINE.spm_bytes if dear else 0
        return (replace(given(at, begin, end)[0], scratch_bytes=scratch_bytes),)

    found = replace(found, stripe_mappings=mappings)
    alone, both = FusedGroup(begin=1, end=2, stripes=2), FusedGroup(begin=0, end=2, stripes=2)
    assert found.boundaries(alone)[-1] == (0, 4, 8)
    assert found.boundaries(both)[-1] == (0, 3, 8)
    figures = Listed(found, objective_named("time", found.machine))
    arcs = FusedGroupArcs(figures, float(figures.capacity), split=True)
    arcs.solve((alone, both))
    assert arcs.solved[alone].value == np.inf
    assert 0 < arcs.solved[both].value < np.inf
    priced_alone = PricedFusedGroup(figures, alone, BoundaryDuals(figures), fine=False)
    priced_alone.solve(np.ones(BoundaryDuals(figures).count))
    assert priced_alone.value == np.inf


def test_stripes_beyond_the_rows_there_are_take_no_time() -> None:
    found = tileable(zoo.network("mobilenetv2", batch=1), MACHINE)
    striped = Striped(found, (1, 10**12))
    assert striped.reach == {10**12: list(range(len(found.operations)))}
    assert "in some of 1000000000000 stripes" in found.obstacle(
        FusedGroup(begin=0, end=1, stripes=10**12)
    )


def test_what_is_whole_to_a_stripe_has_no_rows_in_it() -> None:
    """A vector with rows that no channel has; an operand that is read by rows and whole."""
    b = GraphBuilder("vector", element_type="int8")
    x, g = b.input("x", (1, 16, 64)), b.input("g", (16, 1))
    y = b.add("MatMul", [b.weight("a", (16, 16)), b.add("Add", [x, g])], name="product")
    vector = tileable(b.finish([b.add("Add", [y, g])]), MACHINE)
    b = GraphBuilder("square", element_type="int8")
    x = b.add("MaxPool", [b.input("x", (2, 3, 6, 6))], kernel_shape=(3, 1), pads=(1, 0, 1, 0))
    square = tileable(b.finish([b.add("MatMul", [x, x], name="square")]), MACHINE)
    for found in (vector, square):
        for operation in found.operations:
            assert operation.rows is None or operation.rows.windows.keys() <= operation.cut
    assert "square cannot be cut" in square.obstacle(
        FusedGroup(begin=0, end=2, micro_batches=2, stripes=2)
    )
    first, *others = square.operations
    broken = replace(first, cut=frozenset())
    with pytest.raises(InputError, match=r"stripes take rows of .*, which is whole to each"):
        replace(square, operations=(broken, *others))


def test_no_further_axis_is_that_of_the_rows() -> None:
    """Fusion tiles of rows and stripes of the same rows would be a grid of parts that are none."""
    b = GraphBuilder("rows", element_type="int8")
    x, g = b.input("x", (1, 2, 256)), b.input("g", (2, 1))
    y = b.add("MatMul", [b.weight("a", (2, 2)), b.add("Add", [x, g])])
    y = b.add("Add", [y, g])
    for _ in range(3):
        y = b.add("MaxPool", [y], kernel_shape=(3,), pads=(1, 1))
    found = tileable(b.finish([y]), MACHINE)
    assert any(each.rows is not None for each in found.operations)
    assert [each.along for each in found.others] == []
