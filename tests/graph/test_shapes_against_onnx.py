"""Result shapes equal those of ONNX's own shape inference, on random attributes."""

from collections.abc import Iterable, Sequence

import onnx
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, defs, helper, shape_inference

from spmopt.core.graph import Attribute
from spmopt.graph import operators

Shape = tuple[int, ...]
_few = settings(max_examples=25, deadline=None)
_small = st.integers(1, 4)
_size = st.integers(7, 17)  # at least the widest dilated kernel


def ours(operator: str, inputs: Sequence[Shape], **attributes: Attribute) -> tuple[Shape, ...]:
    rule = operators.lookup(operator).shapes
    assert rule is not None
    return rule(tuple(inputs), attributes)


def onnx_shapes(
    operator: str, inputs: Sequence[Shape], **attributes: Attribute
) -> tuple[Shape, ...]:
    """Return the shapes that ONNX infers; some of our attributes are constant inputs there."""
    constants = dict(operators.lookup(operator).constants or {})
    names = [f"x{k}" for k in range(len(inputs))]
    extra = [name if name in attributes else "" for name in constants.values()]
    node = helper.make_node(operator, names + extra, [f"y{k}" for k in range(3)])
    own = {key: value for key, value in attributes.items() if key not in constants.values()}
    node.attribute.extend(helper.make_attribute(key, value) for key, value in own.items())
    types = {name: _tensor(shape) for name, shape in zip(names, inputs, strict=True)}
    data = {name: _constant(attributes[name]) for name in extra if name}
    types |= {name: _tensor(tuple(each.dims), TensorProto.INT64) for name, each in data.items()}
    schema = defs.get_schema(operator, 23, "")
    del node.output[len(ours(operator, inputs, **attributes)) :]
    found = shape_inference.infer_node_outputs(
        schema, node, types, data, opset_imports=[helper.make_opsetid("", 23)]
    )
    return tuple(
        tuple(dimension.dim_value for dimension in found[name].tensor_type.shape.dim)
        for name in node.output
    )


def _tensor(shape: Shape, kind: int = TensorProto.FLOAT) -> onnx.TypeProto:
    return helper.make_tensor_type_proto(kind, shape)


def _constant(value: Attribute) -> onnx.TensorProto:
    assert isinstance(value, tuple)
    return helper.make_tensor("", TensorProto.INT64, [len(value)], list(value))


def check(operator: str, inputs: Sequence[Shape], **attributes: Attribute) -> None:
    """Compare the shapes of our rule with those of ONNX."""
    expected = onnx_shapes(operator, inputs, **attributes)
    assert ours(operator, inputs, **attributes) == expected


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
    check("Conv", inputs, group=group, **window)


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


_batch = st.lists(st.sampled_from([1, 3]), max_size=3).map(tuple)


@_few
@given(_batch, _batch, st.booleans(), st.booleans())
def test_matmul(batch_a: Shape, batch_b: Shape, vector_a: bool, vector_b: bool) -> None:
    a: Shape = (6,) if vector_a else (*batch_a, 5, 6)
    b: Shape = (6,) if vector_b else (*batch_b, 6, 7)
    check("MatMul", [a, b])


@_few
@given(
    st.sampled_from(["Add", "Sub", "Mul", "Div", "Pow", "Sum"]),
    st.lists(st.sampled_from([1, 4]), max_size=4).map(tuple),
    st.lists(st.sampled_from([1, 4]), max_size=4).map(tuple),
)
def test_broadcasting(operator: str, a: Shape, b: Shape) -> None:
    check(operator, [a, b])


@_few
@given(st.integers(-12, 12), st.integers(-12, 12), st.sampled_from([-3, -1, 1, 2, 3]))
def test_slice(start: int, end: int, step: int) -> None:
    assume(len(range(*slice(start, end, step).indices(10))) > 0)
    check("Slice", [(4, 10)], starts=(start,), ends=(end,), axes=(1,), steps=(step,))


_Case = tuple[str, list[Shape], dict[str, Attribute]]
_X, _C = (2, 3, 4, 5), (3,)


def each(operator: str, inputs: list[Shape], name: str, values: Iterable[Attribute]) -> list[_Case]:
    """Return a case for each value of an attribute."""
    return [(operator, inputs, {name: value}) for value in values]


_CASES: list[_Case] = [
    ("Gemm", [(3, 5), (5, 7), (7,)], {}),
    ("Gemm", [(5, 3), (7, 5), (7,)], {"transA": 1, "transB": 1}),
    *each("Concat", [(2, 3, 4)] * 3, "axis", range(-3, 3)),
    ("Split", [(5, 6)], {"axis": 1, "split": (1, 2, 3)}),
    ("Split", [(6, 5)], {"axis": -2, "split": (1, 2, 3)}),
    *each("Transpose", [_X], "perm", [(0, 2, 3, 1), (3, 2, 1, 0)]),
    *each("Pad", [(2, 3, 4)], "pads", [(0, 1, 2, 3, 0, 1), (1, 0, 0, 0, 2, 0)]),
    *each("Reshape", [(2, 3, 4)], "shape", [(24,), (-1,), (0, -1), (2, 0, -1), (-1, 2, 2, 3)]),
    *each("Flatten", [(2, 3, 4)], "axis", range(-3, 4)),
    *each("Squeeze", [(2, 1, 3, 1)], "axes", [(1,), (-1,), (1, 3), (3, 1)]),
    *each("Unsqueeze", [(2, 3, 4)], "axes", [(0,), (-1,), (1, 3), (-2, 0)]),
    *each("ReduceMean", [(2, 3, 4)], "axes", [(0,), (-1,), (0, 2)]),
    ("ReduceMean", [(2, 3, 4)], {"axes": (0, -1), "keepdims": 0}),
    ("Relu", [_X], {}),
    ("Softmax", [_X], {}),
    ("GlobalMaxPool", [_X], {}),
    ("Transpose", [_X], {}),
    ("BatchNormalization", [_X, _C, _C, _C, _C], {}),
    ("LayerNormalization", [_X, (5,), (5,)], {}),
    ("RotaryEmbedding", [(2, 5, 32), (2, 5, 4), (2, 5, 4)], {"num_heads": 4}),
    ("LRN", [_X], {"size": 5}),
    ("Tile", [(2, 3)], {"repeats": (2, 4)}),
    ("Expand", [(2, 1)], {"shape": (4, 1, 3)}),
    ("DepthToSpace", [(2, 8, 3, 3)], {"blocksize": 2}),
    ("SpaceToDepth", [(2, 2, 4, 6)], {"blocksize": 2}),
    ("TopK", [(3, 7)], {"k": (2,), "axis": 0}),
]


@pytest.mark.parametrize(("operator", "inputs", "attributes"), _CASES)
def test_shapes_of_a_table(
    operator: str, inputs: list[Shape], attributes: dict[str, Attribute]
) -> None:
    check(operator, inputs, **attributes)
