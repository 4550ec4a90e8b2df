"""Operators that copy, cut, join, reorder or repeat, and their gradients: copies between views."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from math import prod

import numpy as np

from spmopt.execution.emission.reference.steps import Describing, Steps, rows, summed_to
from spmopt.execution.kernels.call import Array, Call
from spmopt.execution.kernels.movement import slices
from spmopt.graph.operators.attributes import integer, integers, number, text


def _parts(array: Array, axis: int, sizes: Sequence[int]) -> Iterator[Array]:
    """Yield parts along an axis."""
    if sum(sizes) != array.shape[axis]:
        raise NotImplementedError("a gradient of some of the parts does not say of which")
    for edge in pairwise(accumulate(sizes, initial=0)):
        yield array[(slice(None),) * (axis % array.ndim) + (slice(*edge),)]


def _joined(call: Call, results: Sequence[Array], do: Steps) -> None:
    axis = integer(call.attributes, "axis", 0)
    targets = _parts(results[0], axis, [each.shape[axis] for each in call.inputs])
    for target, source in zip(targets, call.inputs, strict=True):
        do.copy(target, source)


def _split(call: Call, results: Sequence[Array], do: Steps) -> None:
    axis = integer(call.attributes, "axis", 0)
    some = call.operator == "ConcatGradient" and call.of
    every = call.given if some else call.shapes
    sources = [*_parts(call.inputs[0], axis, [shape[axis] for shape in every])]
    sources = [sources[place] for place in call.of] if some else sources
    for target, source in zip(results, sources, strict=True):
        do.copy(target, source)


def _sliced(call: Call, results: Sequence[Array], do: Steps) -> None:
    x = call.inputs[0]
    do.copy(results[0], x[slices(call, x.shape)])


def _unsliced(call: Call, results: Sequence[Array], do: Steps) -> None:
    do.copy(results[0][slices(call, results[0].shape)], call.inputs[0])


def _order(call: Call) -> tuple[int, ...]:
    rank = call.inputs[0].ndim
    return integers(call.attributes, "perm", tuple(reversed(range(rank))))


def _transposed(call: Call, results: Sequence[Array], do: Steps) -> None:
    do.copy(results[0], call.inputs[0].transpose(_order(call)))


def _transposed_back(call: Call, results: Sequence[Array], do: Steps) -> None:
    do.copy(results[0].transpose(_order(call)), call.inputs[0])


def _inside(call: Call, inner: tuple[int, ...]) -> tuple[slice, ...]:
    """Return where in a padded array lies what is padded."""
    pads, found = integers(call.attributes, "pads"), [slice(None)] * len(inner)
    axes = integers(call.attributes, "axes", tuple(range(len(inner))))
    for axis, begin in zip(axes, pads, strict=False):
        found[axis] = slice(begin, begin + inner[axis])
    return tuple(found)


def _padded(call: Call, results: Sequence[Array], do: Steps) -> None:
    given = call.attributes
    if len(call.inputs) > 1:
        raise NotImplementedError("its constants are not known")
    if text(given, "mode", "constant") != "constant" or min(integers(given, "pads")) < 0:
        raise NotImplementedError("only constants around all of it")
    do.run("fill", results, numbers=[number(given, "constant_value", 0.0)])
    do.copy(results[0][_inside(call, call.inputs[0].shape)], call.inputs[0])


def _unpadded(call: Call, results: Sequence[Array], do: Steps) -> None:
    do.copy(results[0], call.inputs[0][_inside(call, results[0].shape)])


def _around(call: Call, shape: Sequence[int]) -> tuple[int, list[int]]:
    """Return the axis that indices are of, and the elements before it, of it and behind it."""
    axis = integer(call.attributes, "axis", 0) % len(shape)
    return axis, [prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :])]


def _gathered(call: Call, results: Sequence[Array], do: Steps) -> None:
    x, indices = call.inputs
    _, around = _around(call, x.shape)
    do.run("gather", results, [x, indices], [*around, indices.size])


def _scattered(call: Call, results: Sequence[Array], do: Steps) -> None:
    dy, indices = call.inputs[:2]
    _, around = _around(call, results[0].shape)
    do.run("gather_gradient", results, [dy, indices], [*around, indices.size])


def _expanded(call: Call, results: Sequence[Array], do: Steps) -> None:
    do.copy(results[0], call.inputs[0])


def _unexpanded(call: Call, results: Sequence[Array], do: Steps) -> None:
    summed_to(do, call.inputs[0], results[0].shape, results[0])


def _repeats(small: tuple[int, ...], large: tuple[int, ...]) -> list[int]:
    return [big // size for size, big in zip(small, large, strict=True)]


def _tiled(call: Call, results: Sequence[Array], do: Steps) -> None:
    x, large = call.inputs[0], results[0].shape
    pairs = zip(_repeats(x.shape, large), x.shape, strict=True)
    split = results[0].reshape([size for pair in pairs for size in pair])
    do.copy(split, do.reshaped(x, [size for own in x.shape for size in (1, own)]))


def _untiled(call: Call, results: Sequence[Array], do: Steps) -> None:
    dy, shape = call.inputs[0], results[0].shape
    pairs = zip(_repeats(shape, dy.shape), shape, strict=True)
    split = do.reshaped(dy, [size for pair in pairs for size in pair])
    _summed(do, split, range(0, split.ndim, 2), results[0])


_NEAREST = {
    ("nearest", "half_pixel", "round_prefer_floor"),
    ("nearest", "half_pixel", "round_prefer_ceil"),
    ("nearest", "asymmetric", "floor"),
}
"""Ways of ONNX's Resize that by whole factors repeat each element: half a pixel is never between
two."""


def _require_nearest(call: Call, small: tuple[int, ...], large: tuple[int, ...]) -> None:
    """Refuse images that are not enlarged by whole factors, by the nearest element."""
    asked = call.attributes
    how = (
        asked.get("mode", "nearest"),
        asked.get("coordinate_transformation_mode", "half_pixel"),
        asked.get("nearest_mode", "round_prefer_floor"),
    )
    known = {"shape", "mode", "coordinate_transformation_mode", "nearest_mode"}
    whole = not any(big % size for size, big in zip(small, large, strict=True))
    if not set(asked) <= known or how not in _NEAREST or not whole:
        raise NotImplementedError("only enlarging by whole factors, by the nearest element")


def _resized(call: Call, results: Sequence[Array], do: Steps) -> None:
    x, large = call.inputs[0], results[0].shape
    _require_nearest(call, x.shape, large)
    pairs = zip(x.shape, _repeats(x.shape, large), strict=True)
    split = results[0].reshape([size for pair in pairs for size in pair])
    do.copy(split, do.reshaped(x, [size for own in x.shape for size in (own, 1)]))


def _resized_back(call: Call, results: Sequence[Array], do: Steps) -> None:
    dy, shape = call.inputs[0], results[0].shape
    _require_nearest(call, shape, dy.shape)
    pairs = zip(shape, _repeats(shape, dy.shape), strict=True)
    split = do.reshaped(dy, [size for pair in pairs for size in pair])
    _summed(do, split, range(1, split.ndim, 2), results[0])


def _summed(do: Steps, array: Array, axes: Sequence[int], target: Array) -> None:
    turned, many, inner = rows(array, axes)
    do.run("sum_rows", [target], [turned], [many, inner], [1])


def _turned(call: Call, results: Sequence[Array], do: Steps) -> None:
    """Turn pairs of features, one of each half of a head, by the angles of its position."""
    x, cosines, sines = call.inputs[:3]
    half, tokens = cosines.shape[-1], x.shape[1 if x.ndim == 3 else 2]
    other = [name for name in ("interleaved", "rotary_embedding_dim") if call.attributes.get(name)]
    heads = integer(call.attributes, "num_heads", 0)
    width = x.shape[-1] if x.ndim == 4 else x.shape[2] // heads if heads else 2 * half
    if other or width != 2 * half or (len(call.inputs) > 3 and cosines.ndim == 2):
        raise NotImplementedError("only halves of heads, by a row of the tables each position")
    cosines, sines = (each[..., :tokens, :] for each in (cosines, sines))
    if cosines.ndim == 3:
        cosines, sines = cosines[:, None], sines[:, None]
    source, target = (_heads(do, each, 2 * half) for each in (x, results[0]))
    first, second = source[..., :half], source[..., half:]
    angles = [np.broadcast_to(each, first.shape) for each in (cosines, sines)]
    back = call.operator.endswith("Gradient")
    parts = [target[..., :half], target[..., half:]]
    do.run("turn", parts, [first, second, *angles], numbers=[-1 if back else 1])


def _heads(do: Steps, array: Array, features: int) -> Array:
    """Return an array of heads (N, H, S, D), of one that has all their features on one axis."""
    if array.ndim != 3:
        return array
    return do.reshaped(array, (*array.shape[:2], -1, features)).transpose(0, 2, 1, 3)


DESCRIBED: Mapping[str, Describing] = {
    **dict.fromkeys(("Concat", "SplitGradient"), _joined),
    **dict.fromkeys(("Split", "ConcatGradient"), _split),
    "Slice": _sliced,
    "SliceGradient": _unsliced,
    "Transpose": _transposed,
    "TransposeGradient": _transposed_back,
    "Pad": _padded,
    "PadGradient": _unpadded,
    "Gather": _gathered,
    "GatherGradient": _scattered,
    "Expand": _expanded,
    "ExpandGradient": _unexpanded,
    "Tile": _tiled,
    "TileGradient": _untiled,
    **dict.fromkeys(("Resize", "Upsample"), _resized),
    **dict.fromkeys(("ResizeGradient", "UpsampleGradient"), _resized_back),
    **dict.fromkeys(("RotaryEmbedding", "RotaryEmbeddingGradient"), _turned),
}
