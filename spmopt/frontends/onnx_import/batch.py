"""Constants that bake the batch size of the file, and their values at another one.

An exporter that saw batch 1 writes ``Reshape(x, [1, -1])``. Such a target is compared with
the shapes at the file's own batch size: the axis of the operand that changes is followed
through the row-major order into the target, and that entry is scaled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

import numpy as np
import onnx

from spmopt.frontends.onnx_import.facts import Fact, Shape

# Position of the constant that gives the result shape; of Resize it is ``sizes``.
_SHAPE_INPUT = {"Reshape": 1, "Expand": 1, "Resize": 3}


def rescale_shape_input(
    node: onnx.NodeProto,
    inputs: Sequence[Fact | None],
    written: Sequence[Fact | None],
    result: Shape,
    batches: tuple[int, int],
) -> tuple[int, Shape] | None:
    """Return the position and new contents of the input that gives the result shape.

    Parameters
    ----------
    node
        Any node; only ``Reshape``, ``Expand`` and ``Resize`` (``sizes``) have such an input.
    inputs, written
        Its inputs at the new batch size and at the file's.
    result
        Its result shape at the file's batch size.
    batches
        The file's batch size and the new one.

    Returns
    -------
    None where the input may stay: it does not depend on the batch, or was computed from
    shapes and so has changed by itself.
    """
    position = _SHAPE_INPUT.get(node.op_type)
    if position is None or position >= len(inputs):
        return None
    now, before = inputs[0], written[0]
    target, baked = inputs[position], written[position]
    if now is None or before is None or target is None or baked is None or target.data is None:
        return None
    # A target that was computed from shapes has followed the batch by itself.
    if now.shape == before.shape or not np.array_equal(_data(target), _data(baked)):
        return None
    if node.op_type == "Reshape":
        scaled = reshape(before.shape, now.shape, result, batches)
    else:
        scaled = _align(before.shape, now.shape, result)
    return None if scaled is None else (position, scaled)


def repeat_constants(
    node: onnx.NodeProto,
    inputs: Sequence[Fact | None],
    written: Sequence[Fact | None],
    batches: tuple[int, int],
) -> list[Fact | None]:
    """Inputs of a ``Concat`` with constants of the file's batch size repeated to the new one.

    Such a constant is a class token that the exporter expanded beforehand. ``inputs`` are at
    the new batch size, ``written`` at the file's.
    """
    axis = next((attribute.i for attribute in node.attribute if attribute.name == "axis"), 1)
    old, new = batches
    grown = [
        len(now.shape)
        for now, before in zip(inputs, written, strict=True)
        if now and before and now.shape[:1] == (new,) and before.shape[:1] == (old,)
    ]
    # Joined along the batch itself, a constant is one more image, not one for each.
    if not grown or axis % grown[0] == 0:
        return list(inputs)
    return [
        replace(fact, shape=(new, *fact.shape[1:]), data=None)
        if fact is not None and not fact.live and fact.shape[:1] == (old,)
        else fact
        for fact in inputs
    ]


def _data(fact: Fact) -> list[int]:
    return [] if fact.data is None else fact.data.tolist()


def _align(before: Shape, now: Shape, result: Shape) -> Shape | None:
    """Return ``result`` with the axes that changed (counted from the last) replaced."""
    scaled = list(result)
    for axis in range(-len(before), 0):
        if before[axis] != now[axis] and result[axis] == before[axis]:
            scaled[axis] = now[axis]
    return tuple(scaled)


def reshape(before: Shape, now: Shape, result: Shape, batches: tuple[int, int]) -> Shape | None:
    """Return the shape to which ``now`` reshapes if ``before`` reshapes to ``result``.

    ``before`` and ``now`` differ in one axis, by the ratio of ``batches`` (the file's and the
    new one). None if no axis of ``result`` can take it.
    """
    old, new = batches
    changed = [axis for axis in range(len(before)) if before[axis] != now[axis]]
    if len(changed) != 1 or before[changed[0]] * new != now[changed[0]] * old:
        return None
    inner = prod(before[changed[0] + 1 :])
    # The batch may be the outer or the inner factor of a merged axis: two possible strides.
    outermost = inner * (before[changed[0]] // old)
    place = _place(result, (outermost, inner), old)
    if place is None:
        return None
    scaled = list(result)
    scaled[place] = scaled[place] // old * new
    return tuple(scaled)


def _place(result: Shape, candidates: Sequence[int], factor: int) -> int | None:
    """Axis of ``result`` that holds the factor, which has one of the ``candidates`` as stride.

    An axis that is the factor alone goes first.
    """
    strides = [prod(result[axis + 1 :]) for axis in range(len(result))]
    for stride in candidates:
        for axis, step in enumerate(strides):
            if step == stride and result[axis] == factor:
                return axis
    for stride in candidates:
        spans = [
            axis
            for axis, step in enumerate(strides)
            if stride % step == 0 and (step * result[axis]) % (stride * factor) == 0
        ]
        # A batch of 1 between two axes may belong to either: with heads split off (3 axes or
        # more) it is merged with them, in a matrix with the rows.
        if spans:
            return spans[-1] if len(result) > 2 else spans[0]
    return None
