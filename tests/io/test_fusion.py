"""Fused results: lossless files, and one line for each that is damaged."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spmopt.audit import restore
from spmopt.core.elements import ELEMENT_TYPES
from spmopt.core.errors import InputError
from spmopt.core.fusion.certificate import FusionCertificate, Row
from spmopt.core.fusion.fused_groups import FusedGroup
from spmopt.core.fusion.fusion_space import FusionSpace
from spmopt.core.fusion.stored import Loop, StoredFusion
from spmopt.core.fusion.tileable_graph import source_graph
from spmopt.core.graph import Graph, Node, Value
from spmopt.core.machine import VectorUnit
from spmopt.core.objective import MAKESPAN
from spmopt.core.problem import TensorKind
from spmopt.core.result import Result
from spmopt.core.solution import Solution
from spmopt.graph.training import training_graph
from spmopt.io.files import decode_result, encode_result, read_result, write_result
from spmopt.io.fusion import decode_fusion, encode_fusion
from spmopt.io.renames import ROWS as ROW_NAMES
from tests.checked import need
from tests.fused import of_graph, perceptron
from tests.graph.networks import convolution, lstm
from tests.thorough import nightly, share

NAMES = st.text(st.characters(codec="utf-8"), max_size=6)
ATTRIBUTES = st.one_of(
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False),
    NAMES,
    st.lists(st.integers(-(2**70), 2**70)).map(tuple),
)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    values = draw(
        st.lists(
            st.builds(
                Value,
                name=NAMES,
                shape=st.lists(st.integers(1, 9), max_size=4).map(tuple),
                element_type=st.sampled_from(sorted(ELEMENT_TYPES)),
                kind=st.sampled_from(TensorKind),
                keep=st.booleans(),
            ),
            min_size=1,
            max_size=8,
        )
    )
    there = draw(st.integers(1, len(values)))  # the others are written, one after another
    nodes = []
    for written in range(there, len(values)):
        inputs = st.lists(st.integers(0, written - 1), max_size=3).map(tuple)
        nodes.append(
            Node(
                name=draw(NAMES),
                operator=draw(NAMES),
                inputs=draw(inputs),
                outputs=(written,),
                attributes=draw(st.dictionaries(NAMES, ATTRIBUTES, max_size=3)),
            )
        )
    return Graph(name=draw(NAMES), values=tuple(values), nodes=tuple(nodes))


FUSED_GROUPS = st.builds(
    lambda begin, more, micro_batches, stripes, axis: FusedGroup(
        begin=begin,
        end=begin + more,
        micro_batches=micro_batches,
        stripes=stripes,
        axis=axis if stripes == 1 else 0,
    ),
    st.integers(0, 9),
    st.integers(1, 9),
    st.integers(1, 9),
    st.integers(1, 3),
    st.integers(0, 3),
)
LOOPS = st.builds(
    Loop,
    first=st.integers(0, 9),
    last=st.integers(0, 9),
    micro_batches=st.integers(1, 9),
    operations=st.lists(NAMES, max_size=3).map(tuple),
    rows=st.lists(st.lists(st.integers(0, 9), max_size=3).map(tuple), max_size=2).map(tuple),
)
ROWS: st.SearchStrategy[Row] = st.one_of(
    st.tuples(st.sampled_from(("capacity", "channel time")), st.integers(0, 9), st.integers(0, 9)),
    st.tuples(st.sampled_from(("resident at begin", "dirty at end")), st.integers(-2, 9)),
    st.tuples(st.sampled_from(("capacity before tiles", "capacity after tiles"))),
)
FUSION_SPACES = st.builds(
    FusionSpace,
    name=NAMES,
    micro_batches=st.sets(st.integers(2, 64), max_size=4).map(lambda found: (1, *sorted(found))),
    most_products=st.none() | st.integers(0, 9),
    others=st.lists(st.sets(st.integers(2, 64), max_size=3), max_size=2).map(
        lambda found: tuple(tuple(sorted(each)) for each in found)
    ),
)
DUALS = st.integers(-(2**200), 2**200)
PRICED = st.dictionaries(FUSED_GROUPS, st.dictionaries(ROWS, DUALS, max_size=6), max_size=4)
CERTIFICATES = st.builds(
    FusionCertificate,
    fusion_space=FUSION_SPACES,
    objective=st.just(MAKESPAN),
    bits=st.integers(0, 4096),
    duals=PRICED,
    runs=PRICED,
    carried=st.dictionaries(
        st.tuples(st.integers(0, 9), st.integers(-1, 9)), st.tuples(DUALS, DUALS), max_size=4
    ),
    agreed=PRICED,
    fine=st.booleans(),
)


@settings(max_examples=share(40), deadline=None)
@given(
    graphs(),
    st.lists(FUSED_GROUPS).map(tuple),
    st.none() | CERTIFICATES,
    NAMES,
    st.lists(LOOPS, max_size=3).map(tuple),
)
def test_pieces_are_lossless(
    graph: Graph,
    fusion_plan: tuple[FusedGroup, ...],
    certificate: FusionCertificate | None,
    mapper: str,
    loops: tuple[Loop, ...],
) -> None:
    stored = StoredFusion(
        graph=graph,
        mapper=mapper,
        fusion_plan=fusion_plan,
        certificate=certificate,
        loops=loops,
    )
    again = decode_fusion(json.loads(json.dumps(encode_fusion(stored))), "fusion")
    assert again == stored
    for one, other in zip(again.graph.nodes, graph.nodes, strict=True):
        for name, value in one.attributes.items():
            assert type(value) is type(other.attributes[name])


@pytest.mark.parametrize(("old", "new"), ROW_NAMES.items())
def test_rows_of_older_files_are_named_as_today(old: str, new: str) -> None:
    document = json.loads(json.dumps(encode_result(perceptron())))
    document["fusion"]["certificate"]["duals"][0]["row"] = old
    certificate = need(decode_fusion(document["fusion"], "fusion").certificate)
    assert new in {row[0] for duals in certificate.duals.values() for row in duals}
    assert new not in ROW_NAMES


@pytest.mark.parametrize("old", ["grows", "growth", "serial time", "partial_sums"])
def test_rows_of_older_files_that_prove_nothing_more_are_left_out(old: str) -> None:
    """Rows of single tensors, with the same dual value in so many steps, or not."""
    document = json.loads(json.dumps(encode_result(perceptron())))
    expected = decode_fusion(document["fusion"], "fusion")
    part = {"row": old, "fused_group": [0], "indices": [[3], [0], [1]], "dual": ["-7"]}
    document["fusion"]["certificate"]["duals"] += [part, {**part, "steps": [2]}]
    assert decode_fusion(document["fusion"], "fusion") == expected


def test_numbers_that_json_lacks() -> None:
    attributes = {"low": float("-inf"), "high": float("inf"), "none": float("nan"), "yes": True}
    value = Value(name="x", shape=())
    node = Node(name="n", operator="Clip", inputs=(0,), outputs=(), attributes=attributes)
    graph = Graph(name="g", values=(value,), nodes=(node,))
    stored = StoredFusion(graph=graph, mapper="tiled", fusion_plan=(), certificate=None, loops=())
    text = json.dumps(encode_fusion(stored), allow_nan=False)
    found = decode_fusion(json.loads(text), "fusion").graph.nodes[0].attributes
    assert np.isnan(found["none"])
    assert {**found, "none": 0} == {**attributes, "none": 0}


@pytest.mark.parametrize(
    "make",
    [
        perceptron,
        lambda: of_graph(training_graph(convolution()), 2, objective="energy"),
        pytest.param(lambda: of_graph(training_graph(lstm(), optimizer="adam"), 2), marks=nightly),
    ],
)
def test_results_in_pieces_are_lossless(tmp_path: Path, make: Any) -> None:
    before: Solution = make()
    path, second = tmp_path / "r.json", tmp_path / "again.json"
    write_result(path, before)
    kept = read_result(path)
    after = restore(kept)
    assert after.fusion is None
    assert after.problem == before.problem
    for each in (f for f in fields(Result) if f.compare):
        if each.name not in ("certificate", "class_bound"):
            assert getattr(after.result, each.name) == getattr(before.result, each.name), each.name
    assert after.result.fused is not None
    assert before.result.fused is not None
    assert source_graph(after.result.fused).graph == source_graph(before.result.fused).graph
    for written in (kept, after):  # before its listing is made again, and then
        write_result(second, written)
        assert second.read_text() == path.read_text()


def test_older_files_keep_the_cycles_and_tensors_of_their_version() -> None:
    """Before version 5 all work but products was at the rate of products."""
    document = encode_result(perceptron())
    assert need(decode_result(document).fusion).mapper == "choose"
    document["fusion"] = {**document["fusion"], "mapper": "tiled"}
    assert need(decode_result(document).fusion).mapper == "tiled"
    assert decode_result(document).problem.machine.vector is None
    older = decode_result({**document, "version": 4})
    machine = older.problem.machine
    assert machine.vector == VectorUnit(rate=machine.operations_per_s, special=1)
    assert need(older.fusion).mapper == "tiled-unfolded"


def test_loops_are_the_operations_of_the_problem() -> None:
    """What a compiler runs: loops over fusion tiles, by the names of the graph's nodes."""
    document = encode_result(perceptron())
    names = [op.name for op in perceptron().problem.operations]
    nodes = document["fusion"]["graph"]["nodes"]["name"]
    run = list[str]()
    for loop in document["fusion"]["loops"]:
        assert loop["first"] == len(run)
        for fusion_tile in range(loop["micro_batches"]):
            for name in loop["operations"]:
                assert name in nodes
                run.append(f"{name}[{fusion_tile}]" if loop["micro_batches"] > 1 else name)
        assert loop["last"] == len(run) - 1
    assert run == names


def test_a_result_as_a_whole_says_nothing_of_pieces() -> None:
    full = perceptron()
    whole = replace(full.result, fused=None, fusion_bound=None)
    document = encode_result(replace(full, result=whole))
    assert not {"fusion", "fusion_bound"} & document.keys()
    assert restore(decode_result(document)).result.fused is None
    open_bound = encode_result(replace(full, result=replace(full.result, fusion_bound=Fraction(0))))
    assert decode_result(open_bound).result.fusion_bound == 0


def test_a_listing_without_a_graph_is_not_written() -> None:
    full = perceptron()
    assert full.result.fused is not None
    tileable = replace(source_graph(full.result.fused), graph=None)
    fused = replace(full.result.fused, fused_from=tileable)
    with pytest.raises(InputError, match="of the tileable graph of a graph only"):
        encode_result(replace(full, result=replace(full.result, fused=fused)))


def complaint(document: Any) -> str:
    with pytest.raises(InputError) as caught:
        restore(decode_result(document))
    assert "\n" not in str(caught.value)
    return str(caught.value)


DAMAGE = [
    ("graph.nodes.operator.1", "Rleu", "fusion.graph: operator Rleu has no rule"),
    ("graph.nodes.inputs.0", [7, 2, 3], "fusion.graph: node y1: reads y2 before it is computed"),
    ("graph.nodes.attributes.0", {"a": [1.5]}, "fusion.graph.nodes.attributes[0][...][0]: must be"),
    ("graph.nodes.attributes.0", {"a": {"float": "1"}}, "attributes[0].a: an object here is"),
    ("graph.nodes.inputs.0", [], "fusion.graph: cannot be lowered (IndexError: tuple index"),
    ("graph.values.kind.0", "wight", "fusion.graph.values.kind[0]: must be one of input"),
    ("mapper", "best", "fusion.mapper: 'best' is unknown; use choose, tiled, panel, weights or"),
    ("fusion_plan.begin.1", 6, "fusion.fusion_plan: fused_groups[1]: "),
    (
        "fusion_plan.micro_batches.0",
        3,
        ": 3 fusion tiles do not divide a batch of 8",
    ),
    (
        "fusion_plan.micro_batches.1",
        2,
        "fusion.fusion_plan: fused_groups[1], w2.update to w2.update in 2 fusion tiles: w2.update",
    ),
    ("certificate.duals.0.dual.0", "0x1", "certificate.duals[0].dual value: must be whole numbers"),
    (
        "certificate.duals.0.fused_group.0",
        -1,
        "certificate.duals[0].fused group: no such fused group (-1)",
    ),
    ("certificate.duals.0.indices", [[1]], "certificate.duals[0]: columns differ in length"),
    ("loops.0.micro_batches", 8, "fusion.loops[0]: must be that of the fused group"),
    ("loops.1.operations", ["w2"], "fusion.loops[1]: must be that of the fused group"),
]


@pytest.mark.parametrize(("path", "value", "expected"), DAMAGE)
def test_damage_is_refused_in_one_line(path: str, value: object, expected: str) -> None:
    document = json.loads(json.dumps(encode_result(perceptron())))
    *outer, last = path.split(".")
    inner: Any = document["fusion"]
    for name in outer:
        inner = inner[int(name) if name.isdigit() else name]
    inner[int(last) if last.isdigit() else last] = value
    assert expected in complaint(document)
