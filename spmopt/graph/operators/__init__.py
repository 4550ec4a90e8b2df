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
from spmopt.graph.operators.spec import OperatorSpec

_FAMILIES = (
    activation,
    arithmetic,
    assumed,
    convolution,
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
