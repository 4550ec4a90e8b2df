"""A batch that few numbers divide is cut into uneven tiles, as images are into stripes of rows."""

from __future__ import annotations

from itertools import islice
from math import inf
from random import Random

import pytest

import spmopt
from spmopt.core.fusion.fused_groups import FusedGroup
from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.core.graph import Graph
from spmopt.core.objective import objective_named
from spmopt.core.problem import Problem
from spmopt.core.scheduler import Request
from spmopt.frontends import zoo
from spmopt.graph.build import GraphBuilder
from spmopt.graph.lower import lower
from spmopt.graph.tileable import lower_listed, tileable
from spmopt.graph.training import training_graph
from spmopt.solving import solve
from spmopt.verifier.fusion_tiles import check_fusion
from tests.checked import need
from tests.execution.executed import check_parts
from tests.formulations.fusion.random_tileable_graph import fusion_plans
from tests.thorough import some
from tests.verifier.test_fusion_tiles import maps_of


def perceptron(batch: int, layers: int = 2, element_type: str = "int8") -> Graph:
    b = GraphBuilder("perceptron", element_type=element_type)
    x = b.input("x", (batch, 12))
    for k in range(layers):
        x = b.add("Gemm", [x, b.weight(f"w{k}", (12, 12)), b.weight(f"b{k}", (12,))], name=f"y{k}")
        x = b.add("Softmax", [x], name=f"s{k}", axis=-1) if k else x
    return b.finish([x])


def transformer(tokens: int) -> Graph:
    sizes = {"layers": 1, "hidden": 16, "heads": 2, "vocabulary": 20}
    return zoo.network("gpt2", batch=1, sequence=tokens, **sizes)


def listed(graph: Graph) -> TileableGraph:
    return tileable(graph, spmopt.machine("small-npu", spm="4KiB", page="64B"))


@pytest.mark.parametrize(
    ("batch", "stripes"),
    [(17, (1, 2, 4, 8, 16)), (34, (1, 2, 4, 8, 16, 32)), (16, (1,)), (12, (1,)), (13, (1,))],
)
def test_lengths_that_few_numbers_divide_are_cut_unevenly(
    batch: int, stripes: tuple[int, ...]
) -> None:
    found = listed(perceptron(batch))
    assert found.fusion_space().stripes == stripes
    assert found.batch == (batch if stripes == (1,) else 1)


def test_gradients_and_images_are_cut_as_before() -> None:
    assert listed(training_graph(perceptron(17, element_type="bf16"))).batch == 17
    b = GraphBuilder("image")
    x = b.add("Conv", [b.input("x", (17, 2, 8, 8)), b.weight("w", (2, 2, 3, 3))])
    found = listed(b.finish([x]))
    assert (found.batch, found.fusion_space().stripes) == (17, (1, 2, 4, 8))


def test_an_axis_that_is_rows_and_columns_is_cut_as_before() -> None:
    b = GraphBuilder("square")
    x = b.input("x", (17, 17))
    assert listed(b.finish([b.add("MatMul", [x, x])])).batch == 17


def test_axes_that_stand_in_views_alone_are_none_of_tiles() -> None:
    b = GraphBuilder("views")
    x = b.add("Relu", [b.input("x", (16, 4))])
    y = b.add("Reshape", [b.input("other", (21, 4))], shape=(84,))
    assert listed(b.finish([x, b.add("Reshape", [y], shape=(84, 1))])).batch == 16


def test_parts_are_as_equal_as_may_be() -> None:
    found = listed(perceptron(17))
    count = len(found.operations)
    plan = (FusedGroup(begin=0, end=count, stripes=4),)
    problem, _ = found.problem(plan)
    sizes = [each.size_bytes for each in problem.tensors if each.name.startswith("x")]
    assert sorted(sizes) == [48, 48, 48, 60]
    assert not check_fusion(maps_of(found, plan))


@pytest.mark.parametrize("graph", [perceptron(17, 3), transformer(17)])
def test_uneven_tiles_compute_what_the_whole_does(graph: Graph) -> None:
    found, draw = listed(graph), Random(0)
    ways = [(1, stripes, 0) for stripes in (1, 2, 4, 16)]
    cut = 0
    for _ in range(3):
        draw.shuffle(ways)
        for plan in islice(fusion_plans(found, ways=tuple(ways), longest_first=True), 2):
            check_parts(found, plan, "integer")
            assert not check_fusion(maps_of(found, plan))
            cut += any(each.stripes > 1 for each in plan)
    assert cut


def test_a_causal_softmax_of_its_own_is_computed_in_tiles() -> None:
    b = GraphBuilder("causal")
    q, k = b.input("q", (17, 4)), b.input("k", (4, 17))
    s = b.add("Softmax", [b.add("MatMul", [q, k])], axis=-1, causal=1)
    found = listed(b.finish([b.add("Relu", [s])]))
    for stripes in (2, 8):
        check_parts(found, (FusedGroup(begin=0, end=3, stripes=stripes),), "normal")


@pytest.mark.parametrize("seed", some(range(12), 4))
def test_the_search_finds_the_best_of_all_plans_and_no_bound_is_above(seed: int) -> None:
    draw = Random(seed)
    graph = perceptron(draw.choice((17, 19, 23)), layers=1)
    machine = spmopt.machine("small-npu", spm=f"{draw.choice((512, 768, 1024))}B", page="64B")
    problem = lower_listed(graph, machine, mapper="tiled")
    assert isinstance(problem, Problem)
    assert problem == lower(graph, machine, mapper="tiled")
    found = tileable(graph, machine, mapper="tiled")
    objective = objective_named(("time", "traffic", "energy")[seed % 3], machine)
    asked = Request(objective=objective, tolerance=0.0, time_limit_s=60.0, threads=1)
    best = inf
    for plan in fusion_plans(found, ways=[(1, each, 0) for each in found.fusion_space().stripes]):
        result = solve(found.problem(plan)[0], "residency", asked)
        best = min(best, inf if result.value is None else float(result.value))
    result = solve(problem, "fusion", asked)
    assert float(need(result.fusion_bound)) <= best * (1 + 1e-9)
    assert float(need(result.value)) == pytest.approx(best)
