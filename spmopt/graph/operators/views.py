"""Shape-only operators: the result is the operand under another shape, no data moves.

``Lookup`` stands for reading an embedding table that is far larger than any SPM and stays in
DRAM. Its operand is not the table but the rows looked up, one after another, which the DMA
gathers when they are loaded; attribute ``table`` is the number of rows of the whole table, which
only the count of parameters needs. The gradient is that of these rows (a "sparse" one), and so
is what an optimizer reads and writes. Row numbers, a few bytes each, are left out, and a row that
is looked up twice counts twice. (``Gather`` reads the whole table and has a dense gradient.)
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from spmopt.core.errors import InputError
from spmopt.graph.operators.attributes import (
    expect_inputs,
    integer,
    integers,
    position,
    positions,
)
from spmopt.graph.operators.pointwise import (
    ShapeRule,
    gradient_reads,
    no_operations,
    per_output,
    pointwise,
    same_shape,
)
from spmopt.graph.operators.spec import (
    Attributes,
    OperatorSpec,
    Shapes,
    Style,
    TrainingForm,
)


def _reshape_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """0 copies the operand's dimension, one -1 takes what is left."""
    source, wanted = inputs[0], integers(attributes, "shape")
    copy_zero = not integer(attributes, "allowzero", 0)
    if copy_zero and any(d == 0 and axis >= len(source) for axis, d in enumerate(wanted)):
        raise InputError(f"shape {wanted} copies a dimension that {source} does not have")
    shape = [source[axis] if d == 0 and copy_zero else d for axis, d in enumerate(wanted)]
    known = prod(d for d in shape if d != -1)
    if shape.count(-1) == 1 and known > 0:
        shape[shape.index(-1)] = prod(source) // known
    if min(shape, default=1) < 1 or prod(shape) != prod(source):
        raise InputError(f"shape {wanted} does not hold the {prod(source)} elements of {source}")
    return (tuple(shape),)


def _flatten_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    shape, axis = inputs[0], integer(attributes, "axis", 1)
    if not -len(shape) <= axis <= len(shape):
        raise InputError(f"axis {axis} is outside a tensor of {len(shape)} dimensions")
    axis += len(shape) if axis < 0 else 0
    return ((prod(shape[:axis]), prod(shape[axis:])),)


def _squeeze_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    shape = inputs[0]
    ones = tuple(axis for axis, size in enumerate(shape) if size == 1)
    axes = positions(integers(attributes, "axes", ones), len(shape))
    if any(shape[axis] != 1 for axis in axes):
        raise InputError(f"axes {axes} of {shape} are not all 1")
    return (tuple(size for axis, size in enumerate(shape) if axis not in axes),)


def _unsqueeze_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    axes = integers(attributes, "axes")
    rank = len(inputs[0]) + len(axes)
    shape = list(inputs[0])
    for axis in sorted(position(axis, rank) for axis in axes):
        shape.insert(axis, 1)
    if len(shape) != rank or len({axis % rank for axis in axes}) != len(axes):
        raise InputError(f"axes {axes} name a dimension twice")
    return (tuple(shape),)


def _lookup_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    expect_inputs(inputs, 1)
    if len(inputs[0]) != 2:
        raise InputError(f"rows {inputs[0]} must have 2 dimensions, one row for each look-up")
    if integer(attributes, "table") < 1:
        raise InputError(f"table has {integer(attributes, 'table')} rows; give at least 1")
    return (inputs[0],)


def _view(
    name: str, shapes: ShapeRule | None, constants: dict[int, str] | None = None
) -> OperatorSpec:
    return OperatorSpec(
        name=name,
        style=Style.VIEW,
        shapes=shapes,
        operations=no_operations,
        gradients=gradient_reads("ViewGradient", ()),
        constants=constants,
    )


def _mask_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    return (inputs[0], inputs[0])


def _mask_bytes(element_bytes: tuple[int, ...], attributes: Attributes) -> tuple[int, ...]:
    return (element_bytes[0], 1)


SPECS: tuple[OperatorSpec, ...] = (
    _view("Identity", same_shape),
    _view("Reshape", _reshape_shapes, {1: "shape"}),
    _view("Flatten", _flatten_shapes),
    _view("Squeeze", _squeeze_shapes, {1: "axes"}),
    _view("Unsqueeze", _unsqueeze_shapes, {1: "axes"}),
    _view("Lookup", _lookup_shapes),
    # The gradient of a view, or of a sum: dY itself.
    _view("ViewGradient", None),
    # At inference a dropout does nothing; in training it also writes a mask of 1 byte an
    # element, which is all that its gradient needs (a comparison and a scaling each).
    replace(
        _view("Dropout", same_shape, {1: "ratio", 2: "training_mode"}),
        gradients=None,
        training=TrainingForm(operator="DropoutTraining", inputs=(0,)),
    ),
    replace(
        pointwise(
            "DropoutTraining",
            per_output(2),
            _mask_shapes,
            gradient_reads("DropoutGradient", (("y", 1),)),
        ),
        result_bytes=_mask_bytes,
    ),
    pointwise("DropoutGradient", per_output(2), None),
)
