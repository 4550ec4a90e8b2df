"""Result shapes equal those of ONNX's own shape inference, on random attributes."""

from collections.abc import Sequence

import onnx
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from spmopt.core.graph import Attribute
from spmopt.graph import operators

Shape = tuple[int, ...]
_few = settings(max_examples=60, deadline=None)
_small = st.integers(1, 4)
_size = st.integers(7, 17)  # at least the widest dilated kernel


def ours(operator: str, inputs: Sequence[Shape], **attributes: Attribute) -> tuple[Shape, ...]:
    rule = operators.lookup(operator).shapes
    assert rule is not None
    return rule(tuple(inputs), attributes)


def onnx_shapes(
    operator: str,
    inputs: Sequence[Shape],
    results: int = 1,
    constants: Sequence[Sequence[int] | None] = (),
    /,
    **attributes: Attribute,
) -> tuple[Shape, ...]:
    """Shapes that ONNX infers; ``constants`` are integer inputs that follow the tensors."""
    names = [f"x{k}" for k in range(len(inputs))]
    extra = ["" if value is None else f"k{k}" for k, value in enumerate(constants)]
    outputs = [f"y{k}" for k in range(results)]
    node = helper.make_node(operator, names + extra, outputs)
    node.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
    graph = helper.make_graph(
        [node],
        "g",
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
            for name, shape in zip(names, inputs, strict=True)
        ],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [
            helper.make_tensor(name, TensorProto.INT64, [len(value)], list(value))
            for name, value in zip(extra, constants, strict=True)
            if value is not None
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)])
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    return tuple(
        tuple(dimension.dim_value for dimension in value.type.tensor_type.shape.dim)
        for value in inferred.graph.output
    )


@st.composite
def windows(draw: st.DrawFn) -> dict[str, Attribute]:
    """Attributes of a sliding window over two dimensions."""
    kernel = draw(st.tuples(_small, _small))
    attributes: dict[str, Attribute] = {
        "kernel_shape": kernel,
        "strides": draw(st.tuples(_small, _small)),
        "dilations": draw(st.tuples(st.integers(1, 2), st.integers(1, 2))),
    }
    if draw(st.booleans()):
        attributes["auto_pad"] = draw(st.sampled_from(["VALID", "SAME_UPPER", "SAME_LOWER"]))
    else:
        pad = st.integers(0, min(kernel) - 1)
        attributes["pads"] = draw(st.tuples(pad, pad, pad, pad))
    return attributes


@_few
@given(windows(), st.sampled_from([1, 2, 4]), _small, st.tuples(_size, _size), st.booleans())
def test_conv(
    window: dict[str, Attribute], group: int, filters: int, size: tuple[int, int], bias: bool
) -> None:
    kernel = window["kernel_shape"]
    assert isinstance(kernel, tuple)
    weight = (filters * group, 4 // group, *kernel)
    inputs = [(2, 4, *size), weight] + ([(filters * group,)] if bias else [])
    expected = onnx_shapes("Conv", inputs, group=group, **window)
    assert ours("Conv", inputs, group=group, **window) == expected


@_few
@given(
    st.sampled_from(["MaxPool", "AveragePool"]),
    windows(),
    st.tuples(_size, _size),
    st.integers(0, 1),
)
def test_pool(
    operator: str, window: dict[str, Attribute], size: tuple[int, int], ceil_mode: int
) -> None:
    inputs = [(2, 3, *size)]
    ((*leading, height, width),) = onnx_shapes(operator, inputs, ceil_mode=ceil_mode, **window)
    # The ONNX text ignores windows that would start in the right padding; its inference does not.
    strides, pads = window["strides"], window.get("pads", (0, 0, 0, 0))
    assert isinstance(strides, tuple)
    assert isinstance(pads, tuple)
    inside = [
        count - (ceil_mode and (count - 1) * stride >= extent + pad)
        for count, stride, extent, pad in zip((height, width), strides, size, pads, strict=False)
    ]
    assert ours(operator, inputs, ceil_mode=ceil_mode, **window) == ((*leading, *inside),)


@_few
@given(_size, _size, _size, st.integers(0, 1), st.integers(0, 1))
def test_gemm(m: int, k: int, n: int, trans_a: int, trans_b: int) -> None:
    inputs = [(k, m) if trans_a else (m, k), (n, k) if trans_b else (k, n), (n,)]
    expected = onnx_shapes("Gemm", inputs, transA=trans_a, transB=trans_b)
    assert ours("Gemm", inputs, transA=trans_a, transB=trans_b) == expected


_batch = st.lists(st.sampled_from([1, 3]), max_size=3).map(tuple)


@_few
@given(_batch, _batch, st.booleans(), st.booleans())
def test_matmul(batch_a: Shape, batch_b: Shape, vector_a: bool, vector_b: bool) -> None:
    a: Shape = (6,) if vector_a else (*batch_a, 5, 6)
    b: Shape = (6,) if vector_b else (*batch_b, 6, 7)
    assert ours("MatMul", [a, b]) == onnx_shapes("MatMul", [a, b])


@_few
@given(
    st.sampled_from(["Add", "Sub", "Mul", "Div", "Pow", "Sum"]),
    st.lists(st.sampled_from([1, 4]), max_size=4).map(tuple),
    st.lists(st.sampled_from([1, 4]), max_size=4).map(tuple),
)
def test_broadcasting(operator: str, a: Shape, b: Shape) -> None:
    assert ours(operator, [a, b]) == onnx_shapes(operator, [a, b])


_UNARY = (
    "Relu LeakyRelu Clip Sigmoid HardSigmoid HardSwish Tanh Erf Softmax LogSoftmax Sqrt Exp Neg"
)


@pytest.mark.parametrize("operator", _UNARY.split())
def test_element_wise(operator: str) -> None:
    assert ours(operator, [(2, 3, 4)]) == onnx_shapes(operator, [(2, 3, 4)])


def test_rotary_embedding() -> None:
    inputs = [(2, 5, 32), (2, 5, 4), (2, 5, 4)]
    expected = onnx_shapes("RotaryEmbedding", inputs, num_heads=4)
    assert ours("RotaryEmbedding", inputs, num_heads=4) == expected == ((2, 5, 32),)


@_few
@given(st.integers(-3, 2), st.lists(_size, min_size=1, max_size=4))
def test_concat(axis: int, sizes: list[int]) -> None:
    inputs = []
    for size in sizes:
        shape = [2, 3, 4]
        shape[axis] = size
        inputs.append(tuple(shape))
    assert ours("Concat", inputs, axis=axis) == onnx_shapes("Concat", inputs, axis=axis)


@_few
@given(st.integers(-2, 1), st.lists(_size, min_size=1, max_size=4))
def test_split_by_sizes(axis: int, parts: list[int]) -> None:
    shape = [5, 5]
    shape[axis] = sum(parts)
    expected = onnx_shapes("Split", [tuple(shape)], len(parts), [parts], axis=axis)
    assert ours("Split", [tuple(shape)], axis=axis, split=tuple(parts)) == expected


@_few
@given(st.integers(5, 40), st.integers(1, 5))
def test_split_by_number(size: int, count: int) -> None:
    assume(size > -(-size // count) * (count - 1))
    expected = onnx_shapes("Split", [(size, 3)], count, num_outputs=count)
    assert ours("Split", [(size, 3)], num_outputs=count) == expected


@_few
@given(st.integers(-12, 12), st.integers(-12, 12), st.sampled_from([-3, -1, 1, 2, 3]))
def test_slice(start: int, end: int, step: int) -> None:
    assume(len(range(*slice(start, end, step).indices(10))) > 0)
    constants = [[start], [end], [1], [step]]
    expected = onnx_shapes("Slice", [(4, 10)], 1, constants)
    assert (
        ours("Slice", [(4, 10)], starts=(start,), ends=(end,), axes=(1,), steps=(step,)) == expected
    )


@_few
@given(st.permutations(range(4)))
def test_transpose(order: list[int]) -> None:
    shape = (2, 3, 4, 5)
    expected = onnx_shapes("Transpose", [shape], perm=tuple(order))
    assert ours("Transpose", [shape], perm=tuple(order)) == expected
    assert ours("Transpose", [shape]) == onnx_shapes("Transpose", [shape])


@_few
@given(st.lists(st.integers(0, 3), min_size=6, max_size=6))
def test_pad(pads: list[int]) -> None:
    expected = onnx_shapes("Pad", [(2, 3, 4)], 1, [pads])
    assert ours("Pad", [(2, 3, 4)], pads=tuple(pads)) == expected


@pytest.mark.parametrize(
    "shape", [(24,), (-1,), (0, -1), (2, 0, -1), (4, 3, 2), (-1, 2, 2, 3), (0, 0, 0), (1, 0, 8)]
)
def test_reshape(shape: Shape) -> None:
    assert ours("Reshape", [(2, 3, 4)], shape=shape) == onnx_shapes(
        "Reshape", [(2, 3, 4)], 1, [shape]
    )


@pytest.mark.parametrize("axis", range(-3, 4))
def test_flatten(axis: int) -> None:
    expected = onnx_shapes("Flatten", [(2, 3, 4)], axis=axis)
    assert ours("Flatten", [(2, 3, 4)], axis=axis) == expected


@pytest.mark.parametrize("axes", [(1,), (-1,), (1, 3), (3, 1)])
def test_squeeze(axes: Shape) -> None:
    expected = onnx_shapes("Squeeze", [(2, 1, 3, 1)], 1, [axes])
    assert ours("Squeeze", [(2, 1, 3, 1)], axes=axes) == expected
    assert ours("Squeeze", [(2, 1, 3, 1)]) == onnx_shapes("Squeeze", [(2, 1, 3, 1)])


@pytest.mark.parametrize("axes", [(0,), (-1,), (1, 3), (4, 0), (-2, 0)])
def test_unsqueeze(axes: Shape) -> None:
    expected = onnx_shapes("Unsqueeze", [(2, 3, 4)], 1, [axes])
    assert ours("Unsqueeze", [(2, 3, 4)], axes=axes) == expected


@pytest.mark.parametrize("operator", ["ReduceMean"])
@pytest.mark.parametrize("axes", [(), (0,), (-1,), (0, 2)])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_reduce(operator: str, axes: Shape, keepdims: int) -> None:
    given_axes: dict[str, Attribute] = {"axes": axes} if axes else {}
    # As an input from opset 18 on.
    expected = onnx_shapes(operator, [(2, 3, 4)], 1, [axes] if axes else [], keepdims=keepdims)
    assert ours(operator, [(2, 3, 4)], keepdims=keepdims, **given_axes) == expected


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gather(axis: int) -> None:
    rule = ours("Gather", [(4, 5, 6), (2, 3)], axis=axis)
    index = ["x0", "k"]
    graph = helper.make_graph(
        [helper.make_node("Gather", index, ["y"], axis=axis)],
        "g",
        [
            helper.make_tensor_value_info("x0", TensorProto.FLOAT, (4, 5, 6)),
            helper.make_tensor_value_info("k", TensorProto.INT64, (2, 3)),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    (result,) = onnx.shape_inference.infer_shapes(helper.make_model(graph)).graph.output
    assert rule == (tuple(d.dim_value for d in result.type.tensor_type.shape.dim),)


def test_normalizations_and_global_pools() -> None:
    x, c = (2, 3, 4, 5), (3,)
    assert ours("BatchNormalization", [x, c, c, c, c]) == onnx_shapes(
        "BatchNormalization", [x, c, c, c, c]
    )
    assert ours("LayerNormalization", [x, (5,), (5,)]) == onnx_shapes(
        "LayerNormalization", [x, (5,), (5,)]
    )
    assert ours("LRN", [x], size=5) == onnx_shapes("LRN", [x], size=5)
    for operator in ("GlobalAveragePool", "GlobalMaxPool"):
        assert ours(operator, [x]) == onnx_shapes(operator, [x])
