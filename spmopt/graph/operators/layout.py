"""Rules of operators that rearrange the elements of one tensor: views, transposes, blocks.

:mod:`.rules` says how rules are called.
"""

from __future__ import annotations

from math import prod

from spmopt.core.errors import InputError
from spmopt.graph.operators.attributes import integer, integers, position, positions, text
from spmopt.graph.operators.spec import Attributes, Shape, Shapes
from spmopt.graph.operators.statements import axis_letters, join, turn_round


def transpose_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return the axes in the order of ``perm``, or reversed."""
    rank = len(inputs[0])
    order = positions(integers(attributes, "perm", tuple(reversed(range(rank)))), rank)
    if len(order) != rank:
        raise InputError(f"perm {order} must name all {rank} dimensions")
    return (tuple(inputs[0][axis] for axis in order),)


def transpose_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Read the axes in the order of ``perm``."""
    rank = len(inputs[0])
    order = positions(integers(attributes, "perm", tuple(reversed(range(rank)))), rank)
    every = axis_letters(rank)
    return f"y0[{join([every[axis] for axis in order])}] = x0[{join(every)}]"


transpose_gradient_computes = turn_round(transpose_computes)


def reshape_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return ``shape``: 0 copies the operand's dimension, one -1 takes the rest."""
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


def strided_view_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return ``shape``: axes split into those of ``split``, in the order of ``perm``, joined."""
    split = {"shape": integers(attributes, "split")}
    turned = transpose_shapes(reshape_shapes(inputs, split), {"perm": integers(attributes, "perm")})
    return reshape_shapes(turned, {"shape": integers(attributes, "shape")})


def flatten_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return a matrix: the axes before ``axis`` joined, and those from it on."""
    shape, axis = inputs[0], integer(attributes, "axis", 1)
    if not -len(shape) <= axis <= len(shape):
        raise InputError(f"axis {axis} is outside a tensor of {len(shape)} dimensions")
    axis += len(shape) if axis < 0 else 0
    return ((prod(shape[:axis]), prod(shape[axis:])),)


def squeeze_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return input 0 without ``axes`` of size 1, by default all such."""
    shape = inputs[0]
    ones = tuple(axis for axis, size in enumerate(shape) if size == 1)
    axes = positions(integers(attributes, "axes", ones), len(shape))
    if any(shape[axis] != 1 for axis in axes):
        raise InputError(f"axes {axes} of {shape} are not all 1")
    return (tuple(size for axis, size in enumerate(shape) if axis not in axes),)


def unsqueeze_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return input 0 with new ``axes`` of size 1."""
    axes = integers(attributes, "axes")
    rank = len(inputs[0]) + len(axes)
    shape = list(inputs[0])
    for axis in sorted(position(axis, rank) for axis in axes):
        shape.insert(axis, 1)
    if len(shape) != rank or len({axis % rank for axis in axes}) != len(axes):
        raise InputError(f"axes {axes} name a dimension twice")
    return (tuple(shape),)


def depth_to_space_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return (N, C / b^2, H b, W b) of (N, C, H, W)."""
    block = integer(attributes, "blocksize")
    if len(inputs[0]) != 4 or block < 1 or inputs[0][1] % block**2:
        raise InputError(f"blocks of {block} do not suit an input of shape {inputs[0]}")
    n, channels, height, width = inputs[0]
    return ((n, channels // block**2, height * block, width * block),)


def depth_to_space_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Read the channels of each block."""
    deep, wide = _blocks(inputs[0], outputs[0], attributes)
    return f"y0{wide} = x0{deep}"


depth_to_space_gradient_computes = turn_round(depth_to_space_computes)


def space_to_depth_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return (N, C b^2, H / b, W / b) of (N, C, H, W)."""
    block = integer(attributes, "blocksize")
    if len(inputs[0]) != 4 or block < 1 or inputs[0][2] % block or inputs[0][3] % block:
        raise InputError(f"blocks of {block} do not suit an input of shape {inputs[0]}")
    n, channels, height, width = inputs[0]
    return ((n, channels * block**2, height // block, width // block),)


def space_to_depth_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Write the channels of each block; always in columns, rows of blocks first."""
    deep, wide = _blocks(outputs[0], inputs[0], {**attributes, "mode": "DCR"})
    return f"y0{deep} = x0{wide}"


space_to_depth_gradient_computes = turn_round(space_to_depth_computes)


def _blocks(deep: Shape, wide: Shape, attributes: Attributes) -> tuple[str, str]:
    """Index images whose blocks are channels, and those images spread out."""
    block, channels = integer(attributes, "blocksize"), wide[1]
    if text(attributes, "mode", "DCR") == "DCR":
        channel = f"{block * channels}*i + {channels}*j + c"
    else:
        channel = f"{block * block}*c + {block}*i + j"
    return f"[n, {channel}, h, w]", "[n, c, h@i, w@j]"
