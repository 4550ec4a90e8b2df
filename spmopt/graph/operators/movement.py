"""Operators that copy, cut, join or reorder data and compute nothing.

A slice or a concatenation is a tensor of its own (PROBLEM.md, section 1), so each of
these reads its operands and writes its results.
"""

from __future__ import annotations

from dataclasses import replace

from spmopt.core.errors import InputError
from spmopt.graph.operators.attributes import (
    expect_inputs,
    integer,
    integers,
    position,
    positions,
)
from spmopt.graph.operators.pointwise import (
    Gradients,
    ShapeRule,
    gradient_reads,
    joint_gradient,
    no_operations,
    per_input,
    pointwise,
)
from spmopt.graph.operators.spec import (
    Attributes,
    GradientRule,
    Needed,
    OperatorSpec,
    Shapes,
)

# Bytes of the element types of ONNX (TensorProto.DataType) that networks use.
_TYPE_BYTES = {1: 4, 2: 1, 3: 1, 4: 2, 5: 2, 6: 4, 7: 8, 9: 1, 10: 2, 11: 8, 12: 4, 13: 8, 16: 2}


def _concat_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    if not inputs:
        raise InputError("takes at least 1 input")
    axis = position(integer(attributes, "axis"), len(inputs[0]))
    rest = {shape[:axis] + shape[axis + 1 :] for shape in inputs}
    if len(rest) > 1 or len({len(shape) for shape in inputs}) > 1:
        raise InputError(f"shapes {inputs} differ beside axis {axis}")
    total = sum(shape[axis] for shape in inputs)
    return ((*inputs[0][:axis], total, *inputs[0][axis + 1 :]),)


def _split_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    shape = inputs[0]
    axis = position(integer(attributes, "axis", 0), len(shape))
    parts = integers(attributes, "split", ())
    if not parts:
        count = integer(attributes, "num_outputs")
        size = -(-shape[axis] // max(count, 1))
        parts = (size,) * (count - 1) + (shape[axis] - size * (count - 1),)
    if sum(parts) != shape[axis] or min(parts) < 1:
        raise InputError(f"parts {parts} do not fill axis {axis} of {shape}")
    return tuple((*shape[:axis], part, *shape[axis + 1 :]) for part in parts)


def _split_gradients(
    inputs: Shapes, outputs: Shapes, attributes: Attributes, needed: Needed
) -> tuple[GradientRule, ...]:
    dy = tuple(range(len(outputs)))
    return (GradientRule(of=(0,), reads=(), operator="SplitGradient", dy=dy),)


def _slice_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    shape = list(inputs[0])
    starts, ends = integers(attributes, "starts"), integers(attributes, "ends")
    axes = positions(integers(attributes, "axes", tuple(range(len(starts)))), len(shape))
    steps = integers(attributes, "steps", (1,) * len(starts))
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        raise InputError("starts, ends, axes and steps must be of one length, steps not 0")
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        shape[axis] = len(range(*slice(start, end, step).indices(shape[axis])))
        if not shape[axis]:
            raise InputError(f"slice {start}:{end}:{step} of axis {axis} is empty")
    return (tuple(shape),)


def _transpose_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    rank = len(inputs[0])
    order = positions(integers(attributes, "perm", tuple(reversed(range(rank)))), rank)
    if len(order) != rank:
        raise InputError(f"perm {order} must name all {rank} dimensions")
    return (tuple(inputs[0][axis] for axis in order),)


def _gather_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    expect_inputs(inputs, 2)
    data, indices = inputs
    axis = position(integer(attributes, "axis", 0), len(data))
    return (data[:axis] + indices + data[axis + 1 :],)


def _pad_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    shape = list(inputs[0])
    axes = positions(integers(attributes, "axes", tuple(range(len(shape)))), len(shape))
    pads = integers(attributes, "pads")
    if len(pads) != 2 * len(axes):
        raise InputError(f"pads {pads} must hold a begin and an end for {len(axes)} axes")
    for index, axis in enumerate(axes):
        shape[axis] += pads[index] + pads[len(axes) + index]
    return (tuple(shape),)


def _cast_bytes(element_bytes: tuple[int, ...], attributes: Attributes) -> tuple[int, ...]:
    target = integer(attributes, "to")
    if target not in _TYPE_BYTES:
        raise InputError(f"attribute to: element type {target} of ONNX is not supported")
    return (_TYPE_BYTES[target],)


def _move(
    name: str,
    shapes: ShapeRule,
    gradients: Gradients | None = None,
    constants: dict[int, str] | None = None,
) -> tuple[OperatorSpec, ...]:
    """An operator, and the one that moves its gradient back (reading dY alone)."""
    gradient = f"{name}Gradient"
    gradients = gradients or gradient_reads(gradient, ())
    forward = pointwise(name, no_operations, shapes, gradients)
    return (
        replace(forward, constants=constants),
        pointwise(gradient, no_operations, None),
    )


SPECS: tuple[OperatorSpec, ...] = (
    *_move("Concat", _concat_shapes, joint_gradient("ConcatGradient", ())),
    *_move("Split", _split_shapes, _split_gradients, {1: "split"}),
    *_move(
        "Slice",
        _slice_shapes,
        constants={1: "starts", 2: "ends", 3: "axes", 4: "steps"},
    ),
    *_move("Transpose", _transpose_shapes),
    *_move("Pad", _pad_shapes, constants={1: "pads", 2: "constant_value", 3: "axes"}),
    pointwise(
        "Gather",
        no_operations,
        _gather_shapes,
        gradient_reads("GatherGradient", (("x", 1),)),
    ),
    # One addition for each gathered element; the gradient is dense, of the whole table.
    pointwise("GatherGradient", per_input(1), None),
    replace(
        pointwise("Cast", no_operations, gradients=gradient_reads("CastGradient", ())),
        result_bytes=_cast_bytes,
    ),
    pointwise("CastGradient", no_operations, None),
)
