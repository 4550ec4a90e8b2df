"""Check arguments of public functions against their annotations: one clear line for a wrong type.

Annotations are read as they are written: to evaluate them would import what they name, and most of
that no call needs.
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
    "Reported": "Subject | Story",
    "Subject": "Solution | Sequence[Solution] | SweepTable | HardwareSearch",
}
_WORDS = {
    "str": ("a text", "texts"),
    "Path": ("a path", "paths"),
    "int": ("a whole number", "whole numbers"),
    "float": ("a number", "numbers"),
    "bool": ("True or False", "True or False"),
    "Policy": ("a policy", "policies"),
    "Kernel": ("a function", "functions"),
    "Graph": ("a graph", "graphs"),
    "Workload": ("a workload (spmopt.load makes one)", "workloads"),
    "Machine": ("a machine (spmopt.machine makes one)", "machines"),
    "Instance": ("an instance (spmopt.lower makes one)", "instances"),
    "Solution": ("a solution (spmopt.solve makes one)", "solutions"),
    "Story": ("a story", "stories"),
    "SweepTable": ("a sweep", "sweeps"),
    "HardwareSearch": ("a hardware search", "hardware searches"),
    "Objective": ("an objective", "objectives"),
    "Callbacks": ("spmopt.Callbacks", "spmopt.Callbacks"),
    "Buffer": ("a spmopt.Buffer", "buffers (spmopt.Buffer)"),
}
"""What an argument must be, one and several; a class that is not here goes by its name."""
_UNSAID = ("None", "SchedulerEntry")
_PLAIN = (str, bytes, int, float, complex, list, tuple, dict, set, type(None))


def _is_switch(value: object) -> bool:
    return type(value).__name__ in ("bool", "bool_")  # numpy has one of its own


def _of_python(value: object) -> object:
    """Return a number of numpy as Python's own, which all that follows knows."""
    if _is_switch(value):
        return bool(value)
    return int(value) if isinstance(value, Integral) else value


_TESTS: dict[str, Callable[[object], bool]] = {
    "None": lambda value: value is None,
    "bool": _is_switch,
    "int": lambda value: isinstance(value, Integral) and not _is_switch(value),
    "float": lambda value: isinstance(value, Real) and not _is_switch(value),
    "Path": lambda value: isinstance(value, PathLike),
    "Policy": callable,
    "Kernel": callable,
}
"""Whether a value is what an annotation says; of any other name, a class, its bases tell."""


def checked(function: Callable[P, R]) -> Callable[P, R]:
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
            if value is not parameter.default:
                _require(name, value, parameter)
                given.arguments[name] = _of_python(value)
        return function(*given.args, **given.kwargs)

    return call


def _require(name: str, value: object, parameter: Parameter) -> None:
    kinds = _parsed(str(parameter.annotation))
    if not any(_is(value, kind) for kind in kinds):
        words = [_word(kind, 0) for kind in kinds if ast.unparse(kind) not in _UNSAID]
        raise InputError(f"{name} {_shown(value)}: must be {_listed(words)}")


@cache
def _parsed(annotation: str) -> tuple[ast.expr, ...]:
    return _choices(ast.parse(annotation, mode="eval").body)


def _choices(kind: ast.expr) -> tuple[ast.expr, ...]:
    """Return the members of a union, aliases spelled out."""
    if isinstance(kind, ast.BinOp):
        return (*_choices(kind.left), *_choices(kind.right))
    alias = _ALIASES.get(ast.unparse(kind))
    return (kind,) if alias is None else _parsed(alias)


def _is(value: object, kind: ast.expr) -> bool:
    if isinstance(kind, ast.Subscript):
        inner = kind.slice.elts if isinstance(kind.slice, ast.Tuple) else [kind.slice]
        return _holds(value, ast.unparse(kind.value), [_choices(each) for each in inner])
    name = ast.unparse(kind)
    if name in _TESTS:
        return _TESTS[name](value)
    return any(each.__name__ == name for each in type(value).__mro__)


def _holds(value: object, outer: str, inner: list[tuple[ast.expr, ...]]) -> bool:
    """Whether a collection is one, and all that it holds is what it should be."""
    if outer == "Mapping":
        keys, values = inner
        return isinstance(value, Mapping) and all(
            any(_is(key, kind) for kind in keys) and any(_is(each, kind) for kind in values)
            for key, each in value.items()
        )
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        return False
    # A generator would be used up.
    return not isinstance(value, Sized) or all(
        any(_is(each, kind) for kind in inner[0]) for each in value
    )


def _word(kind: ast.expr, several: int) -> str:
    if isinstance(kind, ast.Subscript):
        inner = kind.slice.elts if isinstance(kind.slice, ast.Tuple) else [kind.slice]
        some = [
            _listed([_word(each, 1) for each in _choices(part) if ast.unparse(each) not in _UNSAID])
            for part in inner
        ]
        if ast.unparse(kind.value) == "Mapping":
            return f"a mapping of {some[0]} to {some[1]}"
        return f"{'lists' if several else 'a list'} of {some[0]}"
    name = ast.unparse(kind)
    return _WORDS.get(name, (f"spmopt.{name}",) * 2)[several]


def _listed(words: list[str]) -> str:
    head, last = words[:-1], words[-1]
    return f"{', '.join(head)} or {last}" if head else last


def _shown(value: object) -> str:
    """Return a plain value, shortened; of another what it is, for its text may be a page."""
    if isinstance(value, _PLAIN):
        return " ".join(shortened(value).split())
    return f"is of type {type(value).__name__}"
