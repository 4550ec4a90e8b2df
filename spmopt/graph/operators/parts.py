"""Rules of operators that join, cut, pad or repeat tensors along their axes.

:mod:`.rules` says how rules are called.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from spmopt.core.errors import InputError
from spmopt.graph.operators.attributes import (
    broadcast_shape,
    integer,
    integers,
    position,
    positions,
    text,
)
from spmopt.graph.operators.spec import Attributes, Shape, Shapes
from spmopt.graph.operators.statements import axis_letters, join, turn_round


def concat_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return the inputs side by side along ``axis``."""
    axis = position(integer(attributes, "axis"), len(inputs[0]))
    rest = {shape[:axis] + shape[axis + 1 :] for shape in inputs}
    if len(rest) > 1 or len({len(shape) for shape in inputs}) > 1:
        raise InputError(f"shapes {inputs} differ beside axis {axis}")
    total = sum(shape[axis] for shape in inputs)
    return ((*inputs[0][:axis], total, *inputs[0][axis + 1 :]),)


def concat_gradient_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Read the part of each input; anywhere in dY where not all are wanted."""
    axis = position(integer(attributes, "axis", 0), len(inputs[0]))
    if sum(shape[axis] for shape in outputs) != inputs[0][axis]:
        every = axis_letters(len(inputs[0]))
        there = join([*every[:axis], ":", *every[axis + 1 :]])
        return "; ".join(
            f"y{k}[{join(_apart(every, axis, k))}] = x0[{there}]" for k in range(len(outputs))
        )
    return "; ".join(
        f"y{k}[{here}] = x0[{there}]" for k, (here, there) in enumerate(_parts(outputs, attributes))
    )


concat_computes = split_gradient_computes = turn_round(concat_gradient_computes)


def split_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Parts of input 0 along ``axis``: sizes ``split``, or ``num_outputs`` of about equal size."""
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


def slices_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return every ``steps``-th element from ``starts`` to ``ends`` of each of ``axes``."""
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


def slices_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Read every step-th element from the start of each axis."""
    shape = inputs[0]
    every = axis_letters(len(shape))
    starts, ends = integers(attributes, "starts"), integers(attributes, "ends")
    axes = positions(integers(attributes, "axes", tuple(range(len(starts)))), len(shape))
    steps = integers(attributes, "steps", (1,) * len(starts))
    there = every.copy()
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        taken = range(*slice(start, end, step).indices(shape[axis]))
        there[axis] = f"{taken.step} * {every[axis]} + {taken.start}"
    return f"y0[{join(every)}] = x0[{join(there)}]"


slices_gradient_computes = turn_round(slices_computes)


def pad_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return input 0 and the padding at the begin and the end of each axis."""
    shape = list(inputs[0])
    axes = positions(integers(attributes, "axes", tuple(range(len(shape)))), len(shape))
    pads = integers(attributes, "pads")
    if len(pads) != 2 * len(axes):
        raise InputError(f"pads {pads} must hold a begin and an end for {len(axes)} axes")
    for index, axis in enumerate(axes):
        shape[axis] += pads[index] + pads[len(axes) + index]
    return (tuple(shape),)


def pad_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Read behind the padding at the begin of each axis; anywhere if it is no constant."""
    every, there = axis_letters(len(inputs[0])), _pad(inputs[0], attributes, "-")
    if text(attributes, "mode", "constant") != "constant":
        there = [own if own == letter else ":" for own, letter in zip(there, every, strict=True)]
    return f"y0[{join(every)}] = x0[{join(there)}]"


def pad_gradient_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Read behind the padding at the begin of each axis."""
    there = _pad(outputs[0], attributes, "+")
    return f"y0[{join(axis_letters(len(outputs[0])))}] = x0[{join(there)}]"


def expand_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return input 0 broadcast to attribute ``shape``."""
    return (broadcast_shape(inputs[0], integers(attributes, "shape")),)


def tile_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return input 0 repeated along each axis."""
    shape, repeats = inputs[0], integers(attributes, "repeats")
    if len(repeats) != len(shape) or min(repeats, default=1) < 1:
        raise InputError(f"repeats {repeats} must be {len(shape)} integers of at least 1")
    return (tuple(size * count for size, count in zip(shape, repeats, strict=True)),)


def _parts(shapes: Shapes, attributes: Attributes) -> Iterator[tuple[str, str]]:
    """Return the indices of each part along ``axis``, and those in the whole."""
    axis = position(integer(attributes, "axis", 0), len(shapes[0]))
    begins = accumulate((shape[axis] for shape in shapes), initial=0)
    for k, begin in zip(range(len(shapes)), begins, strict=False):
        here = _apart(axis_letters(len(shapes[0])), axis, k)
        yield join(here), join([*here[:axis], f"{here[axis]} + {begin}", *here[axis + 1 :]])


def _apart(letters: Sequence[str], axis: int, part: int) -> list[str]:
    """Give the axis of a part a loop of its own."""
    return [*letters[:axis], f"{letters[axis]}{part}", *letters[axis + 1 :]]


def _pad(shape: Shape, attributes: Attributes, sign: str) -> list[str]:
    """Return the letters of all axes, plus or minus the padding at the begin of each."""
    axes = positions(integers(attributes, "axes", tuple(range(len(shape)))), len(shape))
    pads = integers(attributes, "pads")
    every = axis_letters(len(shape))
    for place, axis in enumerate(axes):
        if pads[place] or pads[len(axes) + place]:
            every[axis] = f"{every[axis]} {sign} {pads[place]}"
    return every
