"""Operators from TOML, the program's own (``operators.toml``, which says the keys) and a user's."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources.abc import Traversable
from math import prod
from typing import Any

from spmopt.core.errors import InputError, unknown
from spmopt.graph.operators.attributes import broadcast
from spmopt.graph.operators.pointwise import gradient_reads, same_shape
from spmopt.graph.operators.spec import Attributes, OperatorSpec, Shapes, Style

_KEYS = {
    "operations": int,
    "of_input": int,
    "shapes": str,
    "style": str,
    "element_bytes": int,
    "constants": list,
    "gradient": dict,
}
_OF_GRADIENT = {"reads": list, "operations": int}


def joined_shapes(inputs: Shapes, attributes: Attributes) -> Shapes:
    """One result, of the shape that all inputs broadcast to."""
    if not inputs:
        raise InputError("takes at least 1 input")
    return (broadcast(*inputs),)


_SHAPES = {"same": same_shape, "broadcast": joined_shapes, "given": None}


def read_operators(source: Traversable) -> tuple[OperatorSpec, ...]:
    """Read the operators of a TOML file, with those of their gradients.

    Raises
    ------
    InputError
        It cannot be read, or a rule has a key or a value that no rule has.
    """
    try:
        tables = tomllib.loads(source.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"operators {source}: cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"operators {source}: not TOML: {error}") from None
    return tuple(spec for name, table in tables.items() for spec in operators_of(name, table))


def operators_of(name: str, table: object) -> tuple[OperatorSpec, ...]:
    """Return the operator of a table, and its gradient's where it has one.

    Raises
    ------
    InputError
        A key or a value that no rule has.
    """
    where = f"operator {name}"
    rule = _checked(table, _KEYS, where)
    shapes, style = rule.get("shapes", "same"), rule.get("style", str(Style.POINTWISE))
    if shapes not in _SHAPES:
        raise unknown(f"shapes of {where}", shapes, _SHAPES)
    if style not in (Style.POINTWISE, Style.VIEW):
        raise unknown(f"style of {where}", style, (Style.POINTWISE, Style.VIEW))
    size = rule.get("element_bytes")
    gradient = None
    backward: tuple[OperatorSpec, ...] = ()
    if "gradient" in rule:
        of_gradient = _checked(rule["gradient"], _OF_GRADIENT, f"gradient of {where}")
        reads = tuple(_read(text, where) for text in of_gradient.get("reads", ()))
        gradient = gradient_reads(f"{name}Gradient", reads)
        work = _work(of_gradient.get("operations", 0), 0)
        backward = (
            OperatorSpec(
                name=f"{name}Gradient", style=Style.POINTWISE, shapes=None, operations=work
            ),
        )
    forward = OperatorSpec(
        name=name,
        style=Style(style),
        shapes=_SHAPES[shapes],
        operations=_work(rule.get("operations", 0), rule.get("of_input", 0)),
        gradients=gradient,
        result_bytes=None if size is None else lambda inputs, attributes: (size,),
        constants=dict(enumerate(rule["constants"], start=1)) if "constants" in rule else None,
    )
    return (forward, *backward)


def _work(of_result: int, of_input: int) -> Any:
    return lambda inputs, outputs, attributes: (
        of_result * prod(outputs[0]) + (of_input * prod(inputs[0]) if of_input else 0)
    )


def _read(text: object, where: str) -> tuple[str, int]:
    word = str(text)
    if word[:1] not in ("x", "y") or not word[1:].isdecimal():
        raise InputError(
            f"{where}: its gradient reads {text!r}; write x0 for input 0, y0 for result 0"
        )
    return word[0], int(word[1:])


def _checked(table: object, keys: Mapping[str, type], where: str) -> Mapping[str, Any]:
    if not isinstance(table, Mapping):
        raise InputError(f"{where}: must be a table")
    for key, value in table.items():
        if key not in keys:
            raise InputError(f"{where}: {unknown('key', key, keys)}")
        if not isinstance(value, keys[key]) or (isinstance(value, int) and value < 0):
            raise InputError(f"{where}: {key} = {value!r} is no {keys[key].__name__} that will do")
    return table
