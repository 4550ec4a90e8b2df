"""Shapes of the results of operators, from those of the inputs and the attributes.

Every public function is a rule, which ``operators.toml`` calls by its name. How many inputs an
operator takes is said there too, and checked before.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from inspect import getmembers, isfunction
from math import prod

from spmopt.core.errors import InputError
from spmopt.graph.operators.attributes import (
    broadcast_shape,
    expect_rank,
    integer,
    integers,
    position,
    positions,
)
from spmopt.graph.operators.products import matrices, turned
from spmopt.graph.operators.spec import Attributes, Shapes
from spmopt.graph.operators.windows import transposed_window_shape, window_shape

ShapeRule = Callable[[Shapes, Attributes], Shapes]


def same(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return one result, of the shape of input 0."""
    return (inputs[0],)


def broadcast(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return one result, of the shape that all inputs broadcast to."""
    return (broadcast_shape(*inputs),)


def softmax(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return one result, of the shape of input 0, which must have a class axis."""
    if not inputs[0]:
        raise InputError("softmax of a scalar; give a tensor with a class axis")
    position(integer(attributes, "axis", -1), len(inputs[0]))
    return (inputs[0],)


def reduction(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return input 0 without the axes that are reduced, or with 1 in their place (``keepdims``)."""
    shape = inputs[0]
    axes = integers(attributes, "axes", ())
    if not axes and integer(attributes, "noop_with_empty_axes", 0):
        return (shape,)
    gone = positions(axes or tuple(range(len(shape))), len(shape))
    if integer(attributes, "keepdims", 1):
        return (tuple(1 if axis in gone else size for axis, size in enumerate(shape)),)
    return (tuple(size for axis, size in enumerate(shape) if axis not in gone),)


def convolution(inputs: Shapes, attributes: Attributes) -> Shapes:
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


def transposed_convolution(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Make Y (N, M, OH, OW) of X (N, C, H, W) and W (C, M / group, kh, kw)."""
    x, w = inputs[:2]
    expect_rank(x, 3, "input")
    group = integer(attributes, "group", 1)
    if len(w) != len(x) or w[0] != x[1] or group < 1 or x[1] % group:
        raise InputError(f"weight {w} does not suit input {x} in {group} groups")
    filters = w[1] * group
    if len(inputs) == 3 and inputs[2] != (filters,):
        raise InputError(f"bias {inputs[2]} must have shape {(filters,)}")
    return ((x[0], filters, *transposed_window_shape(x[2:], w[2:], attributes)),)


def pooling(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Slide a window over each channel."""
    expect_rank(inputs[0], 3, "input")
    kernel = integers(attributes, "kernel_shape")
    return ((*inputs[0][:2], *window_shape(inputs[0][2:], kernel, attributes)),)


def global_pooling(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Leave one element of each channel."""
    expect_rank(inputs[0], 3, "input")
    return ((*inputs[0][:2], *(1 for _ in inputs[0][2:])),)


def regions(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Pool X (N, C, H, W) in R regions (R, 4), with the image of each (R)."""
    x, regions, images = inputs
    if len(x) != 4 or regions != (*images, 4):
        raise InputError(
            f"X {x}, regions {regions} and images {images} must be 4-D, (R, 4) and (R)"
        )
    height, width = (integer(attributes, f"output_{side}", 1) for side in ("height", "width"))
    return ((*images, x[1], height, width),)


def gemm(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Multiply A (m, k) by B (k, n), either perhaps transposed; a bias broadcasts."""
    if len(inputs[0]) != 2 or len(inputs[1]) != 2:
        raise InputError(f"shapes {inputs[0]} and {inputs[1]} must both have 2 dimensions")
    m, k = turned(inputs[0], attributes, "transA")
    inner, n = turned(inputs[1], attributes, "transB")
    if inner != k:
        raise InputError(f"inner dimensions {k} and {inner} differ")
    if len(inputs) == 3 and broadcast_shape(inputs[2], (m, n)) != (m, n):
        raise InputError(f"bias {inputs[2]} does not broadcast to {(m, n)}")
    return ((m, n),)


def matmul(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Multiply matrices of the last two axes, the others broadcast; vectors as numpy takes them."""
    if not inputs[0] or not inputs[1]:
        raise InputError("a scalar has no matrix product; use Mul")
    a, b = matrices(inputs[0], inputs[1], attributes)
    if a[-1] != b[-2]:
        raise InputError(f"inner dimensions of {inputs[0]} and {inputs[1]} differ")
    rows = a[-2:-1] if len(inputs[0]) > 1 else ()
    columns = b[-1:] if len(inputs[1]) > 1 else ()
    return ((*broadcast_shape(a[:-2], b[:-2]), *rows, *columns),)


def gate(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Multiply X (N, I) and h (N, H) by W (I + H, H)."""
    x, h, w = inputs
    if len(x) != 2 or len(h) != 2 or x[0] != h[0] or w != (x[1] + h[1], h[1]):
        raise InputError(f"x {x}, h {h} and W {w} must be (N, I), (N, H) and (I + H, H)")
    return (h,)


def cell(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return the output h and the state c."""
    if len(set(inputs)) > 1:
        raise InputError(f"i, f, o, g and c must have one shape, are {inputs}")
    return (inputs[0], inputs[0])


def batch_norm(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return one result, of the shape of input 0; one figure for each channel."""
    channels = inputs[0][1:2]
    expect_rank(inputs[0], 2, "input")
    if any(shape != channels for shape in inputs[1:]):
        raise InputError(f"scale, bias and statistics must have shape {channels}")
    return (inputs[0],)


def batch_norm_training(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return Y, and the mean and inverse deviation of each channel."""
    channels = inputs[0][1:2]
    return (*batch_norm(inputs, attributes), channels, channels)


def layer_norm(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return one result, of the shape of input 0."""
    position(integer(attributes, "axis", -1), len(inputs[0]))
    return (inputs[0],)


def layer_norm_training(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return Y, and the mean and inverse deviation of each normalized row."""
    (result,) = layer_norm(inputs, attributes)
    axis = position(integer(attributes, "axis", -1), len(result))
    rows = result[:axis] + (1,) * (len(result) - axis)
    return (result, rows, rows)


def rms_norm_training(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return Y, and the inverse root mean square of each normalized row."""
    return layer_norm_training(inputs, attributes)[:2]


def loss(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return a scalar; labels have the shape of the scores without the class axis."""
    scores, labels = inputs
    axis = position(integer(attributes, "axis", -1), len(scores))
    if labels != scores[:axis] + scores[axis + 1 :]:
        raise InputError(f"labels {labels} do not suit scores {scores} with classes on axis {axis}")
    return ((),)


def expand(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return input 0 broadcast to attribute ``shape``."""
    return (broadcast_shape(inputs[0], integers(attributes, "shape")),)


def tile(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return input 0 repeated along each axis."""
    shape, repeats = inputs[0], integers(attributes, "repeats")
    if len(repeats) != len(shape) or min(repeats, default=1) < 1:
        raise InputError(f"repeats {repeats} must be {len(shape)} integers of at least 1")
    return (tuple(size * count for size, count in zip(shape, repeats, strict=True)),)


def resize(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return ``shape``, which the importer works out of scales or sizes."""
    shape = integers(attributes, "shape")
    if len(shape) != len(inputs[0]) or prod(shape) < 1:
        raise InputError(f"shape {shape} does not suit an input of shape {inputs[0]}")
    return (shape,)


def concat(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return the inputs side by side along ``axis``."""
    axis = position(integer(attributes, "axis"), len(inputs[0]))
    rest = {shape[:axis] + shape[axis + 1 :] for shape in inputs}
    if len(rest) > 1 or len({len(shape) for shape in inputs}) > 1:
        raise InputError(f"shapes {inputs} differ beside axis {axis}")
    total = sum(shape[axis] for shape in inputs)
    return ((*inputs[0][:axis], total, *inputs[0][axis + 1 :]),)


def split(inputs: Shapes, attributes: Attributes) -> Shapes:
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


def slices(inputs: Shapes, attributes: Attributes) -> Shapes:
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


def transpose(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return the axes in the order of ``perm``, or reversed."""
    rank = len(inputs[0])
    order = positions(integers(attributes, "perm", tuple(reversed(range(rank)))), rank)
    if len(order) != rank:
        raise InputError(f"perm {order} must name all {rank} dimensions")
    return (tuple(inputs[0][axis] for axis in order),)


def gather(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return the slices of input 0 along ``axis``, one for each index of input 1."""
    data, indices = inputs
    axis = position(integer(attributes, "axis", 0), len(data))
    return (data[:axis] + indices + data[axis + 1 :],)


def pad(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return input 0 and what ``pads`` adds at the begin and the end of each axis."""
    shape = list(inputs[0])
    axes = positions(integers(attributes, "axes", tuple(range(len(shape)))), len(shape))
    pads = integers(attributes, "pads")
    if len(pads) != 2 * len(axes):
        raise InputError(f"pads {pads} must hold a begin and an end for {len(axes)} axes")
    for index, axis in enumerate(axes):
        shape[axis] += pads[index] + pads[len(axes) + index]
    return (tuple(shape),)


def reshape(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return ``shape``: 0 copies the operand's dimension, one -1 takes what is left."""
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


def strided_view(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return ``shape``: axes split into those of ``split``, in the order of ``perm``, joined."""
    split = {"shape": integers(attributes, "split")}
    turned = transpose(reshape(inputs, split), {"perm": integers(attributes, "perm")})
    return reshape(turned, {"shape": integers(attributes, "shape")})


def flatten(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return a matrix: the axes before ``axis`` joined, and those from it on."""
    shape, axis = inputs[0], integer(attributes, "axis", 1)
    if not -len(shape) <= axis <= len(shape):
        raise InputError(f"axis {axis} is outside a tensor of {len(shape)} dimensions")
    axis += len(shape) if axis < 0 else 0
    return ((prod(shape[:axis]), prod(shape[axis:])),)


def squeeze(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return input 0 without ``axes`` of size 1, by default all such."""
    shape = inputs[0]
    ones = tuple(axis for axis, size in enumerate(shape) if size == 1)
    axes = positions(integers(attributes, "axes", ones), len(shape))
    if any(shape[axis] != 1 for axis in axes):
        raise InputError(f"axes {axes} of {shape} are not all 1")
    return (tuple(size for axis, size in enumerate(shape) if axis not in axes),)


def unsqueeze(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return input 0 with new ``axes`` of size 1."""
    axes = integers(attributes, "axes")
    rank = len(inputs[0]) + len(axes)
    shape = list(inputs[0])
    for axis in sorted(position(axis, rank) for axis in axes):
        shape.insert(axis, 1)
    if len(shape) != rank or len({axis % rank for axis in axes}) != len(axes):
        raise InputError(f"axes {axes} name a dimension twice")
    return (tuple(shape),)


def lookup(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return the rows that are looked up, (look-ups, width)."""
    if len(inputs[0]) != 2:
        raise InputError(f"rows {inputs[0]} must have 2 dimensions, one row for each look-up")
    if integer(attributes, "table") < 1:
        raise InputError(f"table has {integer(attributes, 'table')} rows; give at least 1")
    return (inputs[0],)


def masked(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return the result, and a mask of its shape."""
    return (inputs[0], inputs[0])


SHAPES: dict[str, ShapeRule | None] = {
    "given": None,
    "stated": None,
    **{
        name: rule
        for name, rule in getmembers(sys.modules[__name__], isfunction)
        if rule.__module__ == __name__
    },
}
"""The rules by name."""
