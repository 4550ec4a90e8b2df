"""Rules of operators that reduce axes: softmax and losses, sums, arg, top elements.

:mod:`.rules` says how rules are called.
"""

from __future__ import annotations

from spmopt.core.errors import InputError
from spmopt.graph.operators.attributes import integer, integers, position, positions, text
from spmopt.graph.operators.elementwise import elementwise_computes
from spmopt.graph.operators.spec import Attributes, Shape, Shapes
from spmopt.graph.operators.statements import axis_letters, join, row


def softmax_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return one result, of the shape of input 0, which must have a class axis."""
    if not inputs[0]:
        raise InputError("softmax of a scalar; give a tensor with a class axis")
    position(integer(attributes, "axis", -1), len(inputs[0]))
    return (inputs[0],)


def softmax_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Take the maximum, the sum, and the quotient of each row."""
    every, _, sums, quotient = _softmax(inputs[0], attributes)
    return f"{sums}; y0[{every}] = {quotient}"


def softmax_gradient_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Add up dY Y of each row; then dX."""
    every, rest = row(inputs[0], attributes)
    both = f"x0[{every}] * x1[{every}]"
    return f"s[{rest}] += {both}; y0[{every}] = {both} * s[{rest}]"


def loss_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return a scalar; labels have the shape of the scores without the class axis."""
    scores, labels = inputs
    axis = position(integer(attributes, "axis", -1), len(scores))
    if labels != scores[:axis] + scores[axis + 1 :]:
        raise InputError(f"labels {labels} do not suit scores {scores} with classes on axis {axis}")
    return ((),)


def loss_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Add up a number of each row of scores and its label."""
    _, rest, sums, quotient = _softmax(inputs[0], attributes)
    return f"{sums}; y0[()] += {quotient} * x1[{rest}]"


def loss_gradient_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Take the softmax of each row again; then dX."""
    every, rest, sums, quotient = _softmax(inputs[0], attributes)
    return f"{sums}; y0[{every}] = {quotient} * x1[{rest}]"


def class_loss_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return a scalar, or a number for each label; scores have their classes on axis 1."""
    scores, labels = inputs[:2]
    if labels != scores[:1] + scores[2:]:
        raise InputError(f"labels {labels} do not suit scores {scores} with classes on axis 1")
    return (labels if text(attributes, "reduction", "mean") == "none" else (),)


def class_loss_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Pick a number of each label; a mean by weights needs the sum of these."""
    weights, reduction = " * x2[:]" if inputs[2:] else "", text(attributes, "reduction", "mean")
    picked = f"x0[n, :, *y] * x1[n, *y]{weights}"
    if reduction == "none":
        return f"y0[n, *y] = {picked}"
    weighted = bool(weights) or "ignore_index" in attributes
    if reduction == "mean" and weighted:
        return f"s[()] += x1[n, *y]{weights}; y0[()] += {picked} * s[()]"
    return f"y0[()] += {picked}"


def reduction_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return input 0 without the axes that are reduced, or with 1 in their place (``keepdims``)."""
    shape = inputs[0]
    axes = integers(attributes, "axes", ())
    if not axes and integer(attributes, "noop_with_empty_axes", 0):
        return (shape,)
    gone = positions(axes or tuple(range(len(shape))), len(shape))
    if integer(attributes, "keepdims", 1):
        return (tuple(1 if axis in gone else size for axis, size in enumerate(shape)),)
    return (tuple(size for axis, size in enumerate(shape) if axis not in gone),)


def reduction_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Combine over ``axes``; without them, over axes that the result lacks."""
    if "axes" not in attributes and "keepdims" not in attributes and outputs[0] != ():
        return elementwise_computes(inputs, outputs, attributes)  # a gradient of what was broadcast
    every, rest = _reduce(inputs[0], outputs[0], attributes)
    return f"y0[{rest}] += x0[{every}]"


def whole_reduction_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Take all elements along ``axes`` at once: results of some of them cannot be combined."""
    every, rest = _reduce(inputs[0], outputs[0], attributes)
    return f"s[{rest}] += x0[{every}]; y0[{rest}] = s[{rest}]"


def reduction_gradient_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Repeat dY along the axes that were reduced; X and Y are read as they are, too."""
    every, rest = _reduce(outputs[0], inputs[0], attributes)
    more = (
        f" * x{k}[{every if shape == outputs[0] else rest}]" for k, shape in enumerate(inputs) if k
    )
    return f"y0[{every}] = x0[{rest}]{''.join(more)}"


def arg_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return input 0 with ``axis`` reduced to the index of one element."""
    axis = integer(attributes, "axis", 0)
    return reduction_shapes(inputs, {**attributes, "axes": (axis,)})


def arg_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Find the index of an element along ``axis``."""
    axis = integer(attributes, "axis", 0)
    return whole_reduction_computes(inputs, outputs, {**attributes, "axes": (axis,)})


def top_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return the ``k`` largest elements along ``axis``, and where they were."""
    (k,) = integers(attributes, "k")
    axis = position(integer(attributes, "axis", -1), len(inputs[0]))
    if not 1 <= k <= inputs[0][axis]:
        raise InputError(f"k = {k} is outside axis {axis} of {inputs[0]}")
    found = (*inputs[0][:axis], k, *inputs[0][axis + 1 :])
    return (found, found)


def _softmax(shape: Shape, attributes: Attributes) -> tuple[str, str, str, str]:
    """Return the letters of a row, its maximum and sum as statements, and derived values."""
    every, rest = row(shape, attributes)
    sums = f"m[{rest}] max= x0[{every}]; l[{rest}] += x0[{every}] * m[{rest}]"
    return every, rest, sums, f"x0[{every}] * m[{rest}] * l[{rest}]"


def _reduce(shape: Shape, result: Shape, attributes: Attributes) -> tuple[str, str]:
    """Return the indices of the operand reduced along ``axes``, and of the result."""
    every = axis_letters(len(shape))
    axes = integers(attributes, "axes", ())
    nothing = not axes and integer(attributes, "noop_with_empty_axes", 0)
    gone = () if nothing else positions(axes or tuple(range(len(shape))), len(shape))
    kept = len(result) == len(shape)
    rest = [
        "0" if axis in gone else letter
        for axis, letter in enumerate(every)
        if kept or axis not in gone
    ]
    return join(every), join(rest)
