"""Values of graphs as arrays: their types, their contents at the start, and views of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spmopt.core.elements import ElementKind
from spmopt.core.errors import InputError
from spmopt.core.graph import Graph, Node, Value
from spmopt.core.problem import TensorKind
from spmopt.execution.kernels.call import Array, residue
from spmopt.execution.memory import Bytes
from spmopt.graph import operators
from spmopt.graph.operators.attributes import integer, integers
from spmopt.graph.operators.spec import Style

DATA = ("integer", "normal")
"""Names of initial contents."""
FACTOR = 61
"""Results are multiplied by it before they are wrapped: by an odd number, which loses nothing of
whole ones, and by which probabilities count too."""
_TYPES = {
    **{"fp64": "f8", "fp32": "f4", "fp16": "f2", "bool": "?"},
    **{
        f"{sign}int{bits}": f"{sign[:1] or 'i'}{bits // 8}"
        for bits in (64, 32, 16, 8)
        for sign in ("", "u")
    },
}
_NARROW = {
    **{"bf16": "bfloat16", "fp8_e4m3": "float8_e4m3fn", "fp8_e5m2": "float8_e5m2"},
    **{"fp8_e8m0": "float8_e8m0fnu", "fp4_e2m1": "float4_e2m1fn"},
}
"""Types of the package that ONNX brings along."""
_SHORT = {"int4": "i1", "int2": "i1", "uint4": "u1", "uint2": "u1"}
"""Integers of less than a byte, one a byte while something computes with them."""


def dtype_of(value: Value) -> np.dtype[Any]:
    """Return the type of the elements of a value.

    Raises
    ------
    InputError
        numpy has none like it.
    """
    name = value.element_type
    if name in _TYPES or name in _SHORT:
        return np.dtype({**_TYPES, **_SHORT}[name])
    try:
        import ml_dtypes

        found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, _NARROW[name]))
        return found
    except (ImportError, KeyError):
        raise InputError(
            f"tensor {value.name}: numbers of type {name} cannot be computed with here; use "
            "--kernels hash"
        ) from None


def array_of(content: Bytes, value: Value, elements: int) -> Array:
    """Return bytes as elements of the type of a value; packed elements take a byte each."""
    bits, dtype = value.type.bits, dtype_of(value)
    if bits >= 8:
        return np.ascontiguousarray(content).view(dtype)
    # Packed as in ONNX: the first element in the lowest bits.
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    codes = ((content[:, None] >> shifts) & ((1 << bits) - 1)).reshape(-1)[:elements]
    if value.type.kind is ElementKind.FLOAT:
        return codes.view(dtype)
    if dtype.kind == "i":
        # Extends the sign: flips the sign bit, then subtracts its weight.
        return (codes.astype(np.int8) ^ (1 << bits - 1)) - np.int8(1 << bits - 1)
    return codes


def bytes_of(array: Array, value: Value) -> Bytes:
    """Return elements, of any type of numbers, as bytes of the type of a value."""
    bits = value.type.bits
    found = np.ascontiguousarray(convert(array, value)).reshape(-1).view(np.uint8)
    if bits >= 8:
        return found
    count = 8 // bits
    padded = np.zeros((-(-found.size // count), count), np.uint8)
    padded.reshape(-1)[: found.size] = found & ((1 << bits) - 1)
    shifted = padded << np.arange(0, 8, bits, dtype=np.uint8)
    packed: Bytes = np.bitwise_or.reduce(shifted, axis=1)
    return packed


def convert(array: Array, value: Value) -> Array:
    """Return numbers in the type of a value: rounded to integers, the nearest that it has.

    NaN has the same bits, whichever instruction has made it.
    """
    dtype, bits = dtype_of(value), value.type.bits
    # One NaN: bytes are compared, and instructions differ in its sign and payload.
    if array.dtype.kind == "f" and dtype.kind not in "iub":
        return np.where(np.isnan(array), array.dtype.type(np.nan), array).astype(dtype)
    if dtype.kind not in "iu" or (array.dtype.kind in "iub" and bits >= 8):
        return array.astype(dtype)
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if dtype.kind == "i" else (0, 2**bits - 1)
    if bits > 53:  # as far as floating point has them
        low, high = -(2**53) * (low < 0), 2**53
    found = np.nan_to_num(array.astype(np.float64))
    return np.rint(np.clip(found, low, high)).astype(dtype)


def initial_values(graph: Graph, data: str, seed: int) -> dict[int, Array]:
    """Return contents of all values that no node writes, by index.

    Parameters
    ----------
    data
        ``integer``: small whole numbers; ``normal``: of the standard normal distribution, weights
        smaller the more of them are summed up. States, such as variances, are positive. Labels
        and indices are in range.
    """
    chosen = np.random.default_rng(seed)
    written = {v for node in graph.nodes for v in node.outputs if v not in node.inputs}
    limits = _limits(graph)
    return {
        index: _contents(value, data, limits.get(index), chosen)
        for index, value in enumerate(graph.values)
        if index not in written
    }


_RANGES = {
    **dict.fromkeys(("int8", "int16", "int4"), (-2, 3)),
    **dict.fromkeys(("uint8", "uint16", "uint4"), (0, 4)),
    "int2": (-2, 2),
}
"""Ranges of integers that are no indices."""


def _contents(value: Value, data: str, limit: int | None, chosen: np.random.Generator) -> Array:
    dtype = dtype_of(value)
    if limit is not None or value.type.kind is not ElementKind.FLOAT:
        low, high = _RANGES.get(value.element_type, (0, 2)) if limit is None else (0, limit)
        return chosen.integers(low, high, value.shape).astype(dtype)
    if data == "integer":
        found = chosen.integers(-2, 3, value.shape).astype(np.float32)
    else:
        found = chosen.standard_normal(value.shape, np.float32)
        if value.kind is TensorKind.WEIGHT and len(value.shape) > 1:
            # Keeps the variance of activations about 1 through the layers.
            found /= np.float32(np.sqrt(value.elements / max(value.shape)))
    if value.kind is TensorKind.STATE:
        # Variances are divided by.
        found = np.abs(found) + 1
    return found.astype(dtype)


def _limits(graph: Graph) -> dict[int, int]:
    """Return the range of indices of each value that is an index: the least of all readers."""
    root, found = list(range(len(graph.values))), dict[int, int]()
    shapes = [value.shape for value in graph.values]
    for node in graph.nodes:
        if is_view(node):
            # An index may be a view of the value that is filled.
            root[node.outputs[0]] = root[node.inputs[0]]
        choice = _choice(node, [shapes[v] for v in node.inputs])
        if choice is not None:
            place, limit = choice
            value = root[node.inputs[place]]
            found[value] = min(limit, found.get(value, limit))
    return found


def _choice(node: Node, shapes: Sequence[tuple[int, ...]]) -> tuple[int, int] | None:
    """Return the position of the operand that is an index, and its range."""
    if node.operator in _CHOOSE:
        place, axis = _CHOOSE[node.operator]
        found = shapes[0][integer(node.attributes, "axis", axis)]
        return (place, found) if place < len(shapes) else None
    match node.operator:
        case "GatherND" | "ScatterND":
            return 1, min(shapes[0][: shapes[1][-1]], default=1)
        case "ReverseSequence":
            return 1, shapes[0][integer(node.attributes, "time_axis", 0)]
    return None


_CHOOSE: Mapping[str, tuple[int, int]] = {
    **dict.fromkeys(("Gather", "GatherElements"), (1, 0)),
    **dict.fromkeys(("ScatterElements", "Scatter"), (1, 0)),
    **dict.fromkeys(("CrossEntropy", "LossGradient"), (1, -1)),
    "RoiAlign": (2, 0),
    **dict.fromkeys(("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"), (1, 1)),
}
"""Operators with the position of their indices, and the default axis of these."""


def is_view(node: Node) -> bool:
    """Return whether a node moves no bytes."""
    return operators.lookup(node.operator).style is Style.VIEW


def inspect(node: Node, array: Array, shape: tuple[int, ...]) -> Array:
    """Return the array of a view."""
    if node.operator == "StridedView":
        split, perm = integers(node.attributes, "split"), integers(node.attributes, "perm")
        return array.reshape(split).transpose(perm).reshape(shape)
    if node.operator == "StridedViewGradient":
        split, perm = integers(node.attributes, "split"), integers(node.attributes, "perm")
        turned = array.reshape([split[axis] for axis in perm])
        return turned.transpose(np.argsort(perm)).reshape(shape)
    return array.reshape(shape)


def _fits(shape: tuple[int, ...], result: tuple[int, ...]) -> bool:
    """Return whether a shape broadcasts to that of a result; that of a padded operand does not."""
    axes = zip(reversed(shape), reversed(result), strict=False)
    return len(shape) <= len(result) and all(size in (1, of) for size, of in axes)


def wrap(
    array: Array,
    operands: Sequence[Array],
    before: Array | None = None,
    *,
    scale: int = 1,
    elementwise: bool = False,
) -> Array:
    """Return whole numbers from -8 to 7: residues, so that sums may be wrapped at any time.

    NaN from operands without NaN (a quotient by 0) becomes 0, so that it hides nothing; from other
    operands it stays, for it may be poison. ``before`` is a wrapped sum to add to; ``scale``
    magnifies results that are always small. ``elementwise``: an element depends on the same place
    of operands alone, so NaN elsewhere, in parts that are poison, does not count.
    """
    found = array.astype(np.float64)
    wrong = ~np.isfinite(found)
    # Checked only where it matters: isfinite of all operands is slow.
    if wrong.any():
        sane = (np.isfinite(each) for each in operands if each.dtype.kind == "f")
        for each in sane:
            wrong &= each if elementwise and _fits(each.shape, wrong.shape) else each.all()
        found[wrong] = 0
    found = np.round(found * (FACTOR * scale))
    return residue(found if before is None else found + before)
