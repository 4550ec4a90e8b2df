"""Rules of resized images: which elements they take of their source, as ONNX's ``Resize`` says.

Along an axis of sizes ``n`` and ``m`` result ``y`` is at position ``y n / m`` of the source, moved
as the coordinate transformation says. Of the two elements around it the nearest one is taken, or
both. Other modes, and transformations that more than the two sizes decide, take the whole axis,
of feature maps also where its size stays: a crop may be enlarged to the size of the whole.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import gcd, prod
from string import ascii_letters

from spmopt.core.errors import InputError
from spmopt.graph.operators.attributes import integer, integers, text
from spmopt.graph.operators.spec import Attributes, Shapes
from spmopt.graph.operators.statements import axis_letters, join

_LINEAR = ("linear", "bilinear", "trilinear")
_AFTER: dict[str, tuple[int, int, int]] = {
    "floor": (1, 0, 0),
    "ceil": (1, 1, -1),
    "round_prefer_floor": (2, 1, -1),
    "round_prefer_ceil": (2, 1, 0),
}
"""Rounding a quotient ``v / d`` by ``floor((a v + b d + c) / (a d))``: these three."""


def resize_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return ``shape``, which the importer works out of scales or sizes."""
    shape = integers(attributes, "shape")
    if len(shape) != len(inputs[0]) or prod(shape) < 1:
        raise InputError(f"shape {shape} does not suit an input of shape {inputs[0]}")
    return (shape,)


def resize_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Read the neighborhood of each element's position; all of an axis where it is not told."""
    letters = ascii_letters[: len(outputs[0])]
    axes = [
        [letter]
        if size == wanted and (place < 2 or _position(size, wanted, attributes) is not None)
        else _take(letter, size, wanted, attributes) or [":"]
        for place, (letter, size, wanted) in enumerate(
            zip(letters, inputs[0], outputs[0], strict=True)
        )
    ]
    reads = " * ".join(f"x0[{', '.join(each)}]" for each in product(*axes))
    return f"y0[{', '.join(letters)}] = {reads}"


def resample_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Take any element for any other along axes that change their size."""
    small, large = inputs[0], outputs[0]
    ours, theirs = list[str](), list[str]()
    for letter, size, other in zip(axis_letters(len(large)), large, small, strict=True):
        ours.append(letter if size >= other else ":")
        theirs.append(letter if size == other else ":")
    return f"y0[{join(ours)}] = x0[{join(theirs)}]"


def _take(loop: str, size: int, wanted: int, attributes: Attributes) -> list[str]:
    """Return the indices that a loop takes of an axis of ``size``; none if that is not known."""
    moved = _position(size, wanted, attributes)
    mode = text(attributes, "mode", "nearest")
    if moved is None or (size > wanted and integer(attributes, "antialias", 0)):
        return []
    step, first, divisor, exact = moved
    steps: tuple[int, ...]
    if mode in _LINEAR:
        ends, limits = (0, divisor), (-1, size)
        steps = ends if exact else (-1, divisor - 1, divisor + 1)
    elif mode == "nearest" and (
        rounding := _AFTER.get(text(attributes, "nearest_mode", "round_prefer_floor"))
    ):
        scale, whole, less = rounding
        step, first = scale * step, scale * first + whole * divisor + less
        divisor *= scale
        ends, limits = (0, 0), (0, size - 1)
        steps = (0,) if exact else (-1, 1)
    else:
        return []
    lowest = (first + ends[0]) // divisor
    highest = (step * (wanted - 1) + first + ends[1]) // divisor
    # What is outside by more than linear weights reach is taken from the boundary: no affine index.
    if lowest < limits[0] or highest > limits[1]:
        return []
    common = gcd(step, divisor)
    by, of = step // common, divisor // common
    return [f"({by} * {loop} + {(first + each) // common}) // {of}" for each in steps]


def _position(size: int, wanted: int, attributes: Attributes) -> tuple[int, int, int, bool] | None:
    """Return how the position of ``y`` is ``(step y + first) / divisor``, and if floats are exact.

    Where they are not, the result is within one of the numerator: a float that is near a
    whole number may be on either side of it.
    """
    mode = text(attributes, "coordinate_transformation_mode", "half_pixel")
    ratio = Fraction(size, wanted)
    if mode == "align_corners" and wanted > 1:
        ratio = Fraction(size - 1, wanted - 1)
        return ratio.numerator, 0, ratio.denominator, _is_power(ratio.denominator)
    step, divisor = ratio.numerator, ratio.denominator
    exact = _is_power(step)
    if mode == "asymmetric":
        return step, 0, divisor, exact
    if mode in ("half_pixel", "half_pixel_symmetric") or (
        mode == "pytorch_half_pixel" and wanted > 1
    ):
        return 2 * step, step - divisor, 2 * divisor, exact
    if mode == "tf_half_pixel_for_nn":
        return 2 * step, step, 2 * divisor, exact
    return None


def _is_power(number: int) -> bool:
    """Return whether a number is a power of two, so that floats hold its quotients."""
    return number & (number - 1) == 0
