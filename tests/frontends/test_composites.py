"""Operators taken apart: their multiply-accumulates, results, weights and gradients.

Figures of torch are those of its ``FlopCounterMode`` (2.14), halved; it counts nothing inside of an
LSTM, whose figure follows from the four gates.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from spmopt.core.errors import InputError
from spmopt.frontends.onnx_import import load_onnx
from spmopt.graph.attention import OPERATOR, fuse_attention
from spmopt.graph.folding import fold
from spmopt.graph.lower import lower
from spmopt.graph.training import training_graph
from tests.execution.called import evaluated

from .figures import MACHINE, macs, moving, output_shapes, parameters
from .models import Array, Shapes, floats, graph_of, ints, model, saved

make_node = helper.make_node


def recurrent(gates: int, hidden: int, features: int, ways: int = 1) -> dict[str, Array]:
    return {
        "w": floats(ways, gates * hidden, features),
        "r": floats(ways, gates * hidden, hidden),
        "b": floats(ways, 2 * gates * hidden),
    }


@pytest.mark.parametrize(
    ("operator", "gates", "ways", "attributes", "work", "weights"),
    [
        # 5 steps of 3 rows: (8 + 16) by G 16, for each direction; of torch 5760 and 17280.
        ("RNN", 1, 1, {}, 5760, 416),
        ("GRU", 3, 1, {"linear_before_reset": 1}, 17280, 1248),
        ("GRU", 3, 1, {}, 17280, 1248),
        ("GRU", 3, 2, {}, 34560, 2496),
        ("LSTM", 4, 1, {}, 5 * 3 * 24 * 64, 1664),
        ("LSTM", 4, 2, {}, 2 * 5 * 3 * 24 * 64, 3328),
    ],
)
def test_recurrent_layers(
    tmp_path: Path,
    *,
    operator: str,
    gates: int,
    ways: int,
    attributes: dict[str, Any],
    work: int,
    weights: int,
) -> None:
    """Work and parameters are those of torch's layers; a step takes W and R once."""
    outputs = ["y", "h", "c"][: 3 if operator == "LSTM" else 2]
    graph = graph_of(
        tmp_path,
        operator,
        {"x": [5, 3, 8]},
        recurrent(gates, 16, 8, ways),
        outputs=outputs,
        hidden_size=16,
        direction="bidirectional" if ways == 2 else "forward",
        **attributes,
    )
    shapes = {"y": (5, ways, 3, 16), "h": (ways, 3, 16), "c": (ways, 3, 16)}
    assert sorted(output_shapes(graph)) == sorted(shapes[name] for name in outputs)
    assert (macs(graph), parameters(graph)) == (work, weights)
    step = training_graph(graph)
    # dW and dR of every product; dX of none, dh of all but the first of each direction.
    inner = 4 * 3 * gates * 16 * 16 * ways
    if operator == "GRU" and not attributes:  # a reset h is trained even where h is zeros
        inner += 3 * 16 * 16 * ways
    assert macs(step) == 2 * work + inner
    assert len(lower(step, MACHINE).operations) == moving(step).total()


def test_a_layer_of_live_weights_splits_them(tmp_path: Path) -> None:
    inputs: Shapes = {"x": [5, 3, 8], "w": [2, 64, 8], "r": [2, 64, 16]}
    graph = graph_of(tmp_path, "LSTM", inputs, hidden_size=16, direction="bidirectional")
    assert macs(graph) == 2 * 5 * 3 * 24 * 64
    assert parameters(graph) == 0


@pytest.mark.parametrize("layout", ["packed", "heads first"])
@pytest.mark.parametrize(("heads", "shared"), [(6, 6), (6, 2), (6, 1)])
def test_attention(tmp_path: Path, layout: str, heads: int, shared: int) -> None:
    """``scaled_dot_product_attention`` has 57600, however many heads share keys."""
    attributes: dict[str, Any] = {}
    result: tuple[int, ...]
    if layout == "packed":
        inputs: Shapes = {
            "q": [2, 10, heads * 16],
            "k": [2, 12, shared * 16],
            "v": [2, 12, shared * 24],
        }
        attributes = {"q_num_heads": heads, "kv_num_heads": shared}
        result = (2, 10, heads * 24)
    else:
        inputs = {"q": [2, heads, 10, 16], "k": [2, shared, 12, 16], "v": [2, shared, 12, 24]}
        result = (2, heads, 10, 24)
    graph = graph_of(tmp_path, "Attention", inputs, **attributes)
    assert macs(graph) == 57600
    assert output_shapes(graph) == [result]
    assert moving(graph) == {"Einsum": 2, "Softmax": 1}


def test_attention_with_a_cache_and_a_mask(tmp_path: Path) -> None:
    inputs: Shapes = {
        "q": [2, 1, 64],
        "k": [2, 1, 32],
        "v": [2, 1, 32],
        "pk": [2, 2, 7, 16],
        "pv": [2, 2, 7, 16],
    }
    graph = graph_of(
        tmp_path,
        "Attention",
        inputs,
        {"mask": floats(1, 8)},
        operands=["q", "k", "v", "mask", "pk", "pv"],
        outputs=["y", "present_k", "present_v"],
        q_num_heads=4,
        kv_num_heads=2,
    )
    assert sorted(output_shapes(graph)) == [(2, 1, 64), (2, 2, 8, 16), (2, 2, 8, 16)]
    assert macs(graph) == 2 * 2 * 4 * 8 * 16
    assert moving(graph) == {"Einsum": 2, "Softmax": 1, "Add": 1, "Concat": 2, "Transpose": 2}


@pytest.mark.parametrize("past", [0, 5])
@pytest.mark.parametrize(("heads", "shared"), [(4, 4), (4, 2)])
@pytest.mark.parametrize(("queries", "keys"), [(6, 6), (3, 6), (6, 4)])
def test_causal_attention_is_that_of_onnx(
    *, tmp_path: Path, queries: int, keys: int, heads: int, shared: int, past: int
) -> None:
    """As operations of their own, and as one; the result of the frontend has no scale."""
    shapes = {"q": (2, heads, queries, 8), "k": (2, shared, keys, 8), "v": (2, shared, keys, 3)}
    if past:
        shapes |= {"pk": (2, shared, past, 8), "pv": (2, shared, past, 3)}
    operands = ["q", "k", "v", *(["", "pk", "pv"] if past else [])]
    outputs = ["y", *(["all_k", "all_v"] if past else [])]
    attributes: dict[str, Any] = {"is_causal": 1, "scale": 1.0}
    nodes = [make_node("Attention", operands, outputs, **attributes)]
    made = model(nodes, shapes, outputs=outputs, opset=23, ir_version=11)
    graph = load_onnx(saved(tmp_path, made))
    draw = np.random.default_rng(queries)
    given = {name: draw.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    (wanted, *_) = ReferenceEvaluator(made).run(None, given)
    one = fuse_attention(graph)
    assert sum(node.operator == OPERATOR for node in one.nodes) == 1
    for each in (graph, one):
        (found,) = (
            value
            for name, value in evaluated(each, given).items()
            if value.shape == np.shape(wanted) and name.startswith("y")
        )
        assert np.allclose(found, wanted, atol=1e-6)


def test_of_a_cache_from_outside_no_keys_are_left_out(tmp_path: Path) -> None:
    """Where the tokens in it end is not known: a token to come may see all keys."""
    shapes = {"q": (1, 2, 1, 8), "k": (1, 2, 64, 8), "v": (1, 2, 64, 3), "n": (1,)}
    nodes = [make_node("Attention", ["q", "k", "v", "", "", "", "n"], ["y"], is_causal=1)]
    made = model(nodes, shapes, opset=24, ir_version=11)
    made.graph.input[3].type.tensor_type.elem_type = TensorProto.INT64
    graph = load_onnx(saved(tmp_path, made))
    assert not any("causal" in node.attributes for node in graph.nodes)


@pytest.mark.parametrize(
    ("equation", "shapes", "work"),
    [
        ("bij,bjk->bik", [(4, 5, 6), (4, 6, 7)], 840),
        ("ij,jk,kl->il", [(3, 4), (4, 5), (5, 6)], 150),
        ("bhqd,bkhd->bhqk", [(2, 3, 4, 5), (2, 6, 3, 5)], 720),
        ("...ij,jk->...ik", [(2, 3, 4, 5), (5, 6)], 720),
        ("i,i->", [(7,), (7,)], 7),
        ("abc,bd->ad", [(2, 3, 4), (3, 5)], 30),
        ("ij,jk", [(3, 4), (4, 5)], 60),
        # No product of matrices: transposed, summed, multiplied.
        ("ij->ji", [(3, 4)], 0),
        ("ij->", [(3, 4)], 0),
        ("i,j->ji", [(3,), (4,)], 0),
        ("ab,b->ba", [(3, 4), (4,)], 0),
    ],
)
def test_einsum(tmp_path: Path, equation: str, shapes: list[tuple[int, ...]], work: int) -> None:
    """Shapes are those of numpy, work that of torch where it multiplies matrices."""
    inputs: Shapes = {f"x{k}": shape for k, shape in enumerate(shapes)}
    graph = graph_of(tmp_path, "Einsum", inputs, equation=equation)
    expected = np.einsum(equation, *(np.zeros(shape) for shape in shapes))
    assert output_shapes(graph) == [expected.shape]
    assert macs(graph) == work
    if moving(graph):
        lower(fold(graph), MACHINE)


def test_a_label_twice_in_an_operand_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="names a label twice in an operand"):
        graph_of(tmp_path, "Einsum", {"x": (4, 4)}, equation="ii->i")


@pytest.mark.parametrize("equation", ["ij,jk", "xbi,bij->xbj", "bi,bi->b", "i,j->ij"])
def test_gradients_of_einsum_do_its_work_for_each_operand(tmp_path: Path, equation: str) -> None:
    sizes = {label: size for size, label in enumerate("ijkbx", start=3)}
    first, second = equation.partition("->")[0].split(",")
    shapes = [tuple(sizes[label] for label in of) for of in (first, second)]
    weight: Array = floats(*shapes[1])
    nodes = [
        make_node("Mul", ["x", "scale"], ["h"]),
        make_node("Einsum", ["h", "w"], ["y"], equation=equation),
    ]
    constants = {"scale": floats(*shapes[0]), "w": weight}
    graph = load_onnx(saved(tmp_path, model(nodes, {"x": shapes[0]}, constants)))
    step = training_graph(graph)
    assert macs(step) == 3 * macs(graph)
    lower(step, MACHINE)


@pytest.mark.parametrize(
    ("operator", "opset", "shapes", "attributes", "work"),
    [
        ("MatMulInteger", 10, {"x": [2, 3, 4], "w": [4, 5]}, {}, 120),
        ("ConvInteger", 10, {"x": [2, 4, 6, 6], "w": [8, 2, 3, 3]}, {"group": 2}, 2 * 16 * 8 * 18),
        (
            "DeformConv",
            19,
            {"x": [1, 4, 6, 6], "w": [8, 4, 3, 3], "offset": [1, 18, 4, 4]},
            {},
            16 * 8 * 36,
        ),
    ],
)
def test_products(
    tmp_path: Path,
    *,
    operator: str,
    opset: int,
    shapes: Shapes,
    attributes: dict[str, Any],
    work: int,
) -> None:
    graph = graph_of(
        tmp_path,
        operator,
        shapes,
        opset=opset,
        element_type=TensorProto.UINT8 if "Integer" in operator else TensorProto.FLOAT,
        **attributes,
    )
    assert macs(graph) == work


def test_a_quantized_convolution_reads_bytes_and_writes_bytes(tmp_path: Path) -> None:
    """Single scales and zero points are part of the operation; a scale of each filter is read."""
    inputs: Shapes = {"x": [1, 4, 8, 8]}
    one, none = np.ones((), np.float32), np.zeros((), np.uint8)
    constants: dict[str, Any] = {
        **{"xs": one, "xz": none, "w": np.zeros((16, 4, 3, 3), np.uint8)},
        **{"ws": np.ones(16, np.float32), "wz": none, "ys": one, "yz": none},
        "b": np.zeros(16, np.int32),
    }
    graph = graph_of(
        tmp_path, "QLinearConv", inputs, constants, opset=10, element_type=TensorProto.UINT8
    )
    (node,) = graph.nodes
    values = [graph.values[index] for index in (*node.inputs, *node.outputs)]
    assert [(v.element_type, v.size_bytes) for v in values] == [
        ("uint8", 256),
        ("uint8", 576),
        ("int32", 64),
        ("fp32", 64),
        ("uint8", 576),
    ]
    assert macs(graph) == 36 * 16 * 36
    assert len(lower(graph, MACHINE).operations) == 1


@pytest.mark.parametrize("shared", [False, True])
def test_constant_states_before_a_sequence_are_not_trained(tmp_path: Path, shared: bool) -> None:
    """Exporters cut zeros into initial states: these are no parameters of the layer."""
    zeros: dict[str, Array] = {"zeros": floats(2, 3, 16)}
    cuts = [
        make_node("Slice", ["zeros", str(k), str(k + 1), "axis"], [name])
        for k, name in enumerate(["h0", "c0"])
    ]
    layer = make_node(
        "LSTM", ["x", "w", "r", "b", "", "h0", "c0" if shared else ""], ["y"], hidden_size=16
    )
    constants: dict[str, Array] = {
        **recurrent(4, 16, 8),
        **zeros,
        **{"axis": ints(0), "0": ints(0), "1": ints(1), "2": ints(2)},
    }
    made = model([*cuts, layer], {"x": [5, 3, 8]}, constants)
    graph = load_onnx(saved(tmp_path, made))
    assert parameters(graph) == 1664
