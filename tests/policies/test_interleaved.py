"""The policy of Kim et al.: another graph of the same network, with a bound of its own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import spmopt
from spmopt.core.errors import InputError
from spmopt.core.graph import Graph
from spmopt.core.problem import Problem
from spmopt.core.scheduler import Request
from spmopt.graph.build import GraphBuilder
from spmopt.graph.tileable import tileable
from spmopt.graph.training import training_graph
from spmopt.schedulers.registry import find
from spmopt.solving import compare_fused
from tests.checked import need
from tests.execution.executed import check_parts
from tests.uniform import uniform_plan

MACHINE = spmopt.machine("small-npu", spm="2KiB", bandwidth="2GB/s", page="64B")


def perceptron() -> Graph:
    b = GraphBuilder("net", element_type="bf16")
    x = b.input("x", (8, 24))
    for k, size in enumerate((32, 16)):
        x = b.add("MatMul", [x, b.weight(f"weight{k}", (b.shape(x)[1], size))], name=f"layer{k}")
        x = b.add("Relu", [x], name=f"relu{k}")
    return b.finish([x])


STEP = training_graph(perceptron())
PROBLEM = spmopt.lower(STEP, MACHINE)


@pytest.fixture(scope="module")
def table() -> spmopt.ComparisonTable:
    names = ["belady", "interleaved", "lp-bound"]
    return spmopt.compare(PROBLEM, names, time_limit=5)


def test_it_is_belady_on_the_graph_with_both_gradients(table: spmopt.ComparisonTable) -> None:
    found = table["interleaved"]
    assert found.problem.mapper == "choose-interleaved"
    assert len(found.problem.operations) == len(PROBLEM.operations) - 1
    other = spmopt.lower(STEP, MACHINE, mapper="choose-interleaved")
    assert found.problem.operations == other.operations
    belady = spmopt.solve(other, "belady", time_limit=5)
    assert found.result.value == belady.result.value
    assert found.result.bound == belady.result.bound
    bound = spmopt.solve(other, "lp-bound", time_limit=5).result.bound
    assert need(found.result.bound) <= need(bound) * (1 + 1e-9)
    alone = spmopt.solve(PROBLEM, "interleaved", time_limit=5)
    assert (alone.result.value, alone.result.instead) == (found.result.value, None)
    # Of that graph it is one scheduler among others.
    rows = spmopt.compare(other, ["belady", "interleaved"], time_limit=5)
    assert rows["interleaved"].result.instead is None
    assert rows["interleaved"].result.bound == rows["belady"].result.bound
    assert "another graph" not in str(rows)


def test_alone_it_is_held_against_its_own_bound() -> None:
    alone = spmopt.compare(PROBLEM, ["interleaved"], time_limit=5)
    assert "another graph, by mapper choose-interleaved; gap against its bound" in str(alone)


def test_where_gradients_bypass_it_says_so() -> None:
    own = spmopt.machine("small-npu", spm="64KiB", settings={"bypass": "gradient"})
    with pytest.raises(InputError, match="with bypass the gradients of a layer stay apart"):
        spmopt.solve(spmopt.lower(STEP, own), "interleaved", time_limit=5)


def test_its_row_is_held_against_a_bound_of_both(table: spmopt.ComparisonTable) -> None:
    rows = [line.split() for line in str(table).splitlines()]
    shown = {row[0]: row for row in rows if row and row[0] in ("belady", "interleaved")}
    found = {name: table[name].result for name in shown}
    both = min(need(each.bound) for each in found.values())
    gap = 100 * (need(found["interleaved"].value) / both - 1)
    cell = next(word for word in shown["interleaved"] if word.startswith("+"))
    assert float(cell) == pytest.approx(float(gap), rel=0.02)
    assert "interleaved: another graph, by mapper choose-interleaved; gap against" in str(table)
    # What is said of the optimum is said of the graph that was asked for.
    assert not any("optimum" in line and "interleaved" in line for line in str(table).splitlines())


def test_it_runs_and_its_file_is_verified(table: spmopt.ComparisonTable, tmp_path: Path) -> None:
    found = table["interleaved"]
    assert spmopt.run(found).same
    found.save(tmp_path / "it.json")
    assert not spmopt.verify(tmp_path / "it.json").violations
    assert spmopt.run(tmp_path / "it.json", STEP).same


def test_rows_beside_fusion_are_in_order_and_each_once() -> None:
    names = ("interleaved", "belady", "fusion", "interleaved:granularity=page")
    results = compare_fused(PROBLEM, [find(name) for name in names], Request(time_limit_s=1))
    listed = [each.scheduler for each in results if each.fused is None]
    assert [name for name in listed if name != "fusion"] == [names[0], names[1], names[3]]
    fused = {each.scheduler for each in results if each.fused is not None}
    assert not {names[0], names[3]} & fused


def test_fusion_tiles_cut_both_gradients_as_one() -> None:
    found = tileable(STEP, MACHINE, mapper="choose-interleaved")
    plan = uniform_plan(found, 2)
    tiled = [k for group in plan if group.count > 1 for k in range(group.begin, group.end)]
    assert {found.operations[k].name for k in tiled} >= {"layer1.gradients"}
    check_parts(found, plan, "integer")


def stored() -> Problem:
    return replace(PROBLEM, listed=None)


@pytest.mark.parametrize(
    ("problem", "why"),
    [
        (spmopt.lower(perceptron(), MACHINE), "no layer has two gradients that share dY"),
        (spmopt.lower(STEP, MACHINE, mapper="panel"), "takes mapper choose or tiled, not panel"),
        (stored(), "needs the network"),
    ],
)
def test_problems_without_both_gradients_are_refused(problem: Problem, why: str) -> None:
    with pytest.raises(InputError, match=why):
        spmopt.solve(problem, "interleaved")


def test_a_fusion_plan_is_refused() -> None:
    with pytest.raises(InputError, match="interleaved takes no fusion plan"):
        spmopt.solve(PROBLEM, "interleaved", fusion_plan=[])
    with pytest.raises(InputError, match="takes layer by layer networks that train"):
        find("interleaved").load()(PROBLEM, Request())
