"""Causal masks that are constants of a file make a softmax causal; others stay operands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from spmopt.core.graph import Graph
from spmopt.frontends.onnx_import import load_onnx
from spmopt.graph.attention import fuse_attention
from tests.execution.called import evaluated

from .models import Array, model, saved

make_node = helper.make_node
Written = tuple[list[Any], dict[str, Array]]
"""Nodes that apply a mask, and their constants."""
TOKENS, KEYS, WIDTH = 5, 7, 4
HEADS = {"q": (2, TOKENS, WIDTH), "k": (2, WIDTH, KEYS), "v": (2, KEYS, WIDTH)}
LOW = float(np.finfo(np.float32).min)
_SEEN = np.tril(np.ones((TOKENS, KEYS), bool), KEYS - TOKENS)


def _model(written: Written) -> Any:
    """Return attention of queries after a few keys; scores ``s`` become ``m``."""
    mask, constants = written
    nodes = [
        make_node("MatMul", ["q", "k"], ["s"]),
        *mask,
        make_node("Softmax", ["m"], ["p"], axis=-1),
        make_node("MatMul", ["p", "v"], ["y"]),
    ]
    return model(nodes, HEADS, constants)


def _load(folder: Path, written: Written) -> Graph:
    return load_onnx(saved(folder, _model(written)))


def _softmax(graph: Graph) -> dict[str, Any]:
    (found,) = (node for node in graph.nodes if node.operator == "Softmax")
    return dict(found.attributes)


def _long(queries: int, write: Any) -> Any:
    """Return attention of so many queries and keys; its mask is too large to stay in memory."""
    mask, constants = write(np.tril(np.ones((queries, queries), bool)))
    nodes = [
        make_node("MatMul", ["q", "k"], ["s"]),
        *mask,
        make_node("Softmax", ["m"], ["p"], axis=-1),
        make_node("MatMul", ["p", "v"], ["y"]),
    ]
    shapes = {"q": [2, queries, 4], "k": [2, 4, queries], "v": [2, queries, 4]}
    return model(nodes, shapes, constants)


def _number(value: float) -> Array:
    return np.array(value, np.float32)


def _choose(seen: Array, value: float = LOW) -> Written:
    node = make_node("Where", ["mask", "s", "low"], ["m"])
    return [node], {"mask": seen, "low": _number(value)}


def _fill(seen: Array) -> Written:
    node = make_node("Where", ["mask", "low", "s"], ["m"])
    return [node], {"mask": ~seen, "low": _number(-np.inf)}


def _add(seen: Array) -> Written:
    return [make_node("Add", ["mask", "s"], ["m"])], {"mask": _added(seen)}


def _added(seen: Array) -> Array:
    return np.where(seen, 0, LOW).astype(np.float32)


def _work_out(seen: Array) -> Written:
    """A triangle that the file computes from its size, behind scores that are scaled."""
    nodes = [
        make_node("ConstantOfShape", ["size"], ["ones"]),
        make_node("Trilu", ["ones", "past"], ["above"], upper=1),
        make_node("Cast", ["above"], ["hidden"], to=TensorProto.BOOL),
        make_node("Div", ["s", "two"], ["half"]),
        make_node("Where", ["hidden", "low", "half"], ["m"]),
    ]
    one = helper.make_tensor("value", TensorProto.FLOAT, [1], [1.0])
    nodes[0].attribute.append(helper.make_attribute("value", one))
    size, past = np.array(seen.shape, np.int64), np.array(KEYS - TOKENS + 1, np.int64)
    return nodes, {"size": size, "past": past, "low": _number(LOW), "two": _number(2)}


@pytest.mark.parametrize("write", [_choose, _fill, _add, _work_out])
def test_a_triangle_makes_the_softmax_causal(tmp_path: Path, write: Any) -> None:
    graph = _load(tmp_path, write(_SEEN))
    assert _softmax(graph) == {"axis": -1, "causal": 1, "hidden": 0}
    # Neither the mask nor the node that applies it is left.
    assert not {"mask", "low", "above", "hidden"} & {value.name for value in graph.values}
    assert not {"Where", "Add"} & {node.operator for node in graph.nodes}


def test_keys_after_the_last_query_are_hidden(tmp_path: Path) -> None:
    seen = np.tril(np.ones((1, TOKENS, KEYS), bool))
    assert _softmax(_load(tmp_path, _choose(seen)))["hidden"] == KEYS - TOKENS


@pytest.mark.parametrize("write", [_choose, _add])
@pytest.mark.parametrize("last", [0, 1, KEYS - TOKENS])
def test_numbers_are_those_of_onnx(tmp_path: Path, write: Any, last: int) -> None:
    made = _model(write(np.tril(np.ones((TOKENS, KEYS), bool), last)))
    draw = np.random.default_rng(last)
    given = {name: draw.normal(size=each).astype(np.float32) for name, each in HEADS.items()}
    (wanted,) = ReferenceEvaluator(made).run(None, given)
    graph = load_onnx(saved(tmp_path, made))
    for each in (graph, fuse_attention(graph)):
        assert np.allclose(evaluated(each, given)["y"], wanted, atol=1e-6)


def test_masked_scores_that_others_read_stay(tmp_path: Path) -> None:
    nodes, constants = _choose(_SEEN)
    nodes.append(make_node("Relu", ["m"], ["other"]))
    made = model(
        [
            make_node("MatMul", ["q", "k"], ["s"]),
            *nodes,
            make_node("Softmax", ["m"], ["y"], axis=-1),
        ],
        {name: HEADS[name] for name in "qk"},
        constants,
        outputs=("y", "other"),
    )
    assert "causal" not in _softmax(load_onnx(saved(tmp_path, made)))


@pytest.mark.parametrize(
    "seen",
    [
        np.triu(_SEEN, 1),  # a window: keys that are long past are hidden, too
        np.tril(np.ones((TOKENS, KEYS), bool), -1),  # the first query sees nothing
        np.ones((TOKENS, KEYS), bool),
        np.tril(np.ones((TOKENS, KEYS), bool), KEYS),
        np.stack([_SEEN, _SEEN[::-1]]),
        _SEEN[:1],
    ],
)
def test_other_masks_stay(tmp_path: Path, seen: Array) -> None:
    for write in (_choose, _fill, _add):
        graph = _load(tmp_path, write(seen))
        assert "causal" not in _softmax(graph)
        assert "mask" in {value.name for value in graph.values}


def test_scores_that_are_only_lowered_stay(tmp_path: Path) -> None:
    nodes, _ = _add(_SEEN)
    bias = np.where(_SEEN, 0.5, LOW).astype(np.float32)
    for written in (_choose(_SEEN, -50.0), (nodes, {"mask": bias})):
        assert "causal" not in _softmax(_load(tmp_path, written))


@pytest.mark.parametrize("write", [_choose, _add])
def test_masks_too_large_to_stay_in_memory_are_read(tmp_path: Path, write: Any) -> None:
    assert _softmax(load_onnx(saved(tmp_path, _long(300, write))))["causal"] == 1


@pytest.mark.parametrize("left", [0, 8])
def test_masks_that_cannot_be_read_stay(tmp_path: Path, left: int) -> None:
    """Contents of weights need not be there, and nothing tells masks from these."""
    made = _long(300, _add)
    mask = made.graph.initializer[0]
    mask.raw_data = mask.raw_data[:left]
    assert "causal" not in _softmax(load_onnx(saved(tmp_path, made)))


def _twice(written: Written, *, first: bool) -> Written:
    """Hide keys of padding, too, before the triangle or after it."""
    (mask, *_), constants = written
    names = ("s", "t", "m") if first else ("t", "m", "s")
    before = [*mask.input]
    mask.input[before.index("s")] = "t" if first else "s"
    mask.output[0] = "m" if first else "t"
    padding = make_node("Add", [names[0], "padding"], [names[1]])
    nodes = [padding, mask] if first else [mask, padding]
    return nodes, {**constants, "padding": _added(np.arange(KEYS) > 1)[None]}


@pytest.mark.parametrize("first", [True, False])
def test_of_two_masks_neither_goes(*, tmp_path: Path, first: bool) -> None:
    """Where both hide all keys of a query, it sees all of them."""
    for write in (_choose, _add):
        assert "causal" not in _softmax(_load(tmp_path, _twice(write(_SEEN), first=first)))


def test_scores_that_are_replaced_or_of_other_operators_stay(tmp_path: Path) -> None:
    nodes, constants = _choose(_SEEN)
    nodes[0].output[0] = "t"
    zero = make_node("Where", ["mask", "t", "zero"], ["m"])
    assert "causal" not in _softmax(
        _load(tmp_path, ([*nodes, zero], {**constants, "zero": _number(0)}))
    )
    low = _choose(_SEEN, -1e4)  # scores may be as low
    assert "causal" not in _softmax(_load(tmp_path, low))
    other, constants = _add(_SEEN)
    other[0].domain = "custom"
    with pytest.warns(UserWarning, match="assumed to be point-wise"):
        graph = load_onnx(saved(tmp_path, _model((other, constants))), assume_pointwise=True)
    assert "causal" not in _softmax(graph)


def test_scores_that_nothing_gives_are_no_product(tmp_path: Path) -> None:
    nodes, constants = _add(_SEEN)
    noise = make_node("RandomNormal", [], ["s"], shape=[2, TOKENS, KEYS])
    nodes = [noise, *nodes, make_node("Softmax", ["m"], ["p"], axis=-1)]
    nodes.append(make_node("MatMul", ["p", "v"], ["y"]))
    made = model(nodes, {"v": HEADS["v"]}, constants)
    assert "causal" not in str(load_onnx(saved(tmp_path, made)).nodes)
