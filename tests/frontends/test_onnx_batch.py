"""Another batch size than the file's, wherever that is baked."""

from __future__ import annotations

from math import prod
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper

from spmopt.core.errors import InputError
from spmopt.frontends.onnx_import import load_onnx
from spmopt.frontends.onnx_import.batch import reshape

from .figures import output_shapes
from .models import Dimensions, floats, ints, model, saved

make_node = helper.make_node


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ((1, 60), (8, 60)),
        ((1, -1), (8, 60)),
        ((-1, 60), (8, 60)),
        ((0, -1), (8, 60)),
        ((3, 20), (24, 20)),
        ((60,), (480,)),
        ((1, 3, 2, 10), (8, 3, 2, 10)),
        ((3, 1, 20), (24, 1, 20)),
    ],
)
def test_reshape_with_a_baked_batch(
    tmp_path: Path, target: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    path = saved(
        tmp_path,
        model([make_node("Reshape", ["x", "s"], ["y"])], {"x": [1, 3, 20]}, {"s": ints(*target)}),
    )
    assert output_shapes(load_onnx(path, batch=8)) == [expected]


@pytest.mark.parametrize(
    ("before", "now", "result", "expected"),
    [
        ((1, 50, 64), (8, 50, 64), (1, 50, 4, 16), (8, 50, 4, 16)),  # heads split
        ((1, 4, 50, 16), (8, 4, 50, 16), (4, 50, 16), (32, 50, 16)),  # merged with heads
        ((4, 50, 16), (32, 50, 16), (1, 4, 50, 16), (8, 4, 50, 16)),  # and taken apart
        ((50, 1, 64), (50, 8, 64), (50, 4, 16), (50, 32, 16)),  # time first, with heads
        ((50, 1, 64), (50, 8, 64), (50, 64), (400, 64)),  # time first, as a matrix
        ((50, 64), (400, 64), (50, 1, 64), (50, 8, 64)),
        ((3, 4), (3, 5), (12,), None),  # not the ratio of the batches
    ],
)
def test_following_the_batch_through_a_reshape(
    before: tuple[int, ...],
    now: tuple[int, ...],
    result: tuple[int, ...],
    expected: tuple[int, ...] | None,
) -> None:
    assert reshape(before, now, result, (1, 8)) == expected


@given(
    outer=st.lists(st.sampled_from([3, 9, 11, 33]), max_size=2),
    inner=st.lists(st.sampled_from([3, 9, 11, 33]), max_size=3),
    cut=st.tuples(st.integers(0, 3), st.integers(0, 3)),
    new=st.sampled_from([2, 5, 8, 12]),
)
def test_any_regrouping_around_the_batch(
    outer: list[int], inner: list[int], cut: tuple[int, int], new: int
) -> None:
    """Axes after the batch, and part of them with it, may be joined in any way."""
    old = 4
    merged = inner[: cut[0]]
    rest = inner[cut[0] :]
    before = (*outer, old, *inner)
    now = (*outer, new, *inner)
    result = (prod(outer), old * prod(merged), *rest)
    expected = (prod(outer), new * prod(merged), *rest)
    assert reshape(before, now, result, (old, new)) == expected
    assert reshape(result, expected, before, (old, new)) == now


def test_symbolic_batch(tmp_path: Path) -> None:
    nodes = [
        make_node("Shape", ["x"], ["shape"]),
        make_node("Gather", ["shape", "zero"], ["n"], axis=0),
        make_node("Unsqueeze", ["n", "axes"], ["n1"]),
        make_node("Concat", ["n1", "rest"], ["target"], axis=0),
        make_node("Reshape", ["x", "target"], ["y"]),
    ]
    constants = {"zero": ints(0)[0], "axes": ints(0), "rest": ints(-1)}
    inputs: dict[str, Dimensions] = {"x": ["N", 4, 5]}
    path = saved(tmp_path, model(nodes, inputs, constants))
    assert output_shapes(load_onnx(path, batch=6)) == [(6, 20)]
    notes: list[str] = []
    assert output_shapes(load_onnx(path, warn=notes.append)) == [(1, 20)]
    (note,) = notes
    assert "the batch, dimension 0 of x (N), is open and taken as 1; --batch" in note


def test_shapes_computed_from_the_input_follow_by_themselves(tmp_path: Path) -> None:
    nodes = [
        make_node("Shape", ["x"], ["shape"]),
        make_node("Slice", ["shape", "zero", "one"], ["n"]),
        make_node("Concat", ["n", "rest"], ["target"], axis=0),
        make_node("Reshape", ["x", "target"], ["y"]),
    ]
    constants = {"zero": ints(0), "one": ints(1), "rest": ints(2, 10)}
    path = saved(tmp_path, model(nodes, {"x": [1, 4, 5]}, constants))
    assert output_shapes(load_onnx(path, batch=6)) == [(6, 2, 10)]


def test_several_inputs_follow_the_first(tmp_path: Path) -> None:
    nodes = [make_node("Concat", ["x", "z"], ["c"], axis=1), make_node("Mul", ["c", "k"], ["y"])]
    inputs: dict[str, Dimensions] = {"x": [2, 3], "z": [2, 4], "k": [7]}
    path = saved(tmp_path, model(nodes, inputs))
    graph = load_onnx(path, batch=5)
    assert output_shapes(graph) == [(5, 7)]
    assert [v.shape for v in graph.values[:3]] == [(5, 3), (5, 4), (7,)]


def test_class_token_is_repeated(tmp_path: Path) -> None:
    nodes = [make_node("Concat", ["token", "x"], ["y"], axis=1)]
    path = saved(tmp_path, model(nodes, {"x": [1, 6, 4]}, {"token": floats(1, 1, 4)}))
    graph = load_onnx(path, batch=3)
    assert output_shapes(graph) == [(3, 7, 4)]
    assert [node.operator for node in graph.nodes] == ["Expand", "Concat"]
    assert {v.name: v.shape for v in graph.values}["token"] == (1, 1, 4)


def test_resize_to_baked_sizes(tmp_path: Path) -> None:
    nodes = [make_node("Resize", ["x", "", "", "sizes"], ["y"], mode="nearest")]
    path = saved(tmp_path, model(nodes, {"x": [1, 3, 4, 4]}, {"sizes": ints(1, 3, 8, 8)}))
    assert output_shapes(load_onnx(path, batch=2)) == [(2, 3, 8, 8)]


def test_expand_to_a_baked_shape(tmp_path: Path) -> None:
    nodes = [make_node("Expand", ["x", "shape"], ["y"])]
    path = saved(tmp_path, model(nodes, {"x": [2, 1, 4]}, {"shape": ints(2, 5, 4)}))
    assert output_shapes(load_onnx(path, batch=7)) == [(7, 5, 4)]


def test_baked_batch_that_cannot_be_followed_is_explained(tmp_path: Path) -> None:
    nodes = [make_node("Add", ["x", "mask"], ["y"])]
    path = saved(tmp_path, model(nodes, {"x": [2, 3]}, {"mask": floats(2, 3)}))
    assert output_shapes(load_onnx(path)) == [(2, 3)]
    with pytest.raises(InputError, match=r"at batch 8 instead of the file's 2: node y \(Add\)"):
        load_onnx(path, batch=8)


def test_batch_must_be_positive(tmp_path: Path) -> None:
    path = saved(tmp_path, model([make_node("Relu", ["x"], ["y"])], {"x": [1, 3]}))
    with pytest.raises(InputError, match="batch must be at least 1, is 0"):
        load_onnx(path, batch=0)
