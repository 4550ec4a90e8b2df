"""Loops and conditions of a known course become plain nodes; the shapes are those ONNX computes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from spmopt.core.errors import InputError
from spmopt.core.problem import TensorKind
from spmopt.frontends.onnx_import import load_onnx

from .figures import moving, output_shapes
from .models import floats, ints, model, saved

make_node = helper.make_node
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def _value(name: str, kind: int = FLOAT, shape: Any = None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def _loop(nodes: list[onnx.NodeProto], scanned: str = "", **weights: Any) -> onnx.GraphProto:
    """Return the body of a Loop that carries ``h`` to ``h2``."""
    outputs = [_value("goes_on", BOOL, []), _value("h2"), *([_value(scanned)] if scanned else [])]
    return helper.make_graph(
        [make_node("Identity", ["going"], ["goes_on"]), *nodes],
        "body",
        [_value("count", INT64, []), _value("going", BOOL, []), _value("h")],
        outputs,
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )


def _same_shapes(path: Path, inputs: Mapping[str, tuple[int, ...]]) -> None:
    """Compare the outputs with what ONNX computes."""
    graph = load_onnx(path)
    feeds = {name: np.zeros(shape, np.float32) for name, shape in inputs.items()}
    wanted = ReferenceEvaluator(onnx.load(path)).run(None, feeds)
    assert output_shapes(graph) == [np.shape(array) for array in wanted]


def test_loop_runs_its_body_with_shared_weights(tmp_path: Path) -> None:
    body = _loop(
        [make_node("MatMul", ["h", "inner"], ["p"]), make_node("Add", ["p", "outer"], ["h2"])],
        scanned="p",
        inner=floats(4, 4),
    )
    nodes = [make_node("Loop", ["n", "", "x"], ["y", "all"], body=body)]
    made = model(nodes, {"x": [2, 4]}, {"n": ints(3)[0], "outer": floats(4)}, outputs=("y", "all"))
    graph = load_onnx(saved(tmp_path, made))
    assert output_shapes(graph) == [(2, 4), (3, 2, 4)]
    assert moving(graph) == {"MatMul": 3, "Add": 3, "Concat": 1}
    weights = [value for value in graph.values if value.kind is TensorKind.WEIGHT]
    assert sorted(value.shape for value in weights) == [(4,), (4, 4)]


def test_loop_whose_state_grows_ends_by_its_condition(tmp_path: Path) -> None:
    nodes = [
        make_node("Concat", ["h", "h"], ["h2"], axis=1),
        make_node("Less", ["count", "last"], ["goes_on"]),
    ]
    body = _loop(nodes, last=np.array(2, np.int64))
    del body.node[0]
    made = model(
        [make_node("Loop", ["", "yes", "x"], ["y"], body=body)],
        {"x": [1, 2]},
        {"yes": np.array(True)},
    )
    path = saved(tmp_path, made)
    _same_shapes(path, {"x": (1, 2)})
    assert output_shapes(load_onnx(path)) == [(1, 16)]  # counts 0, 1 and 2


def test_trip_count_that_is_an_input(tmp_path: Path) -> None:
    body = _loop([make_node("Exp", ["h"], ["h2"])])
    made = model([make_node("Loop", ["n", "", "x"], ["y"], body=body)], {"x": [1, 2]})
    made.graph.input.append(_value("n", INT64, []))
    path = saved(tmp_path, made)
    assert moving(load_onnx(path, sizes={"n": 5})) == {"Exp": 5}
    with pytest.raises(InputError, match=r"the trip count \(n\) depends on data.*--param n=VALUE"):
        load_onnx(path)


def test_a_trip_count_that_follows_from_an_input(tmp_path: Path) -> None:
    body = _loop([make_node("Exp", ["h"], ["h2"])])
    nodes = [
        make_node("Add", ["n", "one"], ["trips"]),
        make_node("Loop", ["trips", "", "x"], ["y"], body=body),
    ]
    made = model(nodes, {"x": [1, 2]}, {"one": np.array(1, np.int64)})
    made.graph.input.append(_value("n", INT64, []))
    path = saved(tmp_path, made)
    with pytest.raises(InputError, match=r"\(trips\) depends on data.*\(--param n=VALUE\)"):
        load_onnx(path)
    assert moving(load_onnx(path, sizes={"n": 4})) == {"Exp": 5}


def test_loops_without_end(tmp_path: Path) -> None:
    body = _loop([make_node("Exp", ["h"], ["h2"])])
    made = model(
        [make_node("Loop", ["n", "", "x"], ["y"], body=body)], {"x": [2]}, {"n": ints(10**9)[0]}
    )
    with pytest.raises(InputError, match=r"node y \(Loop\): more than \d+ iterations"):
        load_onnx(saved(tmp_path, made))


def test_scan_takes_slices_along_its_axes(tmp_path: Path) -> None:
    body = helper.make_graph(
        [make_node("Add", ["h", "slice"], ["h2"]), make_node("Exp", ["h2"], ["e"])],
        "body",
        [_value("h"), _value("slice")],
        [_value("h2"), _value("e")],
    )
    scan = make_node(
        "Scan", ["h0", "x"], ["y", "all"], body=body, num_scan_inputs=1, scan_input_axes=[1]
    )
    made = model([scan], {"x": [2, 5]}, {"h0": floats(2)}, outputs=("y", "all"))
    path = saved(tmp_path, made)
    graph = load_onnx(path)
    assert output_shapes(graph) == [(2,), (5, 2)]  # the evaluator of ONNX knows axis 0 only
    assert moving(graph) == {"Split": 1, "Add": 5, "Exp": 5, "Concat": 1}


@pytest.mark.parametrize(("size", "operator"), [(3, "Relu"), (4, "Exp")])
def test_branch_of_a_condition_that_follows_from_shapes(
    tmp_path: Path, size: int, operator: str
) -> None:
    branches = {
        f"{name}_branch": helper.make_graph(
            [make_node(kind, ["x"], ["r"])], name, [], [_value("r")]
        )
        for name, kind in (("then", "Relu"), ("else", "Exp"))
    }
    nodes = [
        make_node("Shape", ["x"], ["s"]),
        make_node("Equal", ["s", "three"], ["is_three"]),
        make_node("If", ["is_three"], ["y"], **branches),
    ]
    path = saved(tmp_path, model(nodes, {"x": [size]}, {"three": ints(3)}))
    assert moving(load_onnx(path)) == {operator: 1}


def test_branch_that_gives_back_an_outer_value(tmp_path: Path) -> None:
    branch = helper.make_graph([], "branch", [], [_value("x")])
    nodes = [
        make_node("If", ["yes"], ["h"], then_branch=branch, else_branch=branch),
        make_node("Relu", ["h"], ["y"]),
    ]
    path = saved(tmp_path, model(nodes, {"x": [2]}, {"yes": np.array(True)}))
    assert moving(load_onnx(path)) == {"Relu": 1}


def test_loop_in_a_loop_at_another_batch_size(tmp_path: Path) -> None:
    inner = helper.make_graph(
        [make_node("Identity", ["g2"], ["o2"]), make_node("Add", ["k", "h"], ["k2"])],
        "inner",
        [_value("c2", INT64, []), _value("g2", BOOL, []), _value("k")],
        [_value("o2", BOOL, []), _value("k2")],
    )
    body = _loop([make_node("Loop", ["n", "", "h"], ["h2"], body=inner)])
    made = model(
        [make_node("Loop", ["n", "", "x"], ["y"], body=body)], {"x": [1, 2]}, {"n": ints(3)[0]}
    )
    path = saved(tmp_path, made)
    _same_shapes(path, {"x": (1, 2)})
    graph = load_onnx(path, batch=6)
    assert moving(graph) == {"Add": 9}
    assert output_shapes(graph) == [(6, 2)]
