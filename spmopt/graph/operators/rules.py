"""Rules of operators by the names that tables of operators call them by.

A rule is a public function of a module for a kind of operator. Its suffix names the kind of its
result, the rest is its name: ``shapes = "softmax"`` in a table calls ``softmax_shapes`` of
:mod:`.reductions`.

``..._shapes(inputs, attributes)``
    Shapes of the results, from those of the inputs. A table may say how many inputs there are; that
    is checked before.
``..._computes(inputs, outputs, attributes)``
    Which elements are made of which: a text for :mod:`.loops`.
``..._product(inputs, outputs, attributes)``
    The matrix product behind an operator.
"""

from __future__ import annotations

from inspect import getmembers, isfunction
from typing import Any

from spmopt.graph.operators import (
    attention,
    elementwise,
    layout,
    lookups,
    normalization,
    parts,
    products,
    reductions,
    resizing,
    sequences,
    windows,
)
from spmopt.graph.operators.spec import Computes, GemmRule, ShapeRule

KINDS = (
    *(attention, elementwise, reductions, normalization, layout, parts),
    *(lookups, windows, products, sequences, resizing),
)
"""Modules that have rules."""


def _rules(suffix: str) -> dict[str, Any]:
    """Return the public functions with a suffix, by their prefix."""
    return {
        name.removesuffix(suffix): rule
        for kind in KINDS
        for name, rule in getmembers(kind, isfunction)
        if rule.__module__ == kind.__name__ and name.endswith(suffix) and not name.startswith("_")
    }


SHAPES: dict[str, ShapeRule | None] = {"given": None, "stated": None, **_rules("_shapes")}
COMPUTES: dict[str, Computes] = _rules("_computes")
PRODUCTS: dict[str, GemmRule] = _rules("_product")
