"""Convolutions, as matrix products by im2col, and their gradients."""

from __future__ import annotations

from math import prod

from spmopt.core.errors import InputError
from spmopt.graph.operators.attributes import (
    expect_inputs,
    expect_rank,
    integer,
    integers,
)
from spmopt.graph.operators.products import product_spec
from spmopt.graph.operators.spec import Attributes, Gemm, Shape, Shapes
from spmopt.graph.operators.windows import window_shape


def _shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    expect_inputs(inputs, 2, 3)
    x, w = inputs[:2]
    expect_rank(x, 3, "input")
    group = integer(attributes, "group", 1)
    kernel = integers(attributes, "kernel_shape", w[2:])
    if len(w) != len(x) or kernel != w[2:]:
        raise InputError(f"weight {w} does not suit input {x} and kernel_shape {kernel}")
    if group < 1 or w[1] * group != x[1] or w[0] % group:
        raise InputError(f"weight {w} does not suit {x[1]} input channels in {group} groups")
    if len(inputs) == 3 and inputs[2] != (w[0],):
        raise InputError(f"bias {inputs[2]} must have shape {(w[0],)}")
    return ((x[0], w[0], *window_shape(x[2:], kernel, attributes)),)


def _sizes(w: Shape, y: Shape, attributes: Attributes) -> tuple[int, int, int, int]:
    """Groups, result positions (N OH OW), taps (Cin/group kh kw), filters per group."""
    group = integer(attributes, "group", 1)
    return group, y[0] * prod(y[2:]), prod(w[1:]), w[0] // group


def _gemm(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    group, rows, taps, filters = _sizes(inputs[1], outputs[0], attributes)
    return Gemm(batch=group, m=rows, k=taps, n=filters)


def _input_gemm(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    group, rows, taps, filters = _sizes(inputs[1], inputs[0], attributes)
    return Gemm(batch=group, m=rows, k=filters, n=taps)


def _weight_gemm(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    group, rows, taps, filters = _sizes(outputs[0], inputs[0], attributes)
    return Gemm(batch=group, m=taps, k=rows, n=filters, a=(1,), b=(0,))


SPECS = (
    product_spec("Conv", _gemm, _shapes),
    product_spec("ConvInputGradient", _input_gemm),
    product_spec("ConvWeightGradient", _weight_gemm),
)
