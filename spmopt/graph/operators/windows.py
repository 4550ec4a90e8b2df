"""Sliding windows: result sizes of convolutions and poolings (ONNX ``Conv``, ``MaxPool``)."""

from __future__ import annotations

from dataclasses import dataclass

from spmopt.core.errors import InputError
from spmopt.graph.operators.attributes import integer, integers, text
from spmopt.graph.operators.spec import Attributes, Shape


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


def transposed_window_shape(spatial: Shape, kernel: Shape, attributes: Attributes) -> Shape:
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
