"""Rules of operators that read where data say: gathers, look-ups, sorting, and anything unknown.

:mod:`.rules` says how rules are called.
"""

from __future__ import annotations

from string import ascii_letters

from spmopt.core.errors import InputError
from spmopt.graph.operators.attributes import expect_rank, integer, position
from spmopt.graph.operators.elementwise import elementwise_computes
from spmopt.graph.operators.spec import Attributes, Shape, Shapes
from spmopt.graph.operators.statements import axis_letters, join, whole

_AXIS = -1
"""Of TopK, which has two results."""


def gather_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return the slices of input 0 along ``axis``, one for each index of input 1."""
    data, indices = inputs
    axis = position(integer(attributes, "axis", 0), len(data))
    return (data[:axis] + indices + data[axis + 1 :],)


def gather_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Read any slices along ``axis``."""
    here, table, indices = _gather(inputs[0], inputs[1], attributes)
    return f"y0[{here}] = x0[{table}] * x1[{indices}]"


def gather_gradient_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Add dY up in any slices along ``axis``."""
    here, table, indices = _gather(outputs[0], inputs[1], attributes)
    return f"y0[{table}] += x0[{here}] * x1[{indices}]"


def gather_nd_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return a slice for each row of indices, behind ``batch_dims`` axes of both."""
    data, indices = inputs
    first = integer(attributes, "batch_dims", 0)
    expect_rank(indices, 1, "indices")
    if not 0 <= first < len(indices) or first + indices[-1] > len(data):
        raise InputError(f"indices {indices} do not suit data {data}")
    return (indices[:-1] + data[first + indices[-1] :],)


def as_indices_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return one element for each of the indices, input 1."""
    if len(inputs[0]) != len(inputs[1]):
        raise InputError(f"data {inputs[0]} and indices {inputs[1]} must be of one rank")
    return (inputs[1],)


def one_hot_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return the indices with a new ``axis`` of ``depth``."""
    indices = inputs[0]
    depth = attributes.get("depth")
    depth = depth[0] if isinstance(depth, tuple) else depth
    if not isinstance(depth, int | float) or depth < 1:
        raise InputError(f"depth {depth} must be an integer of at least 1")
    axis = position(integer(attributes, "axis", -1), len(indices) + 1)
    return ((*indices[:axis], int(depth), *indices[axis:]),)


def lookup_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """Return the rows that are looked up, (look-ups, width)."""
    if len(inputs[0]) != 2:
        raise InputError(f"rows {inputs[0]} must have 2 dimensions, one row for each look-up")
    if integer(attributes, "table") < 1:
        raise InputError(f"table has {integer(attributes, 'table')} rows; give at least 1")
    return (inputs[0],)


def unknown_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Take any element for any other."""
    reads = " * ".join(whole(f"x{k}", shape) for k, shape in enumerate(inputs)) or "x0[...]"
    return "; ".join(f"{whole(f'y{k}', shape)} = {reads}" for k, shape in enumerate(outputs))


def assumed_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Take elements of the same place if all shapes are equal, else any for any other."""
    if len({*inputs, *outputs}) == 1:
        return elementwise_computes(inputs, outputs, attributes)
    return unknown_computes(inputs, outputs, attributes)


def batch_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Take any element of an image for any of the same image; operands without images are whole."""
    images = max((*inputs, *outputs), key=len)[:1]

    def access(name: str, shape: Shape) -> str:
        if not shape:
            return f"{name}[()]"
        first = "n" if shape[:1] == images else ":"
        return f"{name}[{', '.join([first, *':' * (len(shape) - 1)])}]"

    def statement(k: int, shape: Shape) -> str:
        # What is of no image is combined over all of them.
        combiner = "=" if shape[:1] == images else "+="
        return f"{access(f'y{k}', shape)} {combiner} {reads}"

    reads = " * ".join(access(f"x{k}", shape) for k, shape in enumerate(inputs))
    return "; ".join(statement(k, shape) for k, shape in enumerate(outputs))


def along_axis_computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
    """Take any element along ``axis``, and along axes whose sizes differ."""
    rank = len(inputs[0])
    found = attributes.get("axis", _AXIS if len(outputs) > 1 else 0)
    axis = position(found if isinstance(found, int) else 0, rank)
    alike = [shape for shape in (*inputs, *outputs) if len(shape) == rank]
    letters = [
        ":" if k == axis or len({shape[k] for shape in alike}) > 1 else ascii_letters[k]
        for k in range(rank)
    ]

    def access(name: str, shape: Shape) -> str:
        axes = letters if len(shape) == rank else [":"] * len(shape)
        return f"{name}[{', '.join(axes) or '()'}]"

    reads = " * ".join(access(f"x{k}", shape) for k, shape in enumerate(inputs))
    return "; ".join(f"{access(f'y{k}', shape)} = {reads}" for k, shape in enumerate(outputs))


def _gather(data: Shape, indices: Shape, attributes: Attributes) -> tuple[str, str, str]:
    """Return the indices of the result, of the table and of the rows that are looked up."""
    axis = position(integer(attributes, "axis", 0), len(data))
    every = axis_letters(len(data) + len(indices))
    table, rows = every[: len(data)], every[len(data) :]
    here = [*table[:axis], *rows, *table[axis + 1 :]]
    return join(here), join([*table[:axis], ":", *table[axis + 1 :]]), join(rows)
