"""Transposed convolution: the input gradient of a convolution, run forward.

X (N, C, H, W) and W (C, M / group, kh, kw) give Y (N, M, OH, OW). As a product, X
by rows of positions times W gives columns that are added up where windows overlap.
"""

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
from spmopt.graph.operators.spec import Attributes, Gemm, OperatorSpec, Shape, Shapes


def _shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    expect_inputs(inputs, 2, 3)
    x, w = inputs[:2]
    expect_rank(x, 3, "input")
    group = integer(attributes, "group", 1)
    if len(w) != len(x) or w[0] != x[1] or group < 1 or x[1] % group:
        raise InputError(f"weight {w} does not suit input {x} in {group} groups")
    filters = w[1] * group
    if len(inputs) == 3 and inputs[2] != (filters,):
        raise InputError(f"bias {inputs[2]} must have shape {(filters,)}")
    return ((x[0], filters, *_spatial(x[2:], w[2:], attributes)),)


def _spatial(spatial: Shape, kernel: Shape, attributes: Attributes) -> Shape:
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


def _sizes(x: Shape, w: Shape, attributes: Attributes) -> tuple[int, int, int, int]:
    """Groups, positions of X, channels of X per group, columns (M / group kh kw)."""
    group = integer(attributes, "group", 1)
    return group, x[0] * prod(x[2:]), x[1] // group, prod(w[1:])


def _gemm(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    group, rows, channels, columns = _sizes(inputs[0], inputs[1], attributes)
    return Gemm(batch=group, m=rows, k=channels, n=columns)


def _input_gemm(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    """DX from dY and W."""
    group, rows, channels, columns = _sizes(outputs[0], inputs[1], attributes)
    return Gemm(batch=group, m=rows, k=columns, n=channels)


def _weight_gemm(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    """DW from dY and X."""
    group, rows, channels, columns = _sizes(inputs[1], outputs[0], attributes)
    return Gemm(batch=group, m=channels, k=rows, n=columns, a=(1,), b=(0,))


SPECS: tuple[OperatorSpec, ...] = (
    product_spec("ConvTranspose", _gemm, _shapes),
    product_spec("ConvTransposeInputGradient", _input_gemm),
    product_spec("ConvTransposeWeightGradient", _weight_gemm),
)
