"""Sizes that the caller gives: each is used, none contradicts another, and open ones are named."""

from __future__ import annotations

from pathlib import Path

import pytest
from onnx import helper

import spmopt
from spmopt.core.errors import InputError, MissingRuleError
from spmopt.frontends.onnx_import import load_onnx

from .figures import output_shapes
from .models import Dimensions, fails, floats, model, saved

make_node = helper.make_node
RELU = make_node("Relu", ["x"], ["y"])
TIME_FIRST: dict[str, Dimensions] = {"x": ["T", "B", 64]}


def _lstm(folder: Path) -> Path:
    weights = {"w": floats(1, 32, 64), "r": floats(1, 32, 8)}
    node = make_node("LSTM", ["x", "w", "r"], ["y"], hidden_size=8)
    return saved(folder, model([node], TIME_FIRST, weights))


def test_batch_and_size_of_one_dimension_contradict_each_other(tmp_path: Path) -> None:
    path = _lstm(tmp_path)
    text = r"--batch 4 and --param B=16 both give the size of dimension 1 of x \(B\)"
    fails(path, text, batch=4, sizes={"T": 16, "B": 16})
    with pytest.raises(InputError, match=text):
        spmopt.load(path, batch=4, parameters={"T": 16, "B": 16})


def test_sizes_of_all_dimensions_are_taken_as_they_are(tmp_path: Path) -> None:
    path = _lstm(tmp_path)
    assert output_shapes(load_onnx(path, sizes={"T": 16, "B": 4})) == [(16, 1, 4, 8)]
    assert output_shapes(load_onnx(path, batch=4, sizes={"T": 16, "B": 4})) == [(16, 1, 4, 8)]


@pytest.mark.parametrize("operator", ["RNN", "GRU", "LSTM"])
def test_a_batch_is_never_the_time_of_a_recurrent_operator(tmp_path: Path, operator: str) -> None:
    """Inputs of files that fix all sizes too; states begin with the directions."""
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[operator]
    weights = {"w": floats(1, gates * 8, 64), "r": floats(1, gates * 8, 8)}
    node = make_node(operator, ["x", "w", "r", "", "", "h"], ["y"], hidden_size=8)
    inputs: dict[str, Dimensions] = {"x": [12, 1, 64], "h": [1, 1, 8]}
    path = saved(tmp_path, model([node], inputs, weights))
    assert output_shapes(load_onnx(path)) == [(12, 1, 1, 8)]
    assert output_shapes(load_onnx(path, batch=5)) == [(12, 1, 5, 8)]


def test_a_dimension_called_batch_is_the_batch_wherever_it_stands(tmp_path: Path) -> None:
    path = saved(tmp_path, model([RELU], {"x": ["time", "batch", 8]}))
    assert output_shapes(load_onnx(path, batch=4, sizes={"time": 16})) == [(16, 4, 8)]


@pytest.mark.parametrize(
    ("dimensions", "which"),
    [(["N", "S"], "open: N, S"), ([4, 8], "the file fixes all sizes")],
)
def test_a_size_that_nothing_uses_is_refused(
    tmp_path: Path, dimensions: Dimensions, which: str
) -> None:
    path = saved(tmp_path, model([RELU], {"x": dimensions}))
    text = rf"no open dimension is called 'X' \(--param X=...\); {which}"
    fails(path, text, sizes={"X": 3})
    fails(path, text, batch=1, sizes={"X": 3, **{str(d): 2 for d in dimensions if d == "S"}})


def test_a_size_is_at_least_1(tmp_path: Path) -> None:
    path = saved(tmp_path, model([RELU], {"x": ["N", "S"]}))
    for size, said in ((-3, "--param S=-3: a"), (0, "no output depends on .*every")):
        fails(path, f"{said} size must be at least 1", batch=1, sizes={"S": size})


def test_a_batch_that_nothing_uses_is_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, model([RELU], {"x": []}))
    fails(path, "batch 4: no input has a dimension", batch=4)


def test_all_open_dimensions_are_named_with_options_to_paste(tmp_path: Path) -> None:
    nodes = [make_node("Add", ["x", "z"], ["s"]), make_node("MatMul", ["s", "k"], ["y"])]
    inputs: dict[str, Dimensions] = {
        "x": ["N", 4, "past + 1"],
        "z": ["N", 4, "past + 1"],
        "k": ["depth", None],
    }
    path = saved(tmp_path, model(nodes, inputs))
    fails(
        path,
        r"3 dimensions are open: past \+ 1 \(dimension 2 of x\), depth \(dimension 0 of k\), "
        r"k\.1 \(dimension 1 of k\); give sizes, for example --batch 1 --param "
        r"'past \+ 1=128' --param depth=128 --param k\.1=128$",
    )


@pytest.mark.parametrize("open_size", [None, "?"])
def test_open_dimensions_without_a_name_get_one_each(tmp_path: Path, open_size: str | None) -> None:
    """Exporters write "?" for all of them; the first dimension still is the batch."""
    path = saved(tmp_path, model([RELU], {"x": [open_size, 3, open_size, open_size]}))
    options = r"--batch 2 --param x\.2=128 --param x\.3=128$"
    fails(path, rf"2 dimensions are open: x\.2 .*, x\.3 .* {options}", batch=2)
    assert output_shapes(load_onnx(path, batch=2, sizes={"x.2": 8, "x.3": 9})) == [(2, 3, 8, 9)]
    nodes = [make_node("Add", ["x", "z"], ["y"])]
    fixed = saved(tmp_path, model(nodes, {"x": [1], "z": [open_size]}))
    assert output_shapes(load_onnx(fixed, sizes={"z.0": 5})) == [(5,)]


def test_open_sizes_are_no_reason_to_ask_for_rules(tmp_path: Path) -> None:
    """Operators that the importer computes have no rule, and need none."""
    nodes = [
        make_node("Shape", ["x"], ["shape"]),
        make_node("Reshape", ["x", "shape"], ["same"]),
        make_node("Concat", ["same", "w"], ["y"], axis=1),
    ]
    path = saved(tmp_path, model(nodes, {"x": ["N", "length"]}, {"w": floats(3, 4)}))
    with pytest.raises(InputError, match="1 dimension is open: length") as caught:
        load_onnx(path)
    assert not isinstance(caught.value, MissingRuleError)
    fails(path, r"node y \(Concat\)", batch=2, sizes={"length": 5})


def test_a_trip_count_counts_as_a_size(tmp_path: Path) -> None:
    made = model([RELU, make_node("Expand", ["y", "n"], ["z"])], {"x": [1]}, outputs=("z",))
    made.graph.input.append(helper.make_tensor_value_info("n", 7, [1]))
    path = saved(tmp_path, made)
    assert output_shapes(load_onnx(path, sizes={"n": 3})) == [(3,)]
    fails(path, "no open dimension is called 'm' .*; open: n", sizes={"m": 3})
