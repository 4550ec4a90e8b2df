"""Room that streams need on chip, from an operator's computation.

An operand that streams has a buffer in the scratchpad, so that the next part of it arrives while
one is used. How large a part is depends on how the operator goes through it:

* Windows (convolutions, pooling, their gradients) go over an image line by line: row by row, or
  column by column where that takes less room. Of the operand that they slide over the lines of one
  window are held and those of the next step, ``(kernel - 1) dilation + 1 + stride`` lines of one
  image; of the feature map on the other side two lines. So no halo is fetched again.
* Operands read again once a sum or maximum of them is known (softmax, normalization of rows, their
  gradients) are held from the first reading to the last: two rows.
* All else goes by pages: two of them, or the operand where that is less.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import NamedTuple

from spmopt.core.loops import Index, LoopNest
from spmopt.graph.operators.spec import Shape

_FIRST_LINES = 2
"""The first axis across which a feature map has lines, behind images and channels."""
Sizes = Mapping[str, int]
"""Bytes, by the name of an operand."""


class Lines(NamedTuple):
    """Bytes of the lines of a feature map that a stream needs; ``windows`` slide over them."""

    size_bytes: int
    windows: bool


def page_buffer(size: int, page_bytes: int) -> int:
    """Return the bytes that a stream by pages needs."""
    # Double buffering: one page is used while the next arrives.
    return min(size, 2 * page_bytes)


def window_buffers(nest: LoopNest, shapes: Mapping[str, Shape], sizes: Sizes) -> dict[str, Lines]:
    """Return the lines of each feature map of an operator with windows.

    Parameters
    ----------
    shapes, sizes
        Of the operands, by name.
    """
    found = list[dict[str, Lines]]()
    for axis in range(_FIRST_LINES, max(map(len, shapes.values()), default=0)):
        lines = _lines_along(axis, nest, shapes, sizes)
        if any(each.windows for each in lines.values()):
            found.append(lines)
    # The least room; of several equal ones the first, lines of images.
    return min(found, key=lambda lines: sum(each.size_bytes for each in lines.values()), default={})


def _lines_along(
    axis: int, nest: LoopNest, shapes: Mapping[str, Shape], sizes: Sizes
) -> dict[str, Lines]:
    """Return the lines of each feature map across an axis, along which windows move."""
    lines: dict[str, Index] = {}
    for name, shape in shapes.items():
        for access in nest.accesses(name) if len(shape) > axis else ():
            index = access.axes[axis]
            # Of several accesses the one with most loops is the window.
            known = len(lines[name].terms) if name in lines else 0
            if index is not None and len(index.terms) > known:
                lines[name] = index
    # An index of one loop only moves with the lines; with two or more it slides over them.
    windows = {name: index for name, index in lines.items() if len(index.terms) > 1}
    found, positions = dict[str, Lines](), set[str]()
    for name, index in windows.items():
        # Either loop may be the one that windows move along: the least room decides.
        count, position = min(_window(nest, index, loop) for loop, _ in index.terms)
        positions.add(position)
        found[name] = Lines(_of_lines(count, axis, shapes[name], sizes[name]), windows=True)
    for name, index in lines.items():
        if index.loop in positions:
            found[name] = Lines(_of_lines(2, axis, shapes[name], sizes[name]), windows=False)
    return found


def _window(nest: LoopNest, index: Index, position: str) -> tuple[int, str]:
    """Return the lines of one window and the next step, if windows move along ``position``."""
    steps = dict(index.terms)
    # Extent of an affine index over the loops inside the window: sum of |c| (n - 1), plus 1.
    inner = (abs(c) * (nest.extents[loop] - 1) for loop, c in steps.items() if loop != position)
    return 1 + sum(inner) + abs(steps[position]), position


def _of_lines(count: int, axis: int, shape: Shape, size: int) -> int:
    # One image of all channels: size / images / lines, times the lines that are held; rounded up.
    return -(-size * min(count, shape[axis]) // (shape[0] * shape[axis]))


def row_buffers(nest: LoopNest, shapes: Mapping[str, Shape], sizes: Sizes) -> dict[str, int]:
    """Return the bytes of two rows of each operand that is read again.

    A row is the part that a statement combines before another reads the result and the operand once
    more.
    """
    combined: dict[str, frozenset[str]] = {}
    sources: dict[str, set[str]] = {}
    rows: dict[str, frozenset[str]] = {}
    for statement in nest.statements:
        known = [access.tensor for access in statement.reads if access.tensor in combined]
        # Loops over which the values read here are sums: complete only after the last iteration.
        over = frozenset[str]().union(*(combined[name] for name in known))
        before = set[str]().union(*(sources[name] for name in known))
        for access in statement.reads:
            # It went into the sum that this statement reads, and is read once more.
            if access.tensor in before and access.loops & over:
                rows[access.tensor] = rows.get(access.tensor, frozenset()) | access.loops & over
        target, read = statement.target, {access.tensor for access in statement.reads}
        gone = statement.loops - target.loops if statement.combines else frozenset[str]()
        if gone or over:
            combined[target.tensor] = combined.get(target.tensor, frozenset()) | gone | over
            sources.setdefault(target.tensor, set()).update(read, before)
    return {
        # Two rows: the one in use is read a second time while the next arrives.
        name: -(-2 * size * prod(nest.extents[loop] for loop in rows[name]) // prod(shapes[name]))
        for name, size in sizes.items()
        if name in rows
    }
