"""Classes of operators: a user's line on an operator without a rule.

A class is a table with its keys filled in (see ``operators.toml``), which a user's own keys
replace. Its cost is an assumption, and results say so. A product's work is none: its
equation says it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from string import ascii_uppercase
from typing import Any

from spmopt.core.errors import InputError, unknown
from spmopt.graph.operators.lookups import unknown_computes
from spmopt.graph.operators.products import einsum_product, einsum_shapes, equation
from spmopt.graph.operators.spec import (
    Attributes,
    Gemm,
    OperatorSpec,
    Shapes,
    Style,
)

_EQUATION = re.compile(r"((?:\.\.\.)?[a-z]+),([a-z]+)->((?:\.\.\.)?[a-z]+)")
_ASSUMED = {"shapes": "stated", "gradients": "assumed"}
CLASSES: dict[str, dict[str, Any]] = {
    "pointwise": {**_ASSUMED, "operations": 1},
    "view": {
        "shapes": "stated",
        "style": "view",
        "gradient": {"operator": "ViewGradient"},
    },
    "reduction": {**_ASSUMED, "of_input": 1, "computes": "unknown"},
    "normalization": {**_ASSUMED, "operations": 7, "computes": "row_norm"},
    "lookup": {**_ASSUMED, "computes": "unknown"},
    "product": {},
}
"""Defaults of each class."""
SAME_SHAPE = ("pointwise", "normalization")
"""Classes whose result has the shape of the first operand where nothing says another."""
_OF_PRODUCTS = ("equation", "operands")


def fill_in(table: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return a table without ``class``, with the keys of the class that it does not have.

    Raises
    ------
    InputError
        There is no such class, or a key belongs to another one.
    """
    name = str(table["class"])
    if name not in CLASSES:
        raise unknown(f"class of {where}", name, CLASSES)
    own = {key: value for key, value in table.items() if key != "class"}
    if name == "product":
        if "equation" not in own:
            raise InputError(
                f'{where}: a product needs its equation, as equation = "...mk,kn->...mn"'
            )
    else:
        for key in (key for key in _OF_PRODUCTS if key in own):
            raise InputError(f"{where}: {key} is for class product")
    if "gradient" in own or "gradients" in own:
        return {**{k: v for k, v in CLASSES[name].items() if not k.startswith("gradient")}, **own}
    return {**CLASSES[name], **own}


def product_of(spec: OperatorSpec, table: Mapping[str, Any], where: str) -> OperatorSpec:
    """Return the operator as the matrix product of an equation; other inputs are streamed.

    ``operands``: positions of A and B among the inputs.

    Raises
    ------
    InputError
        An equation that is none of two matrices.
    """
    text = str(table["equation"]).replace(" ", "")
    found = _EQUATION.fullmatch(text)
    places = table.get("operands", [0, 1])
    if found is None:
        raise InputError(
            f'{where}: equation {table["equation"]!r} must be as "...mk,kn->...mn" or '
            '"bmk,bkn->bmn": a letter for each axis, each once in an operand'
        )
    whole = all(isinstance(place, int) for place in places)  # else they may not be hashable
    if not whole or len(places) != 2 or places[0] == places[1]:
        raise InputError(f"{where}: operands {places} must be the positions of A and B")
    a, b, result = (set(part) - {"."} for part in found.groups())
    if not a & b or not result <= a | b:
        raise InputError(f"{where}: equation {text!r} is no product; A and B must share an axis")
    try:
        equation({"equation": text.replace("...", "")})
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    product = _Product(text, (places[0], places[1]))
    return replace(
        spec,
        shapes=spec.shapes if "shapes" in table else product.shapes,
        style=Style.GEMM,
        gemm=product.gemm,
        operations=lambda *of: 2 * product.gemm(*of).macs,
        computes=product.computes,
    )


@dataclass(frozen=True)
class _Product:
    """Rules of an equation of the inputs at two places; dots are axes of A before the others."""

    equation: str
    places: tuple[int, int]

    def _operands(self, inputs: Shapes) -> tuple[Shapes, Attributes]:
        """Return the shapes of A and B, and the equation with a letter for each axis."""
        if max(self.places) >= len(inputs):
            least = max(self.places) + 1
            raise InputError(f"takes {least} inputs or more, was given {len(inputs)}")
        both = inputs[self.places[0]], inputs[self.places[1]]
        first = self.equation.partition(",")[0].replace("...", "")
        dots = ascii_uppercase[: max(0, len(both[0]) - len(first))]
        return both, {"equation": self.equation.replace("...", dots)}

    def shapes(self, inputs: Shapes, attributes: Attributes) -> Shapes:
        return einsum_shapes(*self._operands(inputs))

    def gemm(self, inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
        both, of = self._operands(inputs)
        (wanted,) = einsum_shapes(both, of)
        if prod(wanted) != prod(outputs[0]):
            raise InputError(f"result {outputs[0]} is not {wanted}, as its equation says")
        a, b = self.places
        return replace(einsum_product(both, outputs, of), a=(a,), b=(b,))

    def computes(self, inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
        both, of = self._operands(inputs)
        if einsum_shapes(both, of) != outputs[:1]:
            return unknown_computes(inputs, outputs, attributes)
        first, second, result = (", ".join(labels) for labels in equation(of))
        a, b = self.places
        return f"y0[{result}] += x{a}[{first}] * x{b}[{second}]"
