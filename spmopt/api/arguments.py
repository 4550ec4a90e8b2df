"""Check arguments of public functions against their annotations: one clear line for a wrong type.

Annotations are read as text: to evaluate them would import all types that they name, most of which
no call needs.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sized
from functools import cache, wraps
from inspect import Parameter, signature
from numbers import Integral, Real
from os import PathLike
from reprlib import repr as shortened
from typing import ParamSpec, TypeVar

from spmopt.core.errors import InputError

P = ParamSpec("P")
R = TypeVar("R")
_ALIASES = {
    "Axis": "str | int | Sequence[str | int]",
    "Setting": "str | int | float | bool",
    "Reported": "Subject | Ablation",
    "Subject": "Solution | Sequence[Solution] | SweepTable | HardwareSearch",
}
_MADE_BY = {
    "Workload": "spmopt.load",
    "Machine": "spmopt.machine",
    "Problem": "spmopt.lower",
    "Solution": "spmopt.solve",
}
"""Functions that make the records which others take."""
# Kinds that an error message does not offer.
_UNSAID = ("None", "SchedulerEntry")
_PLAIN = (str, bytes, int, float, complex, list, tuple, dict, set, type(None))


def _is_switch(value: object) -> bool:
    return type(value).__name__ in ("bool", "bool_")  # numpy has one of its own


def _of_python(value: object) -> object:
    """Return a number of numpy as Python's own, which all that follows knows."""
    if _is_switch(value):
        return bool(value)
    # Integers of numpy overflow and are no JSON.
    return int(value) if isinstance(value, Integral) else value


_TESTS: dict[str, Callable[[object], bool]] = {
    "None": lambda value: value is None,
    "bool": _is_switch,
    "int": lambda value: isinstance(value, Integral) and not _is_switch(value),
    "float": lambda value: isinstance(value, Real) and not _is_switch(value),
    "Path": lambda value: isinstance(value, PathLike),
    "Policy": callable,
    "Kernel": callable,
    "CostsOf": callable,
}
"""Tests of a value by the name of an annotation; any other name must be a class of its bases."""


def check(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function that raises :class:`InputError` for an argument of a wrong type."""
    declared = signature(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            given = declared.bind(*args, **kwargs)
        except TypeError:
            return function(*args, **kwargs)  # says which argument is missing or unknown
        for name, value in given.arguments.items():
            parameter = declared.parameters[name]
            # Defaults need no check; identity, because arrays have no plain equality.
            if value is not parameter.default:
                _require(name, value, parameter)
                given.arguments[name] = _of_python(value)
        return function(*given.args, **given.kwargs)

    return call


def _require(name: str, value: object, parameter: Parameter) -> None:
    kinds = _parse(str(parameter.annotation))
    if not any(_is(value, kind) for kind in kinds):
        texts = [_spell(kind) for kind in map(ast.unparse, kinds) if kind not in _UNSAID]
        raise InputError(f"{name} {_show(value)}: must be {' | '.join(texts)}")


@cache
def _parse(annotation: str) -> tuple[ast.expr, ...]:
    return _choices(ast.parse(annotation, mode="eval").body)


def _choices(kind: ast.expr) -> tuple[ast.expr, ...]:
    """Return the members of a union, aliases spelled out."""
    if isinstance(kind, ast.BinOp):
        return (*_choices(kind.left), *_choices(kind.right))
    alias = _ALIASES.get(ast.unparse(kind))
    return (kind,) if alias is None else _parse(alias)


def _is(value: object, kind: ast.expr) -> bool:
    if isinstance(kind, ast.Subscript):
        inner = kind.slice.elts if isinstance(kind.slice, ast.Tuple) else [kind.slice]
        return _holds(value, ast.unparse(kind.value), [_choices(each) for each in inner])
    name = ast.unparse(kind)
    if name in _TESTS:
        return _TESTS[name](value)
    # By name: importing the class for isinstance would load its module.
    return any(each.__name__ == name for each in type(value).__mro__)


def _holds(value: object, outer: str, inner: list[tuple[ast.expr, ...]]) -> bool:
    """Return whether a value is such a collection, and all its items are of the inner kinds."""
    if outer == "Mapping":
        keys, values = inner
        return isinstance(value, Mapping) and all(
            any(_is(key, kind) for kind in keys) and any(_is(each, kind) for kind in values)
            for key, each in value.items()
        )
    # A text is a sequence of texts: "page" would pass for four schedulers.
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        return False
    # A generator would be used up.
    return not isinstance(value, Sized) or all(
        any(_is(each, kind) for kind in inner[0]) for each in value
    )


def _spell(kind: str) -> str:
    return f"{kind} ({_MADE_BY[kind]} makes one)" if kind in _MADE_BY else kind


def _show(value: object) -> str:
    """Return a plain value, shortened, or the type of any other: its text may be a page."""
    if isinstance(value, _PLAIN):
        return " ".join(shortened(value).split())
    return f"is of type {type(value).__name__}"
