"""What rarer operators compute; :mod:`.computes` has the others, and says how."""

from __future__ import annotations

from string import ascii_letters

from spmopt.graph.operators import computes
from spmopt.graph.operators.attributes import integer, integers, position, positions, text
from spmopt.graph.operators.computes import Computes
from spmopt.graph.operators.further_shapes import equation
from spmopt.graph.operators.spec import Attributes, Shape, Shapes


def batch(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Take any element of an image for any of the same image; operands without images are whole."""
    images = max((*inputs, *outputs), key=len)[:1]

    def written(name: str, shape: Shape) -> str:
        if not shape:
            return f"{name}[()]"
        first = "n" if shape[:1] == images else ":"
        return f"{name}[{', '.join([first, *':' * (len(shape) - 1)])}]"

    def statement(k: int, shape: Shape) -> str:
        # What is of no image is combined over all of them.
        combiner = "=" if shape[:1] == images else "+="
        return f"{written(f'y{k}', shape)} {combiner} {reads}"

    reads = " * ".join(written(f"x{k}", shape) for k, shape in enumerate(inputs))
    return "; ".join(statement(k, shape) for k, shape in enumerate(outputs))


def along_axis(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Take any element along ``axis``, and along axes whose sizes differ."""
    rank = len(inputs[0])
    found = attributes.get("axis", _AXIS if len(outputs) > 1 else 0)
    axis = position(found if isinstance(found, int) else 0, rank)
    alike = [shape for shape in (*inputs, *outputs) if len(shape) == rank]
    letters = [
        ":" if k == axis or len({shape[k] for shape in alike}) > 1 else ascii_letters[k]
        for k in range(rank)
    ]

    def written(name: str, shape: Shape) -> str:
        axes = letters if len(shape) == rank else [":"] * len(shape)
        return f"{name}[{', '.join(axes) or '()'}]"

    reads = " * ".join(written(f"x{k}", shape) for k, shape in enumerate(inputs))
    return "; ".join(f"{written(f'y{k}', shape)} = {reads}" for k, shape in enumerate(outputs))


_AXIS = -1
"""Of TopK, which has two results."""


def row(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Add up each row along ``axis``; then the quotient."""
    axis = position(integer(attributes, "axis", -1), len(inputs[0]))
    letters = list(ascii_letters[: len(inputs[0])])
    rest = ", ".join(letters[:axis] + letters[axis + 1 :]) or "()"
    every = ", ".join(letters)
    return f"s[{rest}] += x0[{every}]; y0[{every}] = x0[{every}] * s[{rest}]"


def arg(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Find the index of an element along ``axis``."""
    axis = integer(attributes, "axis", 0)
    return computes.reduction(inputs, outputs, {"keepdims": 1, **attributes, "axes": (axis,)})


def mean_variance(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Add up elements, and their squares, over ``axes``; then normalize."""
    rank = len(inputs[0])
    gone = positions(integers(attributes, "axes", (0, 2, 3)[: max(rank - 1, 1)]), rank)
    letters = ascii_letters[:rank]
    every = ", ".join(letters)
    rest = ", ".join(each for k, each in enumerate(letters) if k not in gone) or "()"
    return (
        f"u[{rest}] += x0[{every}]; v[{rest}] += x0[{every}] * u[{rest}]; "
        f"y0[{every}] = x0[{every}] * u[{rest}] * v[{rest}]"
    )


def group_norm(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Add up each group, and its squares; then normalize, scale and shift."""
    x = "x0[n, g@c, *y]"
    scales = " * ".join(_of_group(k, inputs) for k in range(1, len(inputs)))
    return (
        f"u[n, g] += {x}; v[n, g] += {x} * u[n, g]; "
        f"y0[n, g@c, *y] = {x} * u[n, g] * v[n, g] * {scales}; "
        "y1[n, g] = u[n, g]; y2[n, g] = v[n, g]; g < num_groups"
    )


def group_norm_gradient(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
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


def _of_group(k: int, shapes: Shapes, name: str = "x", images: Shape | None = None) -> str:
    """Index what is of each channel, or of each group."""
    channels = (shapes[0] if images is None else images)[1]
    return f"{name}{k}[{'g@c' if shapes[k] == (channels,) else 'g'}]"


def class_loss(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Add up a number of each label."""
    target = "y0[n, *y]" if outputs[0] else "y0[()]"
    weights = " * x2[:]" if inputs[2:] else ""
    return f"{target} += x0[n, c, *y] * x1[n, *y]{weights}"


def depth_to_space(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Read the channels of each block."""
    deep, wide = _blocks(inputs[0], outputs[0], attributes)
    return f"y0{wide} = x0{deep}"


def space_to_depth(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Write the channels of each block; always in columns, rows of blocks first."""
    deep, wide = _blocks(outputs[0], inputs[0], {**attributes, "mode": "DCR"})
    return f"y0{deep} = x0{wide}"


def depth_to_space_gradient(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Write the channels of each block."""
    deep, wide = _blocks(outputs[0], inputs[0], attributes)
    return f"y0{deep} = x0{wide}"


def space_to_depth_gradient(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Read the channels of each block."""
    deep, wide = _blocks(inputs[0], outputs[0], {**attributes, "mode": "DCR"})
    return f"y0{wide} = x0{deep}"


def _blocks(deep: Shape, wide: Shape, attributes: Attributes) -> tuple[str, str]:
    """Index images whose blocks are channels, and those images spread out."""
    block, channels = integer(attributes, "blocksize"), wide[1]
    if text(attributes, "mode", "DCR") == "DCR":
        channel = f"{block * channels}*i + {channels}*j + c"
    else:
        channel = f"{block * block}*c + {block}*i + j"
    return f"[n, {channel}, h, w]", "[n, c, h@i, w@j]"


def dynamic_quantization(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Find the least and the largest of all; then round each."""
    return "m[()] max= x0[...]; y0[...] = x0[...] * m[()]; y1[()] = m[()]; y2[()] = m[()]"


def laid_out_pooling(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Combine the windows of each channel, which are the last axis or the second."""
    window = "*(strides*y + dilations*r - pads)"
    if integer(attributes, "channels_last", 0):
        return f"y0[n, *y, c] += x0[n, {window}, c]; r < kernel_shape"
    return f"y0[n, c, *y] += x0[n, c, {window}]; r < kernel_shape"


def quantized_convolution(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Slide filters; of what stands behind them a bias is of each filter."""
    bias = "; y0[n, g@o, *y] += x2[g@o]" if inputs[2:] and inputs[2] == inputs[1][:1] else ""
    return (
        "y0[n, g@o, *y] += x0[n, g@c, *(strides*y + dilations*r - pads)] * x1[g@o, c, *r]"
        f"{bias}; g < group"
    )


def rotary(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Turn by tables, of all positions or of those of each image."""
    places = "n, :, :" if len(inputs[1]) == 3 else ":, :"
    return f"y0[n, ...] = x0[n, ...] * x1[{places}] * x2[{places}]"


def einsum(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Multiply as the equation says."""
    first, second, result = (", ".join(labels) or "()" for labels in equation(attributes))
    return f"y0[{result}] += x0[{first}] * x1[{second}]"


def recurrent(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Multiply by one direction of the weights; half of the biases are those of this product."""
    direction = integer(attributes, "direction", 0)
    bias = "; y0[n, g] += x2[:, :]" if inputs[2:] else ""
    return f"y0[n, g] += x0[n, i] * x1[{direction}, g, i]{bias}"


def blocked(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Multiply rows by all weights, which are packed."""
    rows = ", ".join(ascii_letters[: len(inputs[0]) - 1])
    return f"y0[{rows}, :] = x0[{rows}, :] * x1[{', '.join(':' * len(inputs[1]))}]"


FURTHER_COMPUTES: dict[str, Computes] = {
    rule.__name__: rule
    for rule in (
        batch,
        along_axis,
        row,
        arg,
        mean_variance,
        group_norm,
        group_norm_gradient,
        class_loss,
        depth_to_space,
        space_to_depth,
        depth_to_space_gradient,
        space_to_depth_gradient,
        dynamic_quantization,
        laid_out_pooling,
        quantized_convolution,
        rotary,
        einsum,
        recurrent,
        blocked,
    )
}
"""The rules by name."""
