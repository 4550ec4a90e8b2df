"""Convolutions and transposed ones, as matrix products by im2col, and their gradients."""

from __future__ import annotations

from math import prod

from spmopt.core.errors import InputError
from spmopt.graph.operators.attributes import (
    expect_inputs,
    expect_rank,
    integer,
    integers,
    text,
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


# A transposed convolution is the input gradient of a convolution, run forward. X (N, C, H, W) and
# W (C, M / group, kh, kw) give Y (N, M, OH, OW). As a product, X by rows of positions times W gives
# columns that are added up where windows overlap.


def _transposed_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    expect_inputs(inputs, 2, 3)
    x, w = inputs[:2]
    expect_rank(x, 3, "input")
    group = integer(attributes, "group", 1)
    if len(w) != len(x) or w[0] != x[1] or group < 1 or x[1] % group:
        raise InputError(f"weight {w} does not suit input {x} in {group} groups")
    filters = w[1] * group
    if len(inputs) == 3 and inputs[2] != (filters,):
        raise InputError(f"bias {inputs[2]} must have shape {(filters,)}")
    return ((x[0], filters, *_transposed_spatial(x[2:], w[2:], attributes)),)


def _transposed_spatial(spatial: Shape, kernel: Shape, attributes: Attributes) -> Shape:
    rank = len(spatial)
    ones, zeros = (1,) * rank, (0,) * rank
    strides = integers(attributes, "strides", ones)
    if text(attributes, "auto_pad", "NOTSET").startswith("SAME"):
        return tuple(size * stride for size, stride in zip(spatial, strides, strict=True))
    wanted = integers(attributes, "output_shape", ())
    if wanted:
        return wanted[-rank:]
    dilations = integers(attributes, "dilations", ones)
    extra = integers(attributes, "output_padding", zeros)
    pads = integers(attributes, "pads", zeros + zeros)
    if not len(strides) == len(dilations) == len(extra) == rank == len(pads) // 2:
        raise InputError(f"strides, dilations and pads must suit {rank} spatial dimensions")
    return tuple(
        strides[axis] * (spatial[axis] - 1)
        + extra[axis]
        + dilations[axis] * (kernel[axis] - 1)
        + 1
        - pads[axis]
        - pads[rank + axis]
        for axis in range(rank)
    )


def _transposed_sizes(x: Shape, w: Shape, attributes: Attributes) -> tuple[int, int, int, int]:
    """Groups, positions of X, channels of X per group, columns (M / group kh kw)."""
    group = integer(attributes, "group", 1)
    return group, x[0] * prod(x[2:]), x[1] // group, prod(w[1:])


def _transposed_gemm(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    group, rows, channels, columns = _transposed_sizes(inputs[0], inputs[1], attributes)
    return Gemm(batch=group, m=rows, k=channels, n=columns)


def _transposed_input_gemm(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    """DX from dY and W."""
    group, rows, channels, columns = _transposed_sizes(outputs[0], inputs[1], attributes)
    return Gemm(batch=group, m=rows, k=columns, n=channels)


def _transposed_weight_gemm(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    """DW from dY and X."""
    group, rows, channels, columns = _transposed_sizes(inputs[1], outputs[0], attributes)
    return Gemm(batch=group, m=channels, k=rows, n=columns, a=(1,), b=(0,))


SPECS = (
    product_spec("Conv", _gemm, _shapes),
    product_spec("ConvInputGradient", _input_gemm),
    product_spec("ConvWeightGradient", _weight_gemm),
    product_spec("ConvTranspose", _transposed_gemm, _transposed_shapes),
    product_spec("ConvTransposeInputGradient", _transposed_input_gemm),
    product_spec("ConvTransposeWeightGradient", _transposed_weight_gemm),
)
