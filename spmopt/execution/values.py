"""Values of graphs as arrays: their types, their contents at the start, and views of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from spmopt.core.elements import ElementKind
from spmopt.core.errors import InputError
from spmopt.core.graph import Graph, Node, Value
from spmopt.core.instance import TensorKind
from spmopt.execution.kernels.call import Array
from spmopt.graph import operators
from spmopt.graph.operators.attributes import integer, integers
from spmopt.graph.operators.spec import Style

DATA = ("integer", "normal")
"""Contents at the start."""
_WRAP, FACTOR = 8, 61
"""With integer data results are wrapped to whole numbers from -8 to 7. They are multiplied before:
by an odd number, which loses nothing of whole ones, and by which probabilities count too."""
_TYPES = {
    **{"fp64": "f8", "fp32": "f4", "fp16": "f2", "bool": "?"},
    **{
        f"{sign}int{bits}": f"{sign[:1] or 'i'}{bits // 8}"
        for bits in (64, 32, 16, 8)
        for sign in ("", "u")
    },
}
_NARROW = {"bf16": "bfloat16", "fp8_e4m3": "float8_e4m3fn", "fp8_e5m2": "float8_e5m2"}
"""Types of the package that ONNX brings along."""


def dtype_of(value: Value) -> np.dtype[Any]:
    """Return the type of the elements of a value.

    Raises
    ------
    InputError
        numpy has none like it.
    """
    name = value.element_type
    if name in _TYPES:
        return np.dtype(_TYPES[name])
    try:
        import ml_dtypes

        found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, _NARROW[name]))
        return found
    except (ImportError, KeyError):
        raise InputError(
            f"tensor {value.name}: numbers of type {name} cannot be computed with here; use "
            "--kernels hash"
        ) from None


def initial_values(graph: Graph, data: str, seed: int) -> dict[int, Array]:
    """Return contents of all values that no node writes, by index.

    Parameters
    ----------
    data
        ``integer``: small whole numbers; ``normal``: of the standard normal distribution, weights
        smaller the more of them are summed up. States, such as variances, are positive. Labels
        and indices are within what they choose from.
    """
    chosen = np.random.default_rng(seed)
    written = {v for node in graph.nodes for v in node.outputs if v not in node.inputs}
    limits = _limits(graph)
    return {
        index: _contents(value, data, limits.get(index), chosen)
        for index, value in enumerate(graph.values)
        if index not in written
    }


def _contents(value: Value, data: str, limit: int | None, chosen: np.random.Generator) -> Array:
    dtype = dtype_of(value)
    if limit is not None or value.type.kind is not ElementKind.FLOAT:
        return chosen.integers(0, limit or 2, value.shape).astype(dtype)
    if data == "integer":
        found = chosen.integers(-2, 3, value.shape).astype(np.float32)
    else:
        found = chosen.standard_normal(value.shape, np.float32)
        if value.kind is TensorKind.WEIGHT and len(value.shape) > 1:
            found /= np.float32(np.sqrt(value.elements / max(value.shape)))
    if value.kind is TensorKind.STATE:
        found = np.abs(found) + 1
    return found.astype(dtype)


def _limits(graph: Graph) -> dict[int, int]:
    """Return from how many integers an operand chooses, by value; the least of all its readers."""
    root, found = list(range(len(graph.values))), dict[int, int]()
    shapes = [value.shape for value in graph.values]
    for node in graph.nodes:
        if is_view(node):
            root[node.outputs[0]] = root[node.inputs[0]]
        choice = _choice(node, [shapes[v] for v in node.inputs])
        if choice is not None:
            place, limit = choice
            value = root[node.inputs[place]]
            found[value] = min(limit, found.get(value, limit))
    return found


def _choice(node: Node, shapes: Sequence[tuple[int, ...]]) -> tuple[int, int] | None:
    """Return which operand is an index, and of how many."""
    match node.operator:
        case "Gather":
            return 1, shapes[0][integer(node.attributes, "axis", 0)]
        case "LossGradient" | "CrossEntropy" | "NegativeLogLikelihood":
            return 1, shapes[0][integer(node.attributes, "axis", -1)]
        case "RoiAlign":
            return 2, shapes[0][0]
    return None


def is_view(node: Node) -> bool:
    """Return whether a node moves nothing."""
    return operators.lookup(node.operator).style is Style.VIEW


def seen(node: Node, array: Array, shape: tuple[int, ...]) -> Array:
    """Return what a view makes of its operand."""
    if node.operator == "StridedView":
        split, perm = integers(node.attributes, "split"), integers(node.attributes, "perm")
        return array.reshape(split).transpose(perm).reshape(shape)
    if node.operator == "StridedViewGradient":
        split, perm = integers(node.attributes, "split"), integers(node.attributes, "perm")
        turned = array.reshape([split[axis] for axis in perm])
        return turned.transpose(np.argsort(perm)).reshape(shape)
    return array.reshape(shape)


def wrapped(
    array: Array, operands: Sequence[Array], before: Array | None = None, *, scale: int = 1
) -> Array:
    """Return whole numbers from -8 to 7: residues, so that sums may be wrapped at any time.

    What is no number of operands that are all numbers (a quotient by 0) becomes 0, so that it hides
    nothing; of others it stays, for it may be poison. ``before`` is a sum, wrapped already, that
    they are added to; ``scale`` makes more of what is always small.
    """
    found = array.astype(np.float64)
    wrong = ~np.isfinite(found)
    if wrong.any() and all(np.isfinite(each).all() for each in operands if each.dtype.kind == "f"):
        found[wrong] = 0
    found = np.round(found * (FACTOR * scale)) + (_WRAP if before is None else _WRAP + before)
    return np.mod(found, 2 * _WRAP) - _WRAP
