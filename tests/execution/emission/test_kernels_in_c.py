"""Kernels in C beside those of Python, operation by operation, on networks of random shapes."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spmopt
from spmopt.core.errors import InputError
from spmopt.core.graph import Graph
from spmopt.core.pieces.segments import Cover
from spmopt.execution.emission.reference.registry import DESCRIBED
from spmopt.execution.emission.reference.tasks import tasks
from spmopt.execution.executor import execute_plainly
from spmopt.execution.graph_kernel import GraphKernel
from spmopt.execution.memory import Bytes
from spmopt.graph.build import GraphBuilder
from spmopt.graph.listing import listing
from spmopt.graph.training import training_graph
from tests.execution.emission.in_c import computed
from tests.execution.test_operators import GRADIENTS, OfBatches

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
MACHINE = spmopt.machine(spm="256KiB")
SEEN = set[str]()
"""Operators that were compared."""
Draw = Callable[[int, int], int]


def compare(graph: Graph, *, in_pieces: bool = False) -> None:
    """Compare every operation of a graph, on whole numbers and on others."""
    found = listing(graph, MACHINE)
    cover: Cover | None = None
    if in_pieces:
        bands = 2 if 2 in found.family("all").bands else 1
        cover = found.uniform(found.batch, bands=bands)
    for data in ("integer", "normal"):
        kernel = GraphKernel(found, cover, data)
        compare_all(kernel, exactly=data == "integer")


def compare_all(kernel: GraphKernel, *, exactly: bool) -> None:
    described = tasks(kernel)

    def both(index: int, operands: Sequence[Bytes]) -> Sequence[Bytes]:
        expected = kernel(index, operands)
        got = computed(described[index], operands, kernel, index)
        operation = kernel.instance.operations[index]
        SEEN.add(kernel.task(index).node.operator)
        for tensor, one, other in zip(operation.writes, got, expected, strict=True):
            dtype = kernel.dtypes[tensor]
            assert dtype is not None
            got_, wanted = (np.array(each.view(dtype)) for each in (one, other))
            if exactly:
                np.testing.assert_array_equal(got_, wanted, operation.name)
            else:
                most = float(np.nan_to_num(np.abs(wanted.astype(float))).max())
                close = np.allclose(got_, wanted, 1e-4, 1e-5 * max(most, 1.0), equal_nan=True)
                assert close, (operation.name, got_, wanted)
        return expected

    execute_plainly(kernel.instance, range(len(described)), kernel.contents(0), both)


def convolutions(draw: Draw, b: GraphBuilder) -> int:
    """Convolutions of every kind, normalization, both poolings."""
    group, size = draw(1, 2), draw(7, 9)
    x = b.input("x", (2, 4, size, size))
    w = b.weight("w", (6, 4 // group, draw(1, 3), 3))
    attributes: dict[str, Any] = {
        "strides": (draw(1, 2), 1),
        "pads": (1, draw(0, 2), draw(0, 1), 1),
    }
    bias = [b.weight("b", (6,))] if draw(0, 1) else []
    y = b.add("Conv", [x, w, *bias], group=group, dilations=(1, draw(1, 2)), **attributes)
    scales = [b.weight(name, (6,)) for name in ("scale", "shift", "mean", "var")]
    y = b.add("BatchNormalization", [y, *scales])
    y = b.add("Relu", [y])
    window: dict[str, Any] = {"kernel_shape": (draw(2, 3), 2), "strides": (draw(1, 2), 2)}
    window["pads"] = (0, 1, 1, 0)
    y = b.add("MaxPool", [y], **window)
    y = b.add("AveragePool", [y], **window, count_include_pad=draw(0, 1))
    v = b.weight("v", (6, 2, 2, 2))
    return b.add("ConvTranspose", [y, v], strides=(draw(1, 2), 1))


def pooled(draw: Draw, b: GraphBuilder) -> int:
    x = b.input("x", (2, 3, draw(2, 5), 4))
    x = b.add("Mul", [x, b.weight("w", (3, 1, 1))])
    scales = [b.weight(name, (3,)) for name in ("scale", "shift", "mean", "var")]
    x = b.add("BatchNormalization", [x, *scales])
    one, other = (b.add(f"Global{kind}Pool", [x]) for kind in ("Average", "Max"))
    return b.add("Flatten", [b.add("Concat", [one, other], axis=1)])


def rows(draw: Draw, b: GraphBuilder) -> int:
    """A layer with attention, in the usual operators."""
    width, heads = 8, draw(1, 2)
    ids = b.input("ids", (2, draw(2, 4)), element_type="int64")
    x = b.add("Gather", [b.weight("table", (7, width)), ids], axis=0)
    x = b.add("LayerNormalization", [x, b.weight("g", (width,)), b.weight("h", (width,))], axis=-1)
    parts = []
    for name in "qkv":
        y = b.add("MatMul", [x, b.weight(name, (width, width))])
        y = b.add("Reshape", [y], shape=(2, -1, heads, width // heads))
        parts.append(b.add("Transpose", [y], perm=(0, 2, 1, 3)))
    q, k, v = parts
    scores = b.add("MatMul", [q, b.add("Transpose", [k], perm=(0, 1, 3, 2))])
    scores = b.add("Softmax", [b.add("Mul", [scores, b.weight("s", (1,))])], axis=-1)
    y = b.add("Transpose", [b.add("MatMul", [scores, v])], perm=(0, 2, 1, 3))
    y = b.add("Reshape", [y], shape=(2, -1, width))
    y = b.add("Dropout", [b.add("Add", [x, y])])
    y = b.add("RMSNormalization", [y, b.weight("r", (width,))], axis=-1)
    y = b.add("Slice", [y], starts=(0,), ends=(1,), axes=(1,))
    y = b.add("Reshape", [y], shape=(2, width))
    return b.add("Gemm", [y, b.weight("o", (5, width)), b.weight("p", (5,))], transB=1, alpha=0.5)


_UNARY = (
    *("Relu", "Clip", "Neg", "Abs", "Sigmoid", "HardSigmoid", "HardSwish", "Tanh", "Gelu", "Swish"),
    *("Mish", "Erf", "Sin", "Cos", "Elu", "Selu", "LeakyRelu", "Softplus", "Softsign", "Exp"),
    *("LogSoftmax", "Cast"),
)


def pointwise(draw: Draw, b: GraphBuilder) -> int:
    """All functions of one number, added up."""
    x = b.input("x", (draw(1, 3), draw(2, 6)))
    x = b.add("Mul", [x, b.weight("w", (1,))])
    attributes: dict[str, dict[str, Any]] = {
        "Clip": {"min": -1.0, "max": 1.5},
        "Cast": {"to": "fp32"},
    }
    found = [b.add(name, [x], name=name, **attributes.get(name, {})) for name in _UNARY]
    found.append(b.add("Gelu", [x], name="bent", approximate="tanh"))
    above = b.add("Add", [b.add("Abs", [x], name="above"), b.weight("one", (1,))])
    found += [b.add(name, [above], name=f"{name}.above") for name in ("Sqrt", "Log", "Reciprocal")]
    return b.add("Sum", found)


def combined(draw: Draw, b: GraphBuilder) -> int:
    """Functions of several numbers, broadcast, and reductions."""
    rows_, columns = draw(1, 3), draw(2, 4)
    x = b.input("x", (2, rows_, columns))
    shapes = ((columns,), (rows_, 1), (2, 1, columns), (1, 1, 1))
    for name, shape in zip(("Add", "Sub", "Mul", "Div"), shapes, strict=True):
        x = b.add(name, [x, b.weight(f"{name}.w", shape)], name=name)
    x = b.add("Max", [x, b.weight("most", (rows_, columns))])
    x = b.add("Min", [x, b.weight("least", (columns,))])
    condition = b.add("Greater", [x, b.input("limit", (1,))])
    x = b.add("Where", [condition, x, b.weight("else", (rows_, 1))])
    one = b.add("ReduceSum", [x], axes=(1,), keepdims=draw(0, 1))
    other = b.add("ReduceMean", [x], axes=(0, 2), keepdims=0)
    one = b.add("Reshape", [one], shape=(-1,))
    return b.add("Reshape", [b.add("Concat", [one, other], axis=0)], shape=(1, -1))


def moved(draw: Draw, b: GraphBuilder) -> int:
    channels = draw(2, 4)
    x = b.input("x", (2, channels, 3, 2))
    x = b.add("Mul", [x, b.weight("w", (channels, 1, 1))])
    one, other = b.add_many("Split", [x], axis=1, split=(1, channels - 1))
    x = b.add("Concat", [other, one], axis=1)
    x = b.add("Pad", [x], pads=(0, 0, 1, 0, 0, 0, draw(0, 2), 1), constant_value=2.0)
    x = b.add("Slice", [x], starts=(1, 0), ends=(4, 2), axes=(2, 3), steps=(1, 1))
    x = b.add("Upsample", [x], shape=(2, channels, 3, 4), nearest_mode="floor",
              coordinate_transformation_mode="asymmetric")  # fmt: skip
    x = b.add("Slice", [x], starts=(-1,), ends=(-9,), axes=(3,), steps=(-2,))
    x = b.add("Tile", [x], repeats=(1, 1, 1, draw(1, 1)))
    x = b.add("Resize", [x], shape=(2, channels, 6, 2), nearest_mode="floor",
              coordinate_transformation_mode="asymmetric")  # fmt: skip
    x = b.add("Transpose", [x], perm=(0, 2, 3, 1))
    x = b.add("Expand", [b.add("Reshape", [x], shape=(2, 1, -1))], shape=(2, 3, 12 * channels))
    return b.add("ReduceSum", [x], axes=(1,), keepdims=0)


def scored(draw: Draw, b: GraphBuilder) -> int:
    """Two losses of labels, the sum of which begins the backward pass."""
    x = b.add("Gemm", [b.input("x", (3, 4)), b.weight("w", (4, draw(2, 6)))])
    labels = b.input("labels", (3,), element_type="int64")
    if draw(0, 1):
        return b.add("CrossEntropy", [x, labels])
    return b.add("NegativeLogLikelihood", [b.add("Softmax", [x], axis=1), labels])


NETWORKS: Mapping[str, Callable[[Draw, GraphBuilder], int]] = {
    each.__name__: each for each in (convolutions, pooled, rows, pointwise, combined, moved, scored)
}


@pytest.mark.parametrize("name", NETWORKS)
@settings(max_examples=2, deadline=None, derandomize=True)
@given(data=st.data())
def test_kernels_compute_what_those_of_python_do(name: str, data: st.DataObject) -> None:
    b = GraphBuilder(name)
    result = NETWORKS[name](lambda low, high: data.draw(st.integers(low, high)), b)
    graph = b.finish([result])
    compare(graph)
    compare(training_graph(graph, optimizer=data.draw(st.sampled_from(("sgd", "momentum")))))


def test_operators_without_gradients() -> None:
    b = GraphBuilder("forward")
    x, y = (b.input(name, (3, 4)) for name in "xy")
    found = [b.add(name, [x]) for name in ("Round", "Floor", "Ceil", "Sign")]
    names = ("Equal", "GreaterOrEqual", "Less", "LessOrEqual")
    truths = [b.add(name, [x, y]) for name in names]
    found += [*truths, b.add("Pow", [b.add("Abs", [x]), y]), b.add("Not", truths[:1])]
    found += [b.add(name, truths[1:3]) for name in ("And", "Or")]
    names = ("ReduceMax", "ReduceMin", "ReduceProd", "ReduceSumSquare")
    found += [b.add(name, [x], axes=(1,), keepdims=0) for name in names]
    states = [b.weight(name, (3, 4)) for name in ("w", "h")]
    b.add_node("update", "Adagrad", [states[0], x, states[1]], states, {})
    compare(b.finish([*found, *states]))


ZOO: Mapping[str, dict[str, int]] = {
    "gpt2": {"layers": 1, "sequence": 4, "hidden": 8, "heads": 2, "vocabulary": 12},
    "gnmt": {"layers": 2, "steps": 2, "hidden": 8, "vocabulary": 12},
    "llama": {"layers": 1, "sequence": 4, "hidden": 16, "heads": 2, "groups": 1, "vocabulary": 12},
}


@pytest.mark.parametrize("name", ZOO)
def test_networks_in_pieces(name: str) -> None:
    workload = spmopt.load(name, batch=2, training=True, optimizer="adam", parameters=ZOO[name])
    assert workload.graph is not None
    compare(workload.graph, in_pieces=True)


def test_gradients_of_some_operands() -> None:
    """Of an operand that nothing trains there is no gradient: kernels must know of which it is."""
    b = GraphBuilder("some")
    given, x = b.input("x", (2, 3)), b.add("Mul", [b.input("y", (2, 3)), b.weight("w", (3,))])
    joined = b.add("Concat", [given, x], axis=1)
    one = b.add("Where", [b.add("Greater", [given, b.input("z", (1,))]), given, x])
    other = b.add("Where", [b.input("truths", (2, 1), element_type="bool"), x, given])
    parts = [b.add("Div", [given, b.add("Exp", [x])]), b.add("Div", [x, b.weight("v", (2, 1))])]
    found = b.add("Concat", [joined, one, other, *parts], axis=1)
    compare(training_graph(b.finish([b.add("ReduceSum", [found], axes=(1,), keepdims=0)])))


@pytest.mark.parametrize("name", ["ReduceMax", "ReduceMin", "ReduceProd", "ReduceMean"])
def test_reductions_over_pieces(name: str) -> None:
    b = GraphBuilder("batch")
    x = b.add("Gemm", [b.input("x", (4, 3)), b.weight("w", (3, 5))])
    graph = b.finish([b.add(name, [x], axes=(0,), keepdims=0)])
    compare(graph, in_pieces=True)
    if name == "ReduceMean":
        compare(training_graph(graph), in_pieces=True)


def test_integers_leave_out_what_is_behind_the_point() -> None:
    b = GraphBuilder("numbers")
    x = b.add("Mul", [b.input("x", (3, 4)), b.weight("w", (4,))])
    compare(b.finish([b.add("Cast", [x], to="int32"), b.add("Cast", [x], to="int64")]))


@pytest.mark.parametrize("of", ["positions", "interleaved", "part", "limits", "edges", "unsigned"])
def test_what_kernels_do_not_do_is_refused(of: str) -> None:
    b = GraphBuilder("odd")
    x, tables = b.input("x", (2, 2, 3, 8)), [b.input(name, (6, 4)) for name in ("cos", "sin")]
    match of:
        case "positions":
            places = b.input("places", (2, 3), element_type="int64")
            y = b.add("RotaryEmbedding", [x, *tables, places])
        case "interleaved":
            y = b.add("RotaryEmbedding", [x, *tables], interleaved=1)
        case "part":
            y = b.add("RotaryEmbedding", [x, *tables], rotary_embedding_dim=8)
        case "limits":
            y = b.add("Clip", [x, b.input("low", ())])
        case "edges":
            y = b.add("Pad", [x], pads=(0, 0, 0, 1) * 2, mode="edge")
        case _:
            y = b.add("Cast", [x], to="uint8")
    kernel = GraphKernel(listing(b.finish([y]), MACHINE), None, "normal")
    with pytest.raises(InputError, match=r"cannot be computed so in C: [^;]+; use kernels hash$"):
        tasks(kernel)


def test_quantized_operands_are_refused() -> None:
    b = GraphBuilder("quantized")
    x, w = (b.input(name, (4, 4), element_type="int8") for name in "xw")
    kernel = GraphKernel(listing(b.finish([b.add("MatMul", [x, w])]), MACHINE), None, "normal")
    with pytest.raises(InputError, match=r"in C: its operands are quantized; use kernels hash$"):
        tasks(kernel)


def test_operators_beside_the_usual() -> None:
    compared = 0
    for build in GRADIENTS.values():
        for builder, in_pieces in ((GraphBuilder("one"), False), (OfBatches("one"), True)):
            graph = training_graph(builder.finish([build(builder)]))
            with contextlib.suppress(InputError):  # no kernels in C
                compare(graph, in_pieces=in_pieces)
                compared += 1
    assert compared >= 8


def test_no_operator_was_left_out() -> None:
    missing = sorted(set(DESCRIBED) - SEEN)
    assert not missing, " ".join(missing)
