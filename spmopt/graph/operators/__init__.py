"""One rule per operator: result shapes, work, and what its gradients read."""

from __future__ import annotations

from difflib import get_close_matches
from itertools import chain

from spmopt.core.errors import InputError
from spmopt.graph.operators import (
    activation,
    arithmetic,
    assumed,
    convolution,
    deconvolution,
    elementwise,
    expansion,
    loss,
    matmul,
    movement,
    normalization,
    optimizer,
    pooling,
    recurrent,
    views,
)
from spmopt.graph.operators.spec import Attributes, OperatorSpec, Shape, Shapes

_FAMILIES = (
    activation,
    arithmetic,
    assumed,
    convolution,
    deconvolution,
    elementwise,
    expansion,
    loss,
    matmul,
    movement,
    normalization,
    optimizer,
    pooling,
    recurrent,
    views,
)
SPECS: dict[str, OperatorSpec] = {
    spec.name: spec for spec in chain.from_iterable(family.SPECS for family in _FAMILIES)
}


def lookup(name: str) -> OperatorSpec:
    """Rules of the operator ``name``.

    Raises
    ------
    InputError
        No operator of that name; says what can be done.
    """
    spec = SPECS.get(name)
    if spec is None:
        known = {key.lower(): key for key in SPECS}
        near = get_close_matches(name.lower(), known, n=1)
        hint = f"did you mean {known[near[0]]}? Else " if near else ""
        raise InputError(
            f"operator {name} has no rule; {hint}add one to spmopt/graph/operators, or pass "
            "--assume-pointwise to treat it as point-wise"
        )
    return spec


def results(
    name: str, shapes: Shapes, element_bytes: tuple[int, ...], attributes: Attributes
) -> tuple[tuple[Shape, int], ...]:
    """Shape and bytes of one element of each result of a forward operator.

    Parameters
    ----------
    shapes, element_bytes
        Of the inputs.

    Raises
    ------
    InputError
        An unknown operator, or inputs and attributes that do not suit it.
    """
    spec = lookup(name)
    if spec.shapes is None:
        raise InputError("belongs to the backward pass; use training_graph")
    if not shapes:
        raise InputError("takes at least 1 input")
    result_shapes = spec.shapes(shapes, attributes)
    if spec.result_bytes is None:
        return tuple((shape, element_bytes[0]) for shape in result_shapes)
    return tuple(zip(result_shapes, spec.result_bytes(element_bytes, attributes), strict=True))
