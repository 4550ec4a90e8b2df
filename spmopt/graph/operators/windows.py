"""Rules of operators that slide windows: convolutions and poolings (ONNX ``Conv``, ``MaxPool``).

:mod:`.rules` says how rules are called.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from spmopt.core.errors import InputError
from spmopt.graph.operators.attributes import expect_rank, first_two, integer, integers, text
from spmopt.graph.operators.spec import Attributes, Gemm, Shape, Shapes
from spmopt.graph.operators.statements import complete


def convolution_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Slide filters W (M, C / group, kh, kw) over X (N, C, H, W): Y (N, M, OH, OW)."""
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


def convolution_product(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    """By im2col: result positions (N OH OW) by taps (C / group kh kw) by filters of a group."""
    w, y, group = inputs[1], outputs[0], integer(attributes, "group", 1)
    m, k, n = y[0] * prod(y[2:]), prod(w[1:]), w[0] // group
    return Gemm(batch=group, m=m, k=k, n=n, taps=(1, prod(w[2:]), 1))


def convolution_of_two_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Slide filters, input 1, over input 0."""
    return convolution_shapes(first_two(inputs), attributes)


def quantized_convolution_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Slide filters; of their addends a bias is of each filter."""
    bias = "; y0[n, g@o, *y] += x2[g@o]" if inputs[2:] and inputs[2] == inputs[1][:1] else ""
    return (
        "y0[n, g@o, *y] += x0[n, g@c, *(strides*y + dilations*r - pads)] * x1[g@o, c, *r]"
        f"{bias}; g < group"
    )


def rounded_convolution_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Slide filters, then scale and round complete sums."""
    return complete(quantized_convolution_computes(inputs, outputs, attributes))


def convolution_transpose_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Make Y (N, M, OH, OW) of X (N, C, H, W) and W (C, M / group, kh, kw)."""
    x, w = inputs[:2]
    expect_rank(x, 3, "input")
    group = integer(attributes, "group", 1)
    if len(w) != len(x) or w[0] != x[1] or group < 1 or x[1] % group:
        raise InputError(f"weight {w} does not suit input {x} in {group} groups")
    filters = w[1] * group
    if len(inputs) == 3 and inputs[2] != (filters,):
        raise InputError(f"bias {inputs[2]} must have shape {(filters,)}")
    return ((x[0], filters, *window_transpose_shape(x[2:], w[2:], attributes)),)


def convolution_transpose_product(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
    """Return the input gradient of a convolution, run forward.

    X by rows of positions times W gives columns (M / group kh kw), added up where windows overlap.
    """
    x, w, group = inputs[0], inputs[1], integer(attributes, "group", 1)
    m, k, n = x[0] * prod(x[2:]), x[1] // group, prod(w[1:])
    return Gemm(batch=group, m=m, k=k, n=n, taps=(1, 1, prod(w[2:])))


def pooling_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Slide a window over each channel."""
    _require_channels_first(inputs[0], attributes)
    kernel = integers(attributes, "kernel_shape")
    return ((*inputs[0][:2], *window_shape(inputs[0][2:], kernel, attributes)),)


def global_pooling_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Leave one element of each channel."""
    _require_channels_first(inputs[0], attributes)
    return ((*inputs[0][:2], *(1 for _ in inputs[0][2:])),)


def _require_channels_first(x: Shape, attributes: Attributes) -> None:
    expect_rank(x, 3, "input")
    if integer(attributes, "channels_last", 0):  # of ONNX Runtime's quantized poolings
        raise InputError("has its channels last; export it with channels on axis 1")


def regions_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Pool X (N, C, H, W) in R regions (R, 4), with the image of each (R)."""
    x, regions, images = inputs
    if len(x) != 4 or regions != (*images, 4):
        raise InputError(
            f"X {x}, regions {regions} and images {images} must be 4-D, (R, 4) and (R)"
        )
    height, width = (integer(attributes, f"output_{side}", 1) for side in ("height", "width"))
    return ((*images, x[1], height, width),)


def window_shape(spatial: Shape, kernel: Shape, attributes: Attributes) -> Shape:
    """Return the spatial result shape of a window of ``kernel`` that slides over ``spatial``.

    Reads ``strides``, ``dilations``, ``pads`` (all begins, then all ends), ``auto_pad`` and
    ``ceil_mode``. As in ONNX and its reference frameworks, with ``ceil_mode`` a window must
    start inside the input or its left padding.
    """
    rank = len(spatial)
    strides = _per_axis(attributes, "strides", rank)
    dilations = _per_axis(attributes, "dilations", rank)
    pads = integers(attributes, "pads", (0,) * (2 * rank))
    auto_pad = text(attributes, "auto_pad", "NOTSET")
    if len(kernel) != rank or len(pads) != 2 * rank:
        raise InputError(f"kernel {kernel} or pads {pads} do not suit {rank} spatial dimensions")
    if auto_pad not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"):
        raise InputError(f"auto_pad {auto_pad!r} is unknown; use pads")
    if min((*strides, *dilations, *kernel)) < 1:
        raise InputError("strides, dilations and kernel_shape must be at least 1")
    if auto_pad.startswith("SAME"):
        return tuple(-(-size // stride) for size, stride in zip(spatial, strides, strict=True))
    if auto_pad == "VALID":
        pads = (0,) * (2 * rank)
    ceil_mode = bool(integer(attributes, "ceil_mode", 0))
    result = []
    for axis, size in enumerate(spatial):
        room = size + pads[axis] + pads[rank + axis] - dilations[axis] * (kernel[axis] - 1) - 1
        if room < 0:
            raise InputError(f"kernel {kernel} is larger than the padded input {spatial}")
        steps = room // strides[axis]
        if ceil_mode and room % strides[axis] and (steps + 1) * strides[axis] < size + pads[axis]:
            steps += 1
        result.append(steps + 1)
    return tuple(result)


@dataclass(frozen=True, kw_only=True)
class Sliding:
    """How a window slides over each axis: strides, dilations, and the padding at its begin."""

    strides: Shape
    dilations: Shape
    begins: Shape


def sliding(spatial: Shape, kernel: Shape, attributes: Attributes) -> Sliding:
    """Return how the window of :func:`window_shape` slides; ``auto_pad`` is made explicit."""
    rank = len(spatial)
    strides = _per_axis(attributes, "strides", rank)
    dilations = _per_axis(attributes, "dilations", rank)
    auto_pad = text(attributes, "auto_pad", "NOTSET")
    begins = integers(attributes, "pads", (0,) * (2 * rank))[:rank]
    if auto_pad == "VALID":
        begins = (0,) * rank
    elif auto_pad.startswith("SAME"):
        results = window_shape(spatial, kernel, attributes)
        axes = zip(spatial, kernel, results, strides, dilations, strict=True)
        spans = [(o - 1) * s + (k - 1) * d + 1 - size for size, k, o, s, d in axes]
        odd = auto_pad == "SAME_LOWER"
        begins = tuple((max(span, 0) + odd) // 2 for span in spans)
    return Sliding(strides=strides, dilations=dilations, begins=begins)


def window_transpose_shape(spatial: Shape, kernel: Shape, attributes: Attributes) -> Shape:
    """Spatial result shape of a transposed convolution, whose windows overlap in the result."""
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


def _per_axis(attributes: Attributes, name: str, rank: int) -> tuple[int, ...]:
    values = integers(attributes, name, (1,) * rank)
    if len(values) != rank:
        raise InputError(f"{name} {values} must have {rank} entries")
    return values
