"""Shapes of the results of rarer operators; :mod:`.shapes` has the others.

Every public function is a rule, which the tables call by its name.
"""

from __future__ import annotations

import sys
from inspect import getmembers, isfunction

from spmopt.core.errors import InputError
from spmopt.graph.operators import shapes
from spmopt.graph.operators.attributes import (
    broadcast_shape,
    expect_rank,
    integer,
    integers,
    position,
    text,
)
from spmopt.graph.operators.spec import Attributes, Shapes


def arg(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return input 0 with ``axis`` reduced to the index of one element."""
    axis = integer(attributes, "axis", 0)
    return shapes.reduction(inputs, {**attributes, "axes": (axis,)})


def top(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return the ``k`` largest elements along ``axis``, and where they were."""
    (k,) = integers(attributes, "k")
    axis = position(integer(attributes, "axis", -1), len(inputs[0]))
    if not 1 <= k <= inputs[0][axis]:
        raise InputError(f"k = {k} is outside axis {axis} of {inputs[0]}")
    found = (*inputs[0][:axis], k, *inputs[0][axis + 1 :])
    return (found, found)


def pooling_indices(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Slide a window over each channel; two results of a shape."""
    return shapes.pooling(inputs, attributes) * 2


def channels_last_pooling(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Slide a window over each channel of images whose channels are the last axis."""
    (found,) = shapes.pooling((_channels_first(inputs[0]),), attributes)
    return ((found[0], *found[2:], found[1]),)


def laid_out_pooling(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Slide a window over each channel, which are the last axis where ``channels_last`` says so."""
    last = integer(attributes, "channels_last", 0)
    return channels_last_pooling(inputs, attributes) if last else shapes.pooling(inputs, attributes)


def laid_out_global_pooling(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Leave one element of each channel, the last axis where ``channels_last`` says so."""
    x = inputs[0]
    expect_rank(x, 3, "input")
    ones = (1,) * (len(x) - 2)
    last = integer(attributes, "channels_last", 0)
    return ((x[0], *ones, x[-1]) if last else (*x[:2], *ones),)


def _channels_first(shape: tuple[int, ...]) -> tuple[int, ...]:
    expect_rank(shape, 3, "input")
    return (shape[0], shape[-1], *shape[1:-1])


def group_norm(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return input 0; scale and bias are of each channel, or of each group."""
    x, *rest = inputs
    expect_rank(x, 2, "input")
    groups = integer(attributes, "num_groups")
    if groups < 1 or x[1] % groups:
        raise InputError(f"num_groups {groups} must divide {x[1]} channels")
    if any(each not in ((x[1],), (groups,)) for each in rest):
        raise InputError(f"scale and bias {rest} do not suit {x[1]} channels in {groups} groups")
    return (x,)


def group_norm_training(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return Y, and the mean and inverse deviation of each group of each image."""
    (result,) = group_norm(inputs, attributes)
    statistics = (result[0], integer(attributes, "num_groups"))
    return (result, statistics, statistics)


def class_loss(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return a scalar, or a number for each label; scores have their classes on axis 1."""
    scores, labels = inputs[:2]
    if labels != scores[:1] + scores[2:]:
        raise InputError(f"labels {labels} do not suit scores {scores} with classes on axis 1")
    return (labels if text(attributes, "reduction", "mean") == "none" else (),)


def as_indices(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return one element for each of the indices, input 1."""
    if len(inputs[0]) != len(inputs[1]):
        raise InputError(f"data {inputs[0]} and indices {inputs[1]} must be of one rank")
    return (inputs[1],)


def gather_nd(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return a slice for each row of indices, behind ``batch_dims`` axes of both."""
    data, indices = inputs
    first = integer(attributes, "batch_dims", 0)
    expect_rank(indices, 1, "indices")
    if not 0 <= first < len(indices) or first + indices[-1] > len(data):
        raise InputError(f"indices {indices} do not suit data {data}")
    return (indices[:-1] + data[first + indices[-1] :],)


def one_hot(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return the indices with a new ``axis`` of ``depth``."""
    indices = inputs[0]
    depth = attributes.get("depth")
    depth = depth[0] if isinstance(depth, tuple) else depth
    if not isinstance(depth, int | float) or depth < 1:
        raise InputError(f"depth {depth} must be an integer of at least 1")
    axis = position(integer(attributes, "axis", -1), len(indices) + 1)
    return ((*indices[:axis], int(depth), *indices[axis:]),)


def depth_to_space(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return (N, C / b^2, H b, W b) of (N, C, H, W)."""
    block = integer(attributes, "blocksize")
    if len(inputs[0]) != 4 or block < 1 or inputs[0][1] % block**2:
        raise InputError(f"blocks of {block} do not suit an input of shape {inputs[0]}")
    n, channels, height, width = inputs[0]
    return ((n, channels // block**2, height * block, width * block),)


def space_to_depth(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return (N, C b^2, H / b, W / b) of (N, C, H, W)."""
    block = integer(attributes, "blocksize")
    if len(inputs[0]) != 4 or block < 1 or inputs[0][2] % block or inputs[0][3] % block:
        raise InputError(f"blocks of {block} do not suit an input of shape {inputs[0]}")
    n, channels, height, width = inputs[0]
    return ((n, channels * block**2, height // block, width // block),)


def broadcast_of_two(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return the shape that the first two inputs broadcast to."""
    return (broadcast_shape(*inputs[:2]),)


def matmul_of_two(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Multiply the first two inputs as matrices."""
    return shapes.matmul(_two(inputs), attributes)


def gemm_of_two(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Multiply the first two inputs, either perhaps transposed."""
    return shapes.gemm(_two(inputs), attributes)


def convolution_of_two(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Slide filters, input 1, over input 0."""
    return shapes.convolution(_two(inputs), attributes)


def _two(inputs: Shapes) -> Shapes:
    if len(inputs) < 2:
        raise InputError(f"takes 2 operands or more, was given {len(inputs)}")
    return inputs[:2]


def dynamic_quantization(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return the integers, their scale, and their zero point."""
    return (inputs[0], (), ())


def einsum(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return the product of two operands by ``equation``, ``"bij,bjk->bik"``."""
    first, second, result = equation(attributes)
    if len(first) != len(inputs[0]) or len(second) != len(inputs[1]):
        raise InputError(f"equation {attributes['equation']} does not suit shapes {inputs}")
    sizes = dict(zip(first, inputs[0], strict=True))
    for label, size in zip(second, inputs[1], strict=True):
        if sizes.setdefault(label, size) != size:
            raise InputError(f"equation {attributes['equation']}: {label} differs in {inputs}")
    return (tuple(sizes[label] for label in result),)


def equation(attributes: Attributes) -> tuple[str, str, str]:
    """Return the labels of two operands and of the result.

    Raises
    ------
    InputError
        It is no equation of two operands whose labels are in two places each, or more.
    """
    given = text(attributes, "equation", "")
    operands, arrow, result = given.partition("->")
    first, comma, second = operands.partition(",")
    parts = (first, second, result)
    labels = "".join(parts)
    once = all(len(set(part)) == len(part) for part in parts)
    if not arrow or not comma or not once or not all(c.isascii() and c.isalpha() for c in labels):
        raise InputError(f"equation {given!r} must be such as 'bij,bjk->bik', each label once")
    if any(labels.count(label) < 2 for label in labels):
        raise InputError(f"equation {given!r} sums a label of one operand; use ReduceSum before")
    return parts


def recurrent(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Multiply X (N, I) by one direction of W (D, G H, I), transposed."""
    x, w = inputs[:2]
    wanted = (w[0], 2 * w[1]) if len(w) == 3 else ()
    if len(x) != 2 or len(w) != 3 or w[2] != x[1] or inputs[2:] not in ((), (wanted,)):
        raise InputError(f"X, W and bias {inputs} must be (N, I), (D, G H, I) and (D, 2 G H)")
    return ((x[0], w[1]),)


def recurrent_state(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return the state and the output of an LSTM, each (N, H)."""
    return recurrent_hidden(inputs, attributes, gates=4) * 2


def recurrent_hidden(inputs: Shapes, attributes: Attributes, gates: int = 3) -> Shapes:
    """Return the new state (N, H) of gates from X and from h, and the state before."""
    state = inputs[2]
    if len(state) != 2 or inputs[:2] != ((state[0], gates * state[1]),) * 2:
        raise InputError(f"gates {inputs[:2]} must be {gates} times as wide as the state {state}")
    return (state,)


def linear_attention(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return the output (B, T, heads times values) and the state (B, heads, keys, values)."""
    if len(inputs) < 3 or any(len(each) != 3 for each in inputs[:3]):
        raise InputError(f"query, key and value {inputs[:3]} must have 3 dimensions")
    query, key, value = inputs[:3]
    heads, shared = (integer(attributes, f"{of}_num_heads") for of in ("q", "kv"))
    if min(heads, shared) < 1 or key[2] % shared or value[2] % shared:
        raise InputError(f"{shared} heads do not suit key {key} and value {value}")
    keys, values = key[2] // shared, value[2] // shared
    return ((*query[:2], heads * values), (query[0], shared, keys, values))


def blocked(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Multiply A (..., K) by packed weights (K, N)."""
    if inputs[0][-1:] != (integer(attributes, "K"),):
        raise InputError(f"A {inputs[0]} must have {integer(attributes, 'K')} columns (K)")
    return ((*inputs[0][:-1], integer(attributes, "N")),)


FURTHER_SHAPES: dict[str, shapes.ShapeRule | None] = {
    name: rule
    for name, rule in getmembers(sys.modules[__name__], isfunction)
    if rule.__module__ == __name__ and not name.startswith("_") and name != "equation"
}
"""The rules by name."""
