"""Operators from TOML, the program's own (``operators.toml``, which says the keys) and a user's."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.resources.abc import Traversable
from math import prod
from typing import Any, TypeVar

from spmopt.core.elements import ELEMENT_TYPES, element_type, sum_type
from spmopt.core.errors import InputError, unknown
from spmopt.core.validation import read_toml
from spmopt.graph.operators.attributes import text
from spmopt.graph.operators.classes import fill_in, product_of
from spmopt.graph.operators.gradients import (
    FACTORS,
    GRADIENTS,
    Factor,
    Gradients,
    product_gradients,
)
from spmopt.graph.operators.products import input_gradient, weight_gradient
from spmopt.graph.operators.rules import COMPUTES, PRODUCTS, SHAPES
from spmopt.graph.operators.spec import (
    Attributes,
    Computes,
    Gemm,
    GemmRule,
    GradientRule,
    Needed,
    OperatorSpec,
    ShapeRule,
    Shapes,
    Style,
    TrainingForm,
)
from spmopt.graph.operators.statements import gradient

T = TypeVar("T")
_OF_WORK = {"operations": int, "of_input": int, "of_results": int, "special": int, "times": str}
_OF_GRADIENT = {**_OF_WORK, "of": list, "reads": list, "operator": str, "computes": str}
_KEYS = {
    **_OF_WORK,
    "inputs": list,
    "shapes": str,
    "style": str,
    "computes": str,
    "product": str,
    "second": str,
    "element_type": str | list,
    "constants": list,
    "states": list,
    "training": dict,
    "loss": bool,
    "scales": list,
    "refused": str,
    "equation": str,
    "operands": list,
    "accumulates": bool,
    "gradient": dict,
    "gradients": str | list,
}
_STYLES = {str(style): style for style in (Style.POINTWISE, Style.VIEW)}
_OF_INPUT = re.compile(r"(?P<sums>sum of )?x(?P<input>[0-9]{1,3})")
_Read = tuple[tuple[str, int], int | None]
"""A tensor that a gradient reads, and the input whose gradient it is read for, if for one only."""


def read_operators(source: Traversable) -> tuple[OperatorSpec, ...]:
    """Read the operators of a TOML file, with those of their gradients.

    Raises
    ------
    InputError
        It cannot be read, or a rule has a key or a value that no rule has.
    """
    tables = read_tables(source)
    return tuple(spec for name, table in tables.items() for spec in operators_of(name, table))


def read_tables(source: Traversable) -> dict[str, object]:
    """Read the tables of a TOML file of operators, by the names of these.

    Raises
    ------
    InputError
        It cannot be read.
    """
    return read_toml(source, f"operators {source}")


def operators_of(name: str, table: object) -> tuple[OperatorSpec, ...]:
    """Return the operator of a table, and those of its gradients that have no table.

    Raises
    ------
    InputError
        A key or a value that no rule has.
    """
    where = f"operator {name}"
    assumed = str(table.get("class", "")) if isinstance(table, Mapping) else ""
    if isinstance(table, Mapping) and "class" in table:
        table = fill_in(table, where)
    rule = _check(table, _KEYS, where)
    if "refused" in rule:
        return (replace(_backward(name), refused=rule["refused"]),)
    shapes = _with_name(rule.get("shapes", "same"), SHAPES, f"shapes of {where}")
    spec = OperatorSpec(
        name=name,
        style=_with_name(rule.get("style", "pointwise"), _STYLES, f"style of {where}"),
        shapes=_count(shapes, rule["inputs"]) if shapes and "inputs" in rule else shapes,
        operations=_work(rule, where),
        special=_special(rule, where),
        accumulates=rule.get("accumulates", False),
        computes=_computes(rule, where),
        result_types=_result_types(rule, where) if "element_type" in rule else None,
        constants=_constants(rule["constants"]) if "constants" in rule else None,
        loose=tuple(
            place
            for place, name in enumerate(rule.get("constants", ()), start=1)
            if name.endswith("?")
        ),
        states=tuple(rule.get("states", ())),
        training=_training(rule["training"]) if "training" in rule else None,
        loss=rule.get("loss", False),
        stated=rule.get("shapes") == "stated",
        scales=tuple(rule.get("scales", ())),
        assumed=assumed,
    )
    if "equation" in rule:
        return (product_of(spec, rule, where),)
    if "product" not in rule:
        return _with_gradients(spec, rule, where)
    product = _with_name(rule["product"], PRODUCTS, f"product of {where}")
    spec = _multiply(spec, product)
    if "second" in rule:
        spec = _multiply_again(spec, product, rule, where)
    if shapes is None or "gradients" in rule:
        return _with_gradients(spec, rule, where)
    computes = _computes(rule, where)
    of_input = gradient(computes, {"x0": "y0"}, {"y0": "x0", "x1": "x1"})
    return (
        replace(spec, gradients=product_gradients(name)),
        replace(
            _multiply(_backward(f"{name}InputGradient"), input_gradient(product)),
            computes=of_input,
        ),
        replace(
            _multiply(_backward(f"{name}WeightGradient"), weight_gradient(product)),
            computes=gradient(computes, {"x1": "y0", "x2": "y1"}, {"y0": "x0", "x0": "x1"}),
        ),
        _with_both_gradients(name, product, of_input, computes),
    )


def _with_both_gradients(
    name: str, product: GemmRule, of_input: Computes, computes: Computes
) -> OperatorSpec:
    """Return both gradients as one operation: of dY, W and X it makes dX, dW and that of a bias."""
    of_weight = gradient(computes, {"x1": "y1", "x2": "y2"}, {"y0": "x0", "x0": "x2"})

    def second(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> Gemm:
        found = weight_gradient(product)((inputs[0], inputs[2]), outputs[1:], attributes)
        return replace(found, a=(2,), c=(1,))

    first = input_gradient(product)
    return replace(
        _multiply(_backward(f"{name}Gradients"), first),
        second=second,
        operations=lambda *of: 2 * (first(*of).macs + second(*of).macs),
        computes=lambda *of: f"{of_input(*of)}; {of_weight(*of)}",
    )


def _with_gradients(
    spec: OperatorSpec, rule: Mapping[str, Any], where: str
) -> tuple[OperatorSpec, ...]:
    """Return the operator with its gradients, and the operators of these that have no table."""
    where = f"gradient of {where}"
    given = rule.get("gradients", [rule["gradient"]] if "gradient" in rule else [])
    if isinstance(given, str):
        return (replace(spec, gradients=_with_name(given, GRADIENTS, where)),)
    if not given:
        return (spec,)
    tables = [_check(table, _OF_GRADIENT, where) for table in given]
    own = f"{spec.name}Gradient"
    backward = (
        replace(
            _backward(own),
            operations=_work(table, where),
            special=_special(table, where),
            computes=_computes(table, where),
        )
        for table in tables
        if "operator" not in table
    )
    rules = [
        (
            table.get("of", [0]),
            [_read(text, where) for text in table.get("reads", ())],
            table.get("operator", own),
        )
        for table in tables
    ]
    return (replace(spec, gradients=_gradients(rules)), *backward)


def _gradients(rules: Sequence[tuple[list[int], list[_Read], str]]) -> Gradients:
    """Operations that give gradients of some inputs (none: all), read tensors, and have a name."""

    def gradients(
        inputs: Shapes, outputs: Shapes, attributes: Attributes, needed: Needed
    ) -> tuple[GradientRule, ...]:
        found = []
        for of, reads, operator in rules:
            own = tuple(sorted(needed.intersection(of) if of else needed))
            if own:
                kept = tuple(read for read, wanted in reads if wanted is None or wanted in needed)
                found.append(GradientRule(of=own, reads=kept, operator=operator))
        return tuple(found)

    return gradients


def _computes(rule: Mapping[str, Any], where: str) -> Computes:
    """Return a rule by its name, or the text that is there; by default that of broadcasting."""
    text: str = rule.get("computes", "elementwise")
    if "[" not in text:
        return _with_name(text, COMPUTES, f"computes of {where}")
    return lambda inputs, outputs, attributes: text


def _constants(names: Sequence[str]) -> dict[int, str]:
    """Return the names of inputs from input 1 on; no name is that of an operand."""
    return {place: name.rstrip("?") for place, name in enumerate(names, start=1) if name}


def _training(table: Mapping[str, Any]) -> TrainingForm:
    return TrainingForm(operator=table["operator"], inputs=tuple(table["inputs"]))


def _backward(name: str) -> OperatorSpec:
    return OperatorSpec(name=name, style=Style.POINTWISE, shapes=None, operations=lambda *shapes: 0)


def _multiply(spec: OperatorSpec, product: GemmRule) -> OperatorSpec:
    """Return it as a matrix product: 2 operations a MAC; additions of a bias do not count."""
    return replace(
        spec,
        style=Style.GEMM,
        gemm=product,
        operations=lambda inputs, outputs, attributes: (
            2 * product(inputs, outputs, attributes).macs
        ),
    )


def _multiply_again(
    spec: OperatorSpec, first: GemmRule, rule: Mapping[str, Any], where: str
) -> OperatorSpec:
    """Return it as two matrix products; ``operations`` are those for each result of the first.

    One more for each word of the attribute ``between``.
    """
    second = _with_name(rule["second"], PRODUCTS, f"second product of {where}")

    def operations(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> int:
        both = [product(inputs, outputs, attributes) for product in (first, second)]
        inner = both[0].batch * both[0].m * both[0].n
        each: int = rule.get("operations", 0) + len(text(attributes, "between", "").split())
        return 2 * sum(product.macs for product in both) + each * inner

    def special(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> int:
        found = first(inputs, outputs, attributes)
        return int(rule.get("special", 0)) * found.batch * found.m * found.n

    return replace(spec, second=second, operations=operations, special=special)


def _work(rule: Mapping[str, Any], where: str) -> Factor:
    """Operations for each element of the first result, of the first input, and of all results."""
    of_result: int = rule.get("operations", 0)
    of_input: int = rule.get("of_input", 0)
    of_results: int = rule.get("of_results", 0)
    factor = _with_name(rule.get("times", "once"), FACTORS, f"times of {where}")

    def work(inputs: Shapes, outputs: Shapes, attributes: Attributes) -> int:
        count = of_result * prod(outputs[0])
        if of_input:
            count += of_input * prod(inputs[0])
        if of_results:
            count += of_results * sum(map(prod, outputs))
        return count * factor(inputs, outputs, attributes)

    return work


def _special(rule: Mapping[str, Any], where: str) -> Factor:
    """Count elementary functions, of the elements that most of the work is counted of."""
    basis = next((key for key in ("of_input", "of_results") if rule.get(key)), "operations")
    special: int = rule.get("special", 0)
    if special > rule.get(basis, 0):
        raise InputError(f"{where}: special = {special} of {basis} = {rule.get(basis, 0)}")
    return _work({basis: special, "times": rule.get("times", "once")}, where)


def _count(shapes: ShapeRule, numbers: Sequence[int]) -> ShapeRule:
    """Return the rule for one of these numbers of inputs."""

    def check_count(inputs: Shapes, attributes: Attributes) -> Shapes:
        if len(inputs) not in numbers:
            wanted = " to ".join(map(str, numbers))
            raise InputError(f"takes {wanted} inputs, was given {len(inputs)}")
        return shapes(inputs, attributes)

    return check_count


def _result_types(
    rule: Mapping[str, Any], where: str
) -> Callable[[tuple[str, ...], Attributes], tuple[str, ...]]:
    """Return the rule of the types of results: a name, that of an input, or of an attribute."""
    given = rule["element_type"]
    given = given if isinstance(given, list) else [given]
    for each in given:
        if not _OF_INPUT.fullmatch(str(each)) and each not in (*ELEMENT_TYPES, "to"):
            raise InputError(
                f"{where}: element_type {each!r} is no element type; write fp32, x0 for that of "
                "input 0, sum of x0 for one that its sums fit in, or to for the attribute"
            )

    def type_of(of: str, inputs: tuple[str, ...], attributes: Attributes) -> str:
        found = _OF_INPUT.fullmatch(of)
        if found is None:
            return element_type(text(attributes, of, "")).name if of == "to" else of
        name = inputs[int(found["input"])] if int(found["input"]) < len(inputs) else inputs[0]
        return sum_type(name) if found["sums"] else name

    return lambda inputs, attributes: tuple(type_of(each, inputs, attributes) for each in given)


def _read(text: object, where: str) -> _Read:
    word, _, wanted = str(text).partition(" for ")
    if word[:1] not in ("x", "y") or not word[1:].isdecimal() or not (wanted or "0").isdecimal():
        raise InputError(f"{where}: reads {text!r}; write x0 for input 0, y0 for result 0")
    return (word[0], int(word[1:])), int(wanted) if wanted else None


_FORMER = {
    "blocked": "matmul_nbits",
    "resampled": "resample",
    "resized": "resize",
    "transposed_convolution": "convolution_transpose",
}
"""Names of rules in files of version 0.1, and their names of today."""


def _with_name(name: str, known: Mapping[str, T], what: str) -> T:
    name = _FORMER.get(name, name)
    if name not in known:
        raise unknown(what, name, known)
    return known[name]


def _check(table: object, keys: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    if not isinstance(table, Mapping):
        raise InputError(f"{where}: must be a table")
    for key, value in table.items():
        if key not in keys:
            raise InputError(f"{where}: {unknown('key', key, keys)}")
        kind = keys[key]
        if not isinstance(value, kind) or (isinstance(value, int) and value < 0):
            wanted = getattr(kind, "__name__", kind)
            raise InputError(f"{where}: {key} = {value!r} is no {wanted} that will do")
    return table
