"""Rules of normalizations: batch, layer, RMS and group norm, with their training forms.

:mod:`.rules` says how rules are called.
"""

from __future__ import annotations

from spmopt.core.errors import InputError
from spmopt.graph.operators.attributes import expect_rank, integer, integers, position, positions
from spmopt.graph.operators.spec import Attributes, Shape, Shapes
from spmopt.graph.operators.statements import align, axis_letters, join, row


def batch_norm_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return one result, of the shape of input 0; one figure for each channel."""
    channels = inputs[0][1:2]
    expect_rank(inputs[0], 2, "input")
    if any(shape != channels for shape in inputs[1:]):
        raise InputError(f"scale, bias and statistics must have shape {channels}")
    return (inputs[0],)


def batch_norm_training_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return Y, and the mean and inverse deviation of each channel."""
    channels = inputs[0][1:2]
    return (*batch_norm_shapes(inputs, attributes), channels, channels)


def layer_norm_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return one result, of the shape of input 0."""
    position(integer(attributes, "axis", -1), len(inputs[0]))
    return (inputs[0],)


def layer_norm_training_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return Y, and the mean and inverse deviation of each normalized row."""
    (result,) = layer_norm_shapes(inputs, attributes)
    axis = position(integer(attributes, "axis", -1), len(result))
    rows = result[:axis] + (1,) * (len(result) - axis)
    return (result, rows, rows)


def rms_norm_training_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return Y, and the inverse root mean square of each normalized row."""
    return layer_norm_training_shapes(inputs, attributes)[:2]


def row_norm_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Add up each row, and its squares; then normalize, scale and shift; statistics are results."""
    shape = inputs[0]
    axis = position(integer(attributes, "axis", -1), len(shape))
    every, rest = axis_letters(len(shape)), axis_letters(axis)
    scales = "".join(f" * {align(f'x{k}', each, shape)}" for k, each in enumerate(inputs) if k)
    kept = join([*rest, *"0" * (len(shape) - axis)])
    x, all_axes, rows = f"x0[{join(every)}]", join(every), join(rest)
    return (
        f"u[{rows}] += {x}; v[{rows}] += {x} * u[{rows}]; "
        f"y0[{all_axes}] = {x} * u[{rows}] * v[{rows}]{scales}; "
        f"y1[{kept}] = u[{rows}]; y2[{kept}] = v[{rows}]"
    )


def norm_gradient_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Of dY, X, scale and statistics.

    Sums over elements with one statistic, then dX; sums for the rest. Statistics of channels are of
    one axis, those of rows have all.
    """
    shape = inputs[0]
    # Behind them gradients so far of scales that several nodes share, which others have summed up.
    statistics = [each for each in inputs[3:] if each == inputs[3]]
    letters = axis_letters(len(shape))
    if all(len(each) == 1 for each in statistics) and len(shape) > 1:
        own, rest = f"[{letters[1]}]", f"[{letters[1]}]"
        scales = f" * x2{own}"
    else:
        # From the end: a batch may be of 1, too.
        axis = max((k for k, size in enumerate(statistics[0], 1) if size > 1), default=0)
        own = f"[{join([*letters[:axis], *'0' * (len(shape) - axis)])}]"
        rest, scales = f"[{join(letters[:axis])}]", f" * {align('x2', inputs[2], shape)}"
    every = join(letters)
    read = f"x0[{every}] * x1[{every}]{scales}"
    read += "".join(f" * x{k}{own}" for k in range(3, 3 + len(statistics)))
    found = []
    for k, each in enumerate(outputs):
        if each == shape:
            found.append(f"s{rest} += {read}; y{k}[{every}] = {read} * s{rest}")
        else:
            target = f"y{k}{own}" if len(each) == 1 < len(shape) and rest == own else None
            found.append(f"{target or align(f'y{k}', each, shape)} += {read}")
    return "; ".join(found)


def group_norm_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return input 0; scale and bias are of each channel, or of each group."""
    x, *rest = inputs
    expect_rank(x, 2, "input")
    groups = integer(attributes, "num_groups")
    if groups < 1 or x[1] % groups:
        raise InputError(f"num_groups {groups} must divide {x[1]} channels")
    if any(each not in ((x[1],), (groups,)) for each in rest):
        raise InputError(f"scale and bias {rest} do not suit {x[1]} channels in {groups} groups")
    return (x,)


def group_norm_training_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return Y, and the mean and inverse deviation of each group of each image."""
    (result,) = group_norm_shapes(inputs, attributes)
    statistics = (result[0], integer(attributes, "num_groups"))
    return (result, statistics, statistics)


def group_norm_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Add up each group, and its squares; then normalize, scale and shift."""
    x = "x0[n, g@c, *y]"
    scales = " * ".join(_of_group(k, inputs) for k in range(1, len(inputs)))
    return (
        f"u[n, g] += {x}; v[n, g] += {x} * u[n, g]; "
        f"y0[n, g@c, *y] = {x} * u[n, g] * v[n, g] * {scales}; "
        "y1[n, g] = u[n, g]; y2[n, g] = v[n, g]; g < num_groups"
    )


def group_norm_gradient_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Of dY, X, scale and statistics: sums over groups, then dX; sums for scale and bias."""
    read = "x0[n, g@c, *y] * x1[n, g@c, *y] * x3[n, g] * x4[n, g]"
    found = []
    for k, shape in enumerate(outputs):
        if shape == inputs[1]:
            scaled = f"{read} * {_of_group(2, inputs)}"
            found.append(f"s[n, g] += {scaled}; y{k}[n, g@c, *y] = {scaled} * s[n, g]")
        else:
            found.append(f"{_of_group(k, outputs, 'y', inputs[1])} += {read}")
    return "; ".join([*found, "g < num_groups"])


def row_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Add up each row along ``axis``; then the quotient."""
    every, rest = row(inputs[0], attributes)
    return f"s[{rest}] += x0[{every}]; y0[{every}] = x0[{every}] * s[{rest}]"


def mean_variance_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Add up elements, and their squares, over ``axes``; then normalize."""
    rank = len(inputs[0])
    gone = positions(integers(attributes, "axes", (0, 2, 3)[: max(rank - 1, 1)]), rank)
    letters = axis_letters(rank)
    every, rest = join(letters), join([each for k, each in enumerate(letters) if k not in gone])
    return (
        f"u[{rest}] += x0[{every}]; v[{rest}] += x0[{every}] * u[{rest}]; "
        f"y0[{every}] = x0[{every}] * u[{rest}] * v[{rest}]"
    )


def _of_group(k: int, shapes: Shapes, name: str = "x", images: Shape | None = None) -> str:
    """Index tensors by channel, or by group."""
    channels = (shapes[0] if images is None else images)[1]
    return f"{name}{k}[{'g@c' if shapes[k] == (channels,) else 'g'}]"
