"""One rule per operator: result shapes, work, and inputs of its gradients."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache
from importlib.resources import files
from itertools import chain, repeat
from os import PathLike
from pathlib import Path

from spmopt.core.errors import InputError
from spmopt.core.graph import Attribute, Node
from spmopt.core.loops import LoopNest
from spmopt.core.plugins import Registry
from spmopt.graph.operators.loops import loop_nest
from spmopt.graph.operators.spec import Attributes, OperatorSpec, Shape, ShapeRule, Shapes
from spmopt.graph.operators.table import operators_of, read_operators, read_tables


def _operator(name: str, found: object) -> OperatorSpec:
    """Rule that a package or a user gave: it, several with it, a table, or a TOML file."""
    if isinstance(found, str | PathLike):
        found = read_operators(Path(found))
    specs = operators_of(name, found) if isinstance(found, Mapping) else found
    given = {name: specs} if isinstance(specs, OperatorSpec) else {}
    if isinstance(specs, Iterable):
        given = {getattr(spec, "name", ""): spec for spec in specs}
    if not isinstance(given.get(name), OperatorSpec):
        raise InputError(f"operator {name}: no rule of it; give an OperatorSpec, or its TOML file")
    SPECS.added.update({key: spec for key, spec in given.items() if key not in SPECS})
    return given[name]


SPECS: Registry[OperatorSpec] = Registry(
    group="spmopt.operators",
    make=_operator,
    own={
        spec.name: spec
        for source in sorted(files("spmopt.graph.operators").iterdir(), key=lambda each: each.name)
        if source.name.endswith(".toml")
        for spec in read_operators(source)
    },
)
"""Rules of the operators by name."""
_OF_FILES: dict[str, tuple[object, tuple[str, ...]]] = {}
"""Tables that files gave, and the operators that are registered for each."""


def register_operators(
    rules: Iterable[OperatorSpec] | str | PathLike[str],
    *,
    warn: Callable[[str], None] = warnings.warn,
) -> None:
    """Add rules of operators and of their gradients.

    Parameters
    ----------
    rules
        Records, or the path of a TOML file as ``spmopt/graph/operators/operators.toml`` is one, or
        with a class for each. Keys of earlier files may be overridden; it may replace rules
        of the program, and reasons why there is none.
    warn
        Receives a line on each that a file replaces.

    Raises
    ------
    InputError
        A name of a record that is taken, or a file that cannot be read.
    """
    if not isinstance(rules, str | PathLike):
        for spec in rules:
            SPECS.register(spec.name, spec)
        return
    for name, table in read_tables(Path(rules)).items():
        known = _OF_FILES.get(name)
        if known is not None and known[0] == table:
            continue
        for old in () if known is None else known[1]:  # the file was changed since
            SPECS.added.pop(old, None)
        specs = operators_of(name, table)
        for spec in specs:
            if spec.name in SPECS.own:
                what = "reason to refuse" if SPECS.own[spec.name].refused else "rule of"
                warn(f"{rules}: replaces the program's own {what} {spec.name}")
                SPECS.added[spec.name] = _in_place_of(SPECS.own[spec.name], spec)
            else:
                SPECS.register(spec.name, spec)
        _OF_FILES[name] = table, tuple(spec.name for spec in specs)


def _in_place_of(own: OperatorSpec, spec: OperatorSpec) -> OperatorSpec:
    """Return a rule that replaces one of the program: a class keeps its rules for operands."""
    if not spec.stated or own.shapes is None:
        return spec
    return replace(
        spec,
        stated=False,
        shapes=own.shapes,
        result_types=own.result_types,
        constants=own.constants,
        loose=own.loose,
        states=own.states,
        scales=own.scales,
    )


def lookup(name: str) -> OperatorSpec:
    """Return the rules of the operator ``name``.

    Raises
    ------
    InputError
        No operator of that name; names the remedy.
    """
    spec = SPECS.find(name)
    if spec is None:
        known = {key.lower(): key for key in SPECS.names()}
        near = get_close_matches(name.lower(), known, n=1)
        hint = f"did you mean {known[near[0]]}? Else " if near else ""
        raise InputError(
            f"operator {name} has no rule; {hint}give "
            "it one, or a class (--operators rules.toml, or spmopt.register_operators)"
        )
    if spec.refused:
        raise InputError(f"operator {name}: {spec.refused}")
    return spec


def results(
    name: str, shapes: Shapes, types: tuple[str, ...], attributes: Attributes
) -> tuple[tuple[Shape, str], ...]:
    """Return the shape and the element type of each result of a forward operator.

    Parameters
    ----------
    shapes, types
        Of the inputs.

    Raises
    ------
    InputError
        An unknown operator, or inputs and attributes that do not suit it.
    """
    spec = lookup(name)
    if spec.stated:
        raise InputError("has results of shapes that no rule knows; use add_stated")
    if spec.shapes is None:
        raise InputError("belongs to the backward pass; use training_graph")
    if not shapes:
        raise InputError("takes at least 1 input")
    try:  # most nodes of a large network have shapes and attributes of others
        result_shapes = _result_shapes(spec.shapes, shapes, tuple(attributes.items()))
    except TypeError:  # a list among the attributes, of which the rule says what is wrong
        result_shapes = spec.shapes(shapes, attributes)
    if spec.result_types is None:
        return tuple((shape, types[0]) for shape in result_shapes)
    found = spec.result_types(types, attributes)
    return tuple(zip(result_shapes, chain(found, repeat(found[-1])), strict=False))


def computation(node: Node, inputs: Shapes, outputs: Shapes) -> LoopNest:
    """Return the computation of a node; no statements where it is not known.

    Raises
    ------
    InputError
        It does not suit the shapes.
    """
    rule = lookup(node.operator).computes
    if rule is None:
        return LoopNest(extents={}, statements=())
    try:
        source = rule(inputs, outputs, node.attributes)
        try:  # as with results' shapes
            return _loop_nest(source, inputs, outputs, tuple(node.attributes.items()))
        except TypeError:
            return loop_nest(source, inputs, outputs, node.attributes)
    except InputError as error:
        raise InputError(f"node {node.name} ({node.operator}): {error}") from None


@lru_cache(maxsize=4096)
def _loop_nest(
    source: str, inputs: Shapes, outputs: Shapes, attributes: tuple[tuple[str, Attribute], ...]
) -> LoopNest:
    return loop_nest(source, inputs, outputs, dict(attributes))


@lru_cache(maxsize=1024)
def _result_shapes(
    rule: ShapeRule, shapes: Shapes, attributes: tuple[tuple[str, Attribute], ...]
) -> Shapes:
    return rule(shapes, dict(attributes))
