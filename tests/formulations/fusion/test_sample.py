"""A few steps of a long plan that stand for all of it."""

from __future__ import annotations

import pytest

from formulations.fusion.sample import sample
from spmopt.core.fusion.fused_groups import FusedGroup, FusionPlan
from spmopt.core.fusion.tileable_graph import TileableGraph, tileable_graph_of, whole
from spmopt.frontends import zoo
from spmopt.graph.tileable import lower_listed
from spmopt.hardware.machines import load_machine

LAYERS = 6


@pytest.fixture(scope="module")
def tileable() -> TileableGraph:
    parameters = {"layers": LAYERS, "hidden": 64, "heads": 2, "sequence": 32}
    network = zoo.network("bert-large", batch=4, **parameters)
    machine = load_machine("small-npu", {"spm": "64KiB"})
    return tileable_graph_of(lower_listed(network, machine, mapper="choose"))


def in_micro_batches(tileable: TileableGraph) -> FusionPlan:
    return tuple(
        next(
            each
            for count in (4, 1)
            for each in [FusedGroup(begin=at, end=at + 1, micro_batches=count)]
            if not tileable.obstacle(each)
        )
        for at in range(len(tileable.operations))
    )


@pytest.mark.parametrize("tiled", [False, True])
def test_one_layer_stands_for_all(tileable: TileableGraph, *, tiled: bool) -> None:
    plan = in_micro_batches(tileable) if tiled else whole(tileable)
    problem, origins = tileable.problem(plan)
    found = sample(problem, origins)
    assert found is not None
    part, own = found
    assert len(part.operations) == len(own) <= 1.5 * len(problem.operations) / LAYERS
    # Nearly all of the work is of kinds that occur in it.
    kinds = {each.mappings for each in part.operations}
    work = [(each.mappings, each.mappings[0].compute_cycles) for each in problem.operations]
    shown = sum(cycles for kind, cycles in work if kind in kinds)
    assert shown >= 0.95 * sum(cycles for _, cycles in work)


def test_steps_are_those_of_the_plan(tileable: TileableGraph) -> None:
    problem, origins = tileable.problem(in_micro_batches(tileable))
    found = sample(problem, origins)
    assert found is not None
    part, own = found
    start = origins.index(own[0])
    for at, (few, every) in enumerate(
        zip(part.operations, problem.operations[start:], strict=False)
    ):
        assert few.mappings is every.mappings
        assert [part.tensors[t].name for t in few.tensors] == [
            problem.tensors[t].name for t in every.tensors
        ]
        assert {start + k for k in few.predecessors} == {
            k for k in every.predecessors if k >= start
        }
        assert own[at] == origins[start + at]
    # A later step reads what is kept.
    names = {t.name for t in part.tensors if t.keep}
    later = {
        problem.tensors[t].name
        for each in problem.operations[start + len(part.operations) :]
        for t in each.reads
    }
    assert {t.name for t in part.tensors} & later <= names


def test_there_is_none_where_no_layers_repeat() -> None:
    network = zoo.network("alexnet", batch=1)
    tileable = tileable_graph_of(lower_listed(network, load_machine("small-npu"), mapper="choose"))
    assert sample(*tileable.problem(whole(tileable))) is None
