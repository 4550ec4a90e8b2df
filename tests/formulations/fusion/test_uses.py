"""Tileable graphs whose operations use a tensor in different ways.

Bounds that hold for all fusion plans.
"""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.fusion.paths import FusedGroupArcs
from formulations.fusion.tileable import Listed
from spmopt.core.fusion.certificate import FusionCertificate
from spmopt.core.fusion.fused_groups import FusedGroup, TileableOperation, TileMappings
from spmopt.core.fusion.fusion_space import FusionSpace
from spmopt.core.fusion.row_windows import Rows, Window
from spmopt.core.fusion.stripe_bounds import Skews
from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.core.machine import Machine
from spmopt.core.objective import objective_named
from spmopt.core.operation import REQUIRED_RESIDENT, STREAMED, Operand, OpMapping
from spmopt.core.problem import Tensor
from spmopt.frontends.networks import load_network
from spmopt.graph.build import GraphBuilder
from spmopt.graph.tileable import tileable
from spmopt.hardware.machines import load_machine
from spmopt.verifier.fusion_bound import FusionPlanPath, fusion_bound
from tests.formulations.fusion.random_tileable_graph import fusion_plans, random_tileable_graph
from tests.formulations.fusion.test_fused_groups import relaxed
from tests.thorough import share


def operation(
    name: str, reads: tuple[int, ...], writes: tuple[int, ...], cut: tuple[int, ...]
) -> TileableOperation:
    partial_sums = frozenset(writes) - {*cut}
    return TileableOperation(
        name=name, reads=reads, writes=writes, cut=frozenset(cut), partial_sums=partial_sums
    )


def mapping(*operands: Operand, scratch: int = 0) -> OpMapping:
    return OpMapping(compute_cycles=0, operands=operands, scratch_bytes=scratch)


def tileable_graph_of(
    *operations: TileableOperation, sizes: tuple[int, ...], spm: int, batch: int
) -> TileableGraph:
    machine = Machine(
        name="bytes",
        spm_bytes=spm,
        dram_bytes_per_s=1,
        clock_hz=1,
        operations_per_s=1,
        page_bytes=1,
    )
    written = {t for each in operations for t in each.writes}
    tensors = tuple(
        Tensor(name=f"t{t}", size_bytes=size, in_dram=t not in written, keep=False)
        for t, size in enumerate(sizes)
    )
    return TileableGraph(
        name="uses",
        machine=machine,
        tensors=tensors,
        operations=operations,
        batch=batch,
        mapper="custom",
    )


def least(found: TileableGraph, name: str) -> tuple[float, float]:
    """Return the bound over the fusion space, and what the cheapest of all costs."""
    objective = objective_named(name, found.machine)
    figures = Listed(found, objective)
    arcs = FusedGroupArcs(figures, float(figures.capacity))
    value = arcs.cheapest(lambda: False).value
    exact = float(fusion_bound(found, arcs.certificate()))
    assert exact == pytest.approx(value, rel=1e-6)
    known = [relaxed(found, fusion_plan, objective) for fusion_plan in fusion_plans(found)]
    return exact, min(value[1] for value in known if value is not None)


@pytest.mark.parametrize("name", ["time", "traffic"])
def test_what_a_fused_group_cuts_is_whole_to_none_of_its_operations(name: str) -> None:
    """One reads a fusion tile of ``t0``, the other all of it for each fusion tile: 4 bytes and 16.

    They would be 16 and 16 were it whole to both, and 56 where neither is fused.
    """
    read = operation("read", (0,), (1,), (0, 1))
    use = operation("use", (1, 0), (), (1,))
    for each in (read, use):
        for micro_batches in (1, 2, 4):
            one = mapping(STREAMED, STREAMED)
            each.mappings[micro_batches] = TileMappings(one, one)
    found = tileable_graph_of(read, use, sizes=(4, 32), spm=8, batch=4)
    assert "t0 is cut in the fused group" in found.obstacle(
        FusedGroup(begin=0, end=2, micro_batches=4)
    )
    assert not found.obstacle(FusedGroup(begin=0, end=2))
    exact, value = least(found, name)
    assert exact <= value * (1 + 1e-9)


def test_a_graph_may_have_such_an_input() -> None:
    """Of time, batch and width: cut where its axes change places, whole as a matrix of vectors."""
    b = GraphBuilder("whole")
    x, u = b.input("x", (3, 4, 4)), b.input("u", (4, 12))
    turned = b.add("Transpose", [x], name="turned", perm=(1, 0, 2))
    rows = b.add("Reshape", [x], name="rows", shape=(12, 4))
    y = b.add("MatMul", [u, rows], name="y")
    flat = b.add("Reshape", [turned], name="flat", shape=(4, 12))
    joined = b.add("Concat", [flat, y], name="joined", axis=1)
    found = tileable(b.finish([b.add("Relu", [joined], name="z")]), load_machine("rtx2080ti"))
    assert found.batch == 4
    assert all(4 in each.mappings for each in found.operations)
    assert "x is cut in the fused group" in found.obstacle(
        FusedGroup(begin=0, end=2, micro_batches=4)
    )
    assert not found.obstacle(FusedGroup(begin=1, end=4, micro_batches=4))


def test_nor_do_stripes_cut_what_is_whole_to_one() -> None:
    rows = Rows(count=4, windows={2: Window(size=4)})
    some = [
        TileableOperation(name="a", reads=(0,), writes=(1,), cut=frozenset({0, 1}), rows=rows),
        TileableOperation(name="b", reads=(0,), writes=(2,), cut=frozenset({2}), rows=rows),
    ]
    assert Skews(some, 2).reach == [1, 2]


def test_a_sum_that_is_begun_whole_is_the_operand_that_its_mode_says() -> None:
    """Later tiles read the sum ``t1`` first, so that its mapping has another place in theirs."""
    both = operation("both", (0,), (2, 1), (0, 2))
    assert both.uses(0) != both.uses(1)
    first = mapping(STREAMED, REQUIRED_RESIDENT, STREAMED)
    both.mappings[1] = TileMappings(first, first)
    exact, value = least(tileable_graph_of(both, sizes=(4, 12, 4), spm=8, batch=2), "traffic")
    assert exact <= value * (1 + 1e-9)


def test_a_family_of_few_products_has_few_in_stripes_of_one_piece() -> None:
    """As the bound over it has it."""
    b = GraphBuilder("two products")
    x = b.input("x", (1, 2, 8, 2))
    for k in range(2):
        x = b.add("Conv", [x, b.weight(f"w{k}", (2, 2, 1, 1))], name=f"c{k}")
    found = tileable(b.finish([x]), load_machine("rtx2080ti"))
    fusion_space = FusionSpace(name="few", micro_batches=(1,), stripes=(1, 2), most_products=1)
    striped = FusedGroup(begin=0, end=2, stripes=2)
    assert not found.obstacle(striped)
    assert "2 matrix products in 2 fusion tiles" in found.outside(fusion_space, (striped,))
    assert not found.outside(fusion_space, (FusedGroup(begin=0, end=2),))


@settings(max_examples=share(30), deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 10**6), st.booleans())
def test_bytes_that_come_and_go_in_any_case_are_all_where_everything_fits(
    seed: int, which: int, few: bool
) -> None:
    """No fusion plan costs less; nor, with a scratchpad that holds all, more of traffic."""
    found = random_tileable_graph(seed)
    every = list(fusion_plans(found))
    fusion_plan = every[which % len(every)]
    if not few:
        found = replace(found, machine=replace(found.machine, spm_bytes=10**4))
    for name in ("traffic", "time"):
        objective = objective_named(name, found.machine)
        value = relaxed(found, fusion_plan, objective)
        if value is None:
            assert few
            return
        proof = FusionCertificate(
            fusion_space=found.fusion_space(), objective=objective, bits=60, duals={}
        )
        least = float(FusionPlanPath(found, proof).compulsory())
        assert least == pytest.approx(Listed(found, objective).compulsory, rel=1e-9)
        assert least <= value[1] * (1 + 1e-9)
        if name == "traffic" and not few:
            assert least >= value[0] * (1 - 1e-6)


def test_operations_that_are_alike_share_their_uses_but_for_tensors() -> None:
    graph = load_network("bert-tiny", batch=2, training=True)
    found = tileable(graph, load_machine("small-npu"), mapper="choose")
    for listed in Listed(
        pickle.loads(pickle.dumps(found)), objective_named("time", found.machine)
    ).axes:
        for at, operation in enumerate(listed.tileable.operations):
            for count in {*operation.mappings} & {*listed.micro_batches}:
                alone = tuple(listed._uses.alone(at, count))
                assert listed.mappings(at, count) == alone, (listed.tileable.along, at, count)
                own = replace(listed.tileable, operations=(operation,), others=())
                assert own.fits(0, count) == listed.tileable.fits(at, count)
