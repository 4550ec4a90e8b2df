"""Room that streams need on chip, from an operator's computation.

An operand that streams has a buffer in the scratchpad, so that the next part of it arrives while
one is used. How large a part is depends on how the operator goes through it:

* Windows (convolutions, pooling, their gradients) go over an image line by line: row by row, or
  column by column where that takes less room. Of the operand that they slide over the lines of one
  window are held and those of the next step, ``(kernel - 1) dilation + 1 + stride`` lines of one
  image; of the feature map on the other side two lines. So no halo is fetched again.
  Tiles of positions of a product have a halo beside (:class:`Window`).
* Operands read again once a sum or maximum of them is known (softmax, normalization of rows, their
  gradients) are held from the first reading to the last: two rows.
* All else goes by pages: two of them, or the operand where that is less.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import ceil, prod
from typing import NamedTuple

from spmopt.core.loops import Index, LoopNest
from spmopt.graph.operators.spec import Shape

_FIRST_LINES = 2
"""The first axis across which a feature map has lines, behind images and channels."""
Sizes = Mapping[str, int]
"""Bytes, by the name of an operand."""


class Window(NamedTuple):
    """A feature map over which windows slide from one position to the next, line by line.

    Attributes
    ----------
    stepped_bytes
        All that windows step over: the map, or more of it where they step into padding.
    halo_bytes
        What the windows of some positions share with those of all later ones, of one image.
    seam_bytes
        What they need beside at the end of a line or an image, where the next one begins.
    """

    stepped_bytes: int
    halo_bytes: int
    seam_bytes: int


class Lines(NamedTuple):
    """Bytes of the lines of a feature map that a stream needs, and windows that slide over them."""

    size_bytes: int
    window: Window | None = None


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
    axes = range(_FIRST_LINES, max(map(len, shapes.values()), default=0)) if nest.slides else ()
    for axis in axes:
        lines = _lines_along(axis, nest, shapes, sizes)
        if any(each.window for each in lines.values()):
            found.append(lines)
    # The least room; of several equal ones the first, lines of images.
    return min(found, key=lambda lines: sum(each.size_bytes for each in lines.values()), default={})


def _lines_along(
    axis: int, nest: LoopNest, shapes: Mapping[str, Shape], sizes: Sizes
) -> dict[str, Lines]:
    """Return the lines of each feature map across an axis, along which windows move."""
    indices = {
        name: _index(nest, name, axis) for name, shape in shapes.items() if len(shape) > axis
    }
    lines = {name: index for name, index in indices.items() if index.terms}
    # An index of one loop only moves with the lines; with two or more it slides over them.
    windows = {name: index for name, index in lines.items() if len(index.terms) > 1}
    found, positions = dict[str, Lines](), set[str]()
    for name, index in windows.items():
        slide = _slide(nest, name, index)
        positions.add(slide.position)
        of_map = shapes[name], sizes[name]
        lines_held = _of_lines(slide.extent + slide.stride, axis, *of_map)
        found[name] = Lines(lines_held, _window(axis, nest, name, *of_map))
    for name, index in lines.items():
        if index.loop in positions:
            found[name] = Lines(_of_lines(2, axis, shapes[name], sizes[name]))
    return found


def _index(nest: LoopNest, name: str, axis: int) -> Index:
    """Return how an axis of an operand is read; of several accesses that with most loops counts."""
    every = [access.axes[axis] for access in nest.accesses(name)]
    return max((i for i in every if i is not None), key=lambda i: len(i.terms), default=Index())


class _Slide(NamedTuple):
    """How windows slide over an axis: lines of one window, of a step, and the loop of steps."""

    extent: int
    stride: int
    position: str
    steps: int


def _slide(nest: LoopNest, name: str, index: Index) -> _Slide:
    """Return how windows slide where they move along the loop that takes the fewest lines.

    That is no loop of weights, which have none of the images of the map ``name``.
    """
    images = {access.axes[0] for access in nest.accesses(name)}
    of_weights = {
        each.loop
        for statement in nest.statements
        for access in (statement.target, *statement.reads)
        if access.axes and access.axes[0] not in images
        for each in access.axes
        if each is not None
    }
    every = list[_Slide]()
    for loop, step in index.terms:
        # Extent of an affine index over the loops inside the window: sum of |c| (n - 1), plus 1.
        inner = (abs(c) * (nest.extents[each] - 1) for each, c in index.terms if each != loop)
        every.append(_Slide(1 + sum(inner), abs(step), loop, nest.extents[loop]))
    able = [each for each in every if each.position not in of_weights] or every
    return min(able, key=lambda each: (each.extent + each.stride, each.position))


def _window(axis: int, nest: LoopNest, name: str, shape: Shape, size: int) -> Window:
    """Return the bytes that windows take of a map in tiles of positions, in the order of lines."""
    # Positions go along a line before the next one.
    order = [axis, *(k for k in range(_FIRST_LINES, len(shape)) if k != axis)]
    image = size * Fraction(1, shape[0] * prod(shape[_FIRST_LINES:]))
    stepped = Fraction(size, prod(shape[_FIRST_LINES:]))
    halo, seam, before = Fraction(0), Fraction(0), 1
    for place, each in enumerate(order):
        index = _index(nest, name, each)
        line = image * prod(shape[k] for k in order[place + 1 :])
        slide = _Slide(1, 1, "", shape[each])
        if len(index.terms) > 1:
            slide = _slide(nest, name, index)
        stepped *= max(shape[each], slide.stride * slide.steps)
        shared = max(slide.extent - slide.stride, 0)
        halo += before * shared * line
        if place > 0 or shape[0] > 1:
            # Padding between two images or lines is no element, so that both halos share it.
            unpadded = max(shape[each] - slide.stride * slide.steps, 0)
            seam += before * min(shared, unpadded) * line
        before *= slide.stride
    return Window(ceil(stepped), ceil(halo), ceil(seam))


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
