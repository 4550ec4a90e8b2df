"""What operators compute: what a tile reads is all that it needs, by ONNX's reference kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from spmopt.core.errors import InputError
from spmopt.core.graph import Attribute, Graph
from spmopt.core.loops import Access, Index, LoopNest
from spmopt.frontends import zoo
from spmopt.graph import operators
from spmopt.graph.operators.loops import loop_nest
from spmopt.graph.operators.spec import Shape, Shapes, Style
from spmopt.graph.training import training_graph

Floats = NDArray[np.float32]
CONV = "y0[n, g@o, *y] += x0[n, g@c, *(strides*y + dilations*r - pads)] * x1[g@o, c, *r]; g < group"
CASES: list[tuple[str, list[Shape], dict[str, Any]]] = [
    ("Relu", [(3, 4)], {}),
    ("Add", [(3, 4, 2), (4, 1)], {}),
    ("Where", [(3, 4), (3, 1), (4,)], {}),
    ("Softmax", [(3, 4, 5)], {"axis": 1}),
    ("LogSoftmax", [(3, 4)], {"axis": -1}),
    (
        "Conv",
        [(2, 4, 7, 6), (6, 2, 3, 2), (6,)],
        {"group": 2, "strides": (2, 1), "pads": (1, 0, 1, 1)},
    ),
    (
        "Conv",
        [(2, 3, 9), (4, 3, 3)],
        {"dilations": (2,), "auto_pad": "SAME_LOWER", "strides": (2,)},
    ),
    ("Conv", [(2, 3, 9), (4, 3, 4)], {"auto_pad": "SAME_UPPER"}),
    (
        "ConvTranspose",
        [(2, 4, 5, 4), (4, 3, 3, 3), (3,)],
        {"strides": (2, 2), "pads": (1, 1, 0, 1)},
    ),
    ("Gemm", [(5, 3), (4, 5), (4,)], {"transA": 1, "transB": 1}),
    ("MatMul", [(2, 1, 3, 4), (5, 4, 6)], {}),
    ("MatMul", [(4,), (3, 4, 2)], {}),
    ("MatMul", [(3, 2, 4), (4,)], {}),
    ("MaxPool", [(2, 3, 8, 7)], {"kernel_shape": (3, 2), "strides": (2, 2), "pads": (1, 0, 1, 1)}),
    ("AveragePool", [(2, 3, 8)], {"kernel_shape": (3,), "strides": (2,)}),
    ("GlobalAveragePool", [(2, 3, 4, 4)], {}),
    ("BatchNormalization", [(2, 3, 4), (3,), (3,), (3,), (3,)], {}),
    ("LayerNormalization", [(2, 3, 4), (3, 4), (3, 4)], {"axis": 1}),
    ("GroupNormalization", [(3, 6, 2, 2), (6,), (6,)], {"num_groups": 3}),
    ("LRN", [(2, 5, 3, 3)], {"size": 3}),
    ("Concat", [(2, 3, 4), (2, 1, 4), (2, 5, 4)], {"axis": 1}),
    ("Transpose", [(2, 3, 4)], {"perm": (2, 0, 1)}),
]


def nest_of(
    operator: str,
    inputs: Sequence[Shape],
    outputs: Sequence[Shape],
    attributes: Mapping[str, Attribute],
) -> LoopNest:
    rule = operators.lookup(operator).computes
    assert rule is not None
    shapes = tuple(inputs), tuple(outputs)
    return loop_nest(rule(*shapes, attributes), *shapes, attributes)


def run(operator: str, inputs: list[Floats], attributes: Mapping[str, Any]) -> Floats:
    """Execute an operator by ONNX's reference."""
    names = [f"x{k}" for k in range(len(inputs))]
    node = helper.make_node(operator, names, ["y"], **attributes)
    given: list[NDArray[Any]] = [*inputs]
    if operator == "Where":
        given[0] = inputs[0] > 0
    value = helper.make_tensor_value_info
    kinds = [TensorProto.BOOL if x.dtype == bool else TensorProto.FLOAT for x in given]
    graph = helper.make_graph(
        [node],
        "g",
        [value(n, kind, x.shape) for n, kind, x in zip(names, kinds, given, strict=True)],
        [value("y", TensorProto.FLOAT, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    results: Any = ReferenceEvaluator(model).run(None, dict(zip(names, given, strict=True)))
    found: Floats = results[0]
    return found


def hull(index: Index, box: Mapping[str, tuple[int, int]], size: int) -> tuple[int, int]:
    """Return the least interval of an axis of ``size`` that holds all indices over a box."""
    low = high = index.offset
    for loop, coefficient in index.terms:
        ends = [coefficient * place for place in (box[loop][0], box[loop][1] - 1)]
        low, high = low + min(ends), high + max(ends)
    low = -(-low // index.divisor) if index.exact else low // index.divisor
    return max(low, 0), min(high // index.divisor + 1, size)


def macs(nest: LoopNest) -> int:
    """Return the multiply-accumulates of statements that add up products."""
    adding = [each for each in nest.statements if each.combines and len(each.reads) > 1]
    return sum(prod(nest.extents[loop] for loop in each.loops) for each in adding)


def region(
    nest: LoopNest, tensor: str, shape: Shape, loop: str, fusion_tile: tuple[int, int]
) -> Any:
    """Elements of a tensor that a fusion tile of a loop touches."""
    box = {name: (0, extent) for name, extent in nest.extents.items()} | {loop: fusion_tile}
    touched = np.zeros(shape, bool)
    mentioned = nest.accesses(tensor)
    for access in mentioned:
        hulls = [
            (0, size) if index is None else hull(index, box, size)
            for index, size in zip(access.axes, shape, strict=True)
        ]
        touched[tuple(slice(*each) for each in hulls)] = True
    return touched if mentioned else ~touched


def is_index(target: Access, loop: str) -> bool:
    """Whether a loop alone is an index of the target."""
    return any(index is not None and index.loop == loop for index in target.axes)


@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
@pytest.mark.parametrize(("operator", "shapes", "attributes"), CASES)
def test_no_result_of_a_piece_depends_on_what_it_does_not_read(
    operator: str, shapes: list[Shape], attributes: dict[str, Any]
) -> None:
    """What a fusion tile does not read is NaN, and its results are those of the whole."""
    random = np.random.default_rng(1)
    inputs = [random.random(shape, np.float32) + 0.5 for shape in shapes]
    whole = run(operator, inputs, attributes)
    nest = nest_of(operator, shapes, [whole.shape], attributes)
    cut = 0
    for loop, extent in nest.extents.items():
        if extent < 2 or not nest.can_cut(loop):
            continue
        if any(not is_index(s.target, loop) for s in nest.statements):
            continue  # a sum over fusion tiles
        written = np.zeros(whole.shape, int)
        for fusion_tile in ((0, 1), (1, extent)):
            poisoned = [
                np.where(region(nest, f"x{k}", x.shape, loop, fusion_tile), x, np.float32(np.nan))
                for k, x in enumerate(inputs)
            ]
            here = region(nest, "y0", whole.shape, loop, fusion_tile)
            found = run(operator, poisoned, attributes)
            if operator != "Where":  # whose condition has no NaN
                np.testing.assert_allclose(found[here], whole[here], rtol=1e-5)
            written += here
        assert (written == 1).all(), loop
        cut += 1
    assert cut > 0


def nodes(graph: Graph) -> list[tuple[str, tuple[Shapes, Shapes], Mapping[str, Attribute]]]:
    """Operators with their shapes and attributes, views left out, each once."""
    found = {}
    for node in graph.nodes:
        shapes = graph.shapes(node.inputs), graph.shapes(node.outputs)
        if operators.lookup(node.operator).style is not Style.VIEW:
            found[node.operator, shapes, tuple(node.attributes.items())] = (
                node.operator,
                shapes,
                node.attributes,
            )
    return list(found.values())


@pytest.mark.parametrize(
    "network",
    [
        "resnet18",
        "mobilenetv2",
        "t5-small",
        "dlrm",
        "ncf",
    ],
)
def test_multiplications_of_products_are_those_of_their_loops(network: str) -> None:
    forward = zoo.network(network)
    products = 0
    for graph in (forward, training_graph(forward, optimizer="adam")):
        for operator, shapes, attributes in nodes(graph):
            nest = nest_of(operator, *shapes, attributes)
            spec = operators.lookup(operator)
            for k, shape in enumerate(shapes[1]):
                assert nest.accesses(f"y{k}"), (operator, k)
                assert prod(shape) >= 1
            if spec.gemm is not None:
                products += 1
                assert macs(nest) == spec.gemm(*shapes, attributes).macs, operator
    assert products > 5


def test_windows_read_with_their_halo() -> None:
    inputs, outputs = [(4, 6, 56, 56), (8, 3, 3, 3)], [(4, 8, 28, 28)]
    nest = loop_nest(
        CONV, tuple(inputs), tuple(outputs), {"strides": (2, 2), "pads": (1, 1, 1, 1), "group": 2}
    )
    assert nest.extents == {
        "n": 4,
        "g": 2,
        "o": 4,
        "c": 3,
        "y.0": 28,
        "y.1": 28,
        "r.0": 3,
        "r.1": 3,
    }
    assert macs(nest) == 4 * 8 * 28 * 28 * 3 * 9
    rows = nest.accesses("x0")[0].axes[2]
    assert rows is not None
    box = {loop: (0, extent) for loop, extent in nest.extents.items()}
    assert hull(rows, box | {"y.0": (0, 7)}, 56) == (0, 14)
    assert hull(rows, box | {"y.0": (7, 14)}, 56) == (13, 28)
    assert nest.axis("x0", "n") == nest.axis("y0", "n") == 0
    assert nest.axis("x1", "n") is None
    with pytest.raises(ValueError, match="not cut along one axis"):
        nest.axis("x0", "y.0")


def test_what_is_combined_and_read_again_cannot_be_cut() -> None:
    shapes = [(4, 3, 5), (3,), (3,)]
    results = [(4, 3, 5), (3,), (3,)]
    nest = nest_of("BatchNormalizationTraining", shapes, results, {})
    assert not nest.can_cut("n")
    assert nest.can_cut("c")
    rows = nest_of("Softmax", [(4, 6)], [(4, 6)], {"axis": -1})
    assert rows.can_cut("a")
    assert not rows.can_cut("b")
    weights = nest_of("ConvWeightGradient", [(4, 8, 6, 6), (4, 3, 6, 6)], [(8, 3, 1, 1)], {})
    assert weights.can_cut("n")
    assert weights.axis("y0", "n") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("y0[n] = x0[n", "never closed"),
        ("y0[n] + x0[n]", "neither an assignment nor a limit"),
        ("y0[n] = x0[m]", "combined over loops"),
        ("y0[n, m] = x0[n]", "2 indices for a tensor of shape"),
        ("y0[n*n] = x0[n]", "no affine index"),
        ("y0[n*size] = x0[n]", "attribute size is no number"),
        ("y0[n] = x0[k+1]", "nothing says how far k runs"),
        ("y0[n] = x0[n]; g < groups", "attribute groups is no number"),
        ("3 = x0[n]", "neither"),
    ],
)
def test_a_text_that_says_nothing_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        loop_nest(text, ((5,),), ((4,),) if "m]" in text else ((5,),), {})
