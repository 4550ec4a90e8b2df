"""Networks fused along several axes: solved, stored, read and audited; planted faults are named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import spmopt
from spmopt.audit.claims import audit
from spmopt.audit.fusion import restore, unfaithful, unlike
from spmopt.core.errors import InputError
from spmopt.core.fusion.fused_groups import FusedGroup
from spmopt.core.fusion.tileable_graph import TileableGraph, source_graph, tileable_graph_of
from spmopt.core.problem import Problem
from spmopt.io.files import read_result, write_result
from spmopt.io.fusion_plans import read_fusion_plan
from tests.checked import need
from tests.fused import solved

HEADS = "layer0.self.scores", "layer0.self.softmax"


@pytest.fixture(scope="module")
def problem() -> Problem:
    """Make GPT-2 of one layer and 32 tokens, on a machine where scores do not fit."""
    network = spmopt.load(
        "gpt2",
        batch=1,
        parameters={"layers": 1, "sequence": 16, "hidden": 16, "heads": 4, "vocabulary": 48},
    )
    machine = spmopt.machine("small-npu", spm="6KiB", bandwidth="2GB/s", page="64B")
    # Attention as one operation has no two in a row along heads.
    return spmopt.lower(network, machine, fold=False)


@pytest.fixture(scope="module")
def graph(problem: Problem) -> TileableGraph:
    return tileable_graph_of(problem)


def test_axes_have_the_names_that_people_have(graph: TileableGraph) -> None:
    assert [each.along for each in graph.axes] == ["tokens", "channels", "heads", "inner"]
    by_heads = {each.name for each in graph.others[1].operations if len(each.mappings) > 1}
    assert {*HEADS, "layer0.self.query"} <= by_heads
    assert "layer0.ffn.1" not in by_heads


def test_a_fused_network_is_stored_with_the_axes_of_its_groups(
    graph: TileableGraph, tmp_path: Path
) -> None:
    names = [each.name for each in graph.operations]
    heads = names.index(HEADS[0])
    plan = (
        FusedGroup(begin=0, end=1, micro_batches=8),
        FusedGroup(begin=1, end=heads),
        FusedGroup(begin=heads, end=heads + 3, micro_batches=4, axis=2),
        FusedGroup(begin=heads + 3, end=len(names)),
    )
    stored = solved(graph, plan, seconds=1.0)
    assert need(stored.result.fusion_bound) <= need(stored.result.value)
    path = tmp_path / "result.json"
    write_result(path, stored)
    again = restore(read_result(path))
    found = need(again.result.fused)
    assert found.fusion_plan == plan
    assert not audit(again.problem, again.result).violations
    assert not unfaithful(source_graph(found), found.fusion_plan, again.problem)


def test_a_plan_file_names_axes(graph: TileableGraph, tmp_path: Path) -> None:
    file, count = tmp_path / "plan.toml", len(graph.operations)
    names = [each.name for each in graph.operations]
    begin = names.index(HEADS[0])
    group = f'first = "{HEADS[0]}"\nlast = "{HEADS[1]}"\nmicro_batches = 4\naxis = "heads"'
    before = f"[[fused_groups]]\nbegin = 0\nend = {begin}\n"
    after = f"[[fused_groups]]\nbegin = {begin + 2}\nend = {count}\n"
    file.write_text(f"{before}[[fused_groups]]\n{group}\n{after}")
    plan = read_fusion_plan(file, graph)
    assert plan[1] == FusedGroup(begin=begin, end=begin + 2, micro_batches=4, axis=2)
    expanded, _ = graph.problem(plan)
    assert f"{HEADS[0]}[heads 3]" in {each.name for each in expanded.operations}
    for wrong, said in (
        (group.replace("heads", "haeds"), "did you mean heads"),
        (group.replace("= 4", "= 3"), "3 fusion tiles along heads: 3 fusion tiles do not divide"),
        (f"{group}\nstripes = 2", "stripes: are of the first axis"),
        (group.replace(HEADS[1], "layer0.self.output"), "cannot be cut along heads"),
    ):
        file.write_text(f"{before}[[fused_groups]]\n{wrong}\n{after}")
        with pytest.raises(InputError, match=said):
            read_fusion_plan(file, graph)


def test_planted_faults_along_heads_are_named(graph: TileableGraph) -> None:
    names = [each.name for each in graph.operations]
    begin, count = names.index(HEADS[0]), len(names)
    plan = (
        FusedGroup(begin=0, end=begin, micro_batches=1),
        FusedGroup(begin=begin, end=begin + 2, micro_batches=4, axis=2),
        FusedGroup(begin=begin + 2, end=count),
    )
    expanded, _ = graph.problem(plan)
    assert not unfaithful(graph, plan, expanded)
    place = {each.name: at for at, each in enumerate(expanded.operations)}
    parts = {each.name: at for at, each in enumerate(expanded.tensors)}
    softmax = place[f"{HEADS[1]}[heads 2]"]
    wrong, right = parts[f"{HEADS[0]}[heads 1]"], parts[f"{HEADS[0]}[heads 2]"]
    operations = list(expanded.operations)
    reads = tuple(wrong if t == right else t for t in operations[softmax].reads)
    operations[softmax] = replace(operations[softmax], reads=reads)
    planted = replace(expanded, operations=tuple(operations))
    (violation, *_) = unfaithful(graph, plan, planted)
    assert "[heads 2]: reads index 2 of axis 1 of layer0.self.scores, but names" in str(violation)
    twice = list(expanded.operations)
    twice[softmax] = replace(twice[softmax], name=f"{HEADS[1]}[heads 1]")
    assert any(
        "is computed" in str(each)
        for each in unfaithful(graph, plan, replace(expanded, operations=tuple(twice)))
    )
    assert [*unlike(expanded, planted)]
