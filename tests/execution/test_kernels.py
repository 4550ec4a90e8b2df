"""Kernels of windows and of resized images beside ONNX's reference, and kernels of users."""

from typing import Any

import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from spmopt.core.errors import InputError
from spmopt.core.graph import Node
from spmopt.execution.kernels import Call, kernel_of, register_kernel
from spmopt.execution.kernels.call import Array
from spmopt.execution.kernels.onnx_reference import onnx_kernel
from spmopt.execution.kernels.products import execute
from spmopt.graph.operators import lookup, results
from spmopt.graph.operators.loops import loop_nest
from spmopt.graph.operators.spec import Attributes
from tests.execution.called import computed

WINDOWS = [
    {},
    {"pads": (1, 1, 1, 1)},
    {"strides": (2, 2), "pads": (1, 0, 2, 1)},
    {"strides": (2, 1), "dilations": (1, 2), "pads": (0, 2, 0, 2)},
]


def node(operator: str, attributes: Attributes | None = None) -> Node:
    return Node(name="it", operator=operator, inputs=(), outputs=(), attributes=attributes or {})


def of_onnx(operator: str, inputs: list[Array], attributes: Attributes) -> Array:
    """ONNX's reference; its transposed convolution knows no groups, which are put together here."""
    if operator == "ConvTranspose" and attributes["group"] != 1:
        x, w, bias = inputs
        parts = [
            of_onnx(operator, [x[:, k : k + 2], w[k : k + 2], bias[at]], {**attributes, "group": 1})
            for k, at in ((0, slice(0, 3)), (2, slice(3, 6)))
        ]
        return np.concatenate(parts, axis=1)
    reference = onnx_kernel(node(operator, attributes))
    assert reference is not None
    call = Call(operator=operator, attributes=attributes, inputs=inputs, shapes=((),))
    return np.asarray(reference(call)[0])


@pytest.mark.parametrize("attributes", WINDOWS)
@pytest.mark.parametrize("operator", ["Conv", "ConvTranspose"])
@pytest.mark.parametrize("group", [1, 2])
def test_loops_convolve_as_onnx_does(operator: str, attributes: Attributes, group: int) -> None:
    chosen = np.random.default_rng(0)
    attributes = {**attributes, "group": group}
    filters = (6, 4 // group, 3, 2) if operator == "Conv" else (4, 6 // group, 3, 2)
    shapes = ((2, 4, 9, 8), filters, (6,))
    inputs = [chosen.standard_normal(shape) for shape in shapes]
    expected = of_onnx(operator, inputs, attributes)
    rule = lookup(operator).computes
    assert rule is not None
    of = (shapes, (expected.shape,), attributes)
    (found,) = execute(loop_nest(rule(*of), *of), inputs, [expected.shape])
    assert np.allclose(found, expected, atol=1e-12)


def test_windows_beyond_the_end_count_what_is_there() -> None:
    attributes: Attributes = {"kernel_shape": (2, 2), "strides": (2, 2), "ceil_mode": 1}
    x = np.arange(9.0).reshape(1, 1, 3, 3)
    for operator, expected in (("MaxPool", [4, 5, 7, 8]), ("AveragePool", [2, 3.5, 6.5, 8])):
        ((shape, _),) = results(operator, (x.shape,), ("fp64",), attributes)
        (found,) = computed(operator, [x], [(shape, x.dtype)], attributes)
        assert found.shape == (1, 1, 2, 2)
        assert found.ravel().tolist() == expected


def test_a_kernel_of_ones_own() -> None:
    assert kernel_of(node("Det")) is not None  # ONNX has it
    register_kernel("com.acme.Twice", lambda call: [2 * call.inputs[0]])
    kernel = kernel_of(node("com.acme.Twice"))
    assert kernel is not None
    call = Call(operator="", attributes={}, inputs=[np.ones(2)], shapes=((2,),))
    assert kernel(call)[0].tolist() == [2, 2]
    with pytest.raises(InputError, match="is taken"):
        register_kernel("Gelu", lambda call: [])


@pytest.mark.parametrize("factors", [(2, 2), (3, 1), (4, 5)])
@pytest.mark.parametrize(
    ("how", "rounding"),
    [
        ("half_pixel", "round_prefer_floor"),
        ("half_pixel", "round_prefer_ceil"),
        ("asymmetric", "floor"),
    ],
)
def test_enlarging_is_that_of_onnx(factors: tuple[int, int], how: str, rounding: str) -> None:
    x = np.arange(12.0).reshape(1, 1, 3, 4)
    shape = (1, 1, 3 * factors[0], 4 * factors[1])
    asked: Attributes = {"coordinate_transformation_mode": how, "nearest_mode": rounding}
    given: dict[str, Any] = {"mode": "nearest", **asked}
    model = helper.make_node("Resize", ["x", "", "", "shape"], ["y"], **given)
    expected: Any = ReferenceEvaluator(model).run(
        None, {"x": x, "shape": np.array(shape, np.int64)}
    )
    (found,) = computed("Resize", [x], [(shape, x.dtype)], asked)
    assert np.array_equal(found, expected[0])
