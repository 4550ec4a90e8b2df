"""Classes of operators: a user's line on an operator without a rule.

A class is a table with its keys filled in (see ``operators.toml``), which a user's own keys
replace. Its cost is an assumption, and results say so. A product's work is none: its
equation says it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from math import prod
from string import ascii_uppercase
from typing import Any

from spmopt.core.errors import InputError, unknown
from spmopt.graph.operators.lookups import unknown_computes
from spmopt.graph.operators.spec import (
    Attributes,
    Computes,
    Gemm,
    GemmRule,
    OperatorSpec,
    Shape,
    ShapeRule,
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
    if found is None or any(len(set(part)) < len(part) for part in _plain(found.groups())):
        raise InputError(
            f'{where}: equation {table["equation"]!r} must be as "...mk,kn->...mn" or '
            '"bmk,bkn->bmn": a letter for each axis, each once in an operand'
        )
    whole = all(isinstance(place, int) for place in places)  # else they may not be hashable
    if not whole or len(places) != 2 or places[0] == places[1]:
        raise InputError(f"{where}: operands {places} must be the positions of A and B")
    a, b, result = found.groups()
    letters = set(a + b) - {"."}
    if not set(result) - {"."} <= letters or not set(a) & set(b) - {"."}:
        raise InputError(f"{where}: equation {text!r} is no product; A and B must share an axis")
    if any(letter not in b + result for letter in a if letter != ".") or any(
        letter not in a + result for letter in b
    ):
        raise InputError(f"{where}: equation {text!r} sums up an axis of one operand alone")
    equation, pair = (a, b, result), (places[0], places[1])
    rule = _rule(equation, pair)
    return replace(
        spec,
        shapes=spec.shapes if "shapes" in table else _shapes(equation, pair),
        style=Style.GEMM,
        gemm=rule,
        operations=lambda inputs, outputs, attributes: 2 * rule(inputs, outputs, attributes).macs,
        computes=_computes(equation, pair),
    )


def _plain(parts: tuple[str, ...]) -> list[str]:
    return [part.replace("...", "") for part in parts]


def _sizes(
    equation: tuple[str, str, str], places: tuple[int, int], inputs: Shapes
) -> tuple[list[str], dict[str, int]]:
    """Return the letters of A, B and the result, one for each axis, and the size of each."""
    if max(places) >= len(inputs):
        raise InputError(f"takes {max(places) + 1} inputs or more, was given {len(inputs)}")
    shapes = inputs[places[0]], inputs[places[1]]
    more = ascii_uppercase[: max(0, len(shapes[0]) - len(equation[0].replace("...", "")))]
    parts = [part.replace("...", more) for part in equation]
    sizes: dict[str, int] = {}
    for part, shape in zip(parts, shapes, strict=False):
        if len(part) != len(shape):
            raise InputError(f"operand {shape} does not have the axes {part} of its equation")
        for letter, size in zip(part, shape, strict=True):
            if sizes.setdefault(letter, size) != size:
                raise InputError(
                    f"operands {shapes[0]} and {shapes[1]} differ in axis {letter} of the equation"
                )
    return parts, sizes


def _shapes(equation: tuple[str, str, str], places: tuple[int, int]) -> ShapeRule:
    def shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
        (_, _, result), sizes = _sizes(equation, places, inputs)
        return (tuple(sizes[letter] for letter in result),)

    return shapes


def _rule(equation: tuple[str, str, str], places: tuple[int, int]) -> GemmRule:
    def product(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
        (a, b, result), sizes = _sizes(equation, places, inputs)
        wanted: Shape = tuple(sizes[letter] for letter in result)
        if prod(wanted) != prod(outputs[0]):
            raise InputError(f"result {outputs[0]} is not {wanted}, as its equation says")
        shared = [letter for letter in a if letter in b and letter in result]
        batch = prod(sizes[letter] for letter in shared)
        return Gemm(
            batch=batch,
            m=prod(sizes[letter] for letter in a if letter not in b),
            k=prod(sizes[letter] for letter in a if letter in b and letter not in result),
            n=prod(sizes[letter] for letter in b if letter not in a),
            a=places[:1],
            b=places[1:],
            slices=(batch, batch, batch),
        )

    return product


def _computes(equation: tuple[str, str, str], places: tuple[int, int]) -> Computes:
    def computes(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> str:
        (a, b, result), sizes = _sizes(equation, places, inputs)
        if outputs[0] != tuple(sizes[letter] for letter in result):
            return unknown_computes(inputs, outputs, attributes)
        first, second = (f"x{k}[{', '.join(part)}]" for k, part in zip(places, (a, b), strict=True))
        return f"y0[{', '.join(result)}] += {first} * {second}"

    return computes
