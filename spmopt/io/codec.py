"""Records as JSON and back, read strictly.

The fields of a record are those of its JSON object. Those whose metadata name a ``group`` are left
out where all of the group are empty or false, as those of ``banks`` without banks; those that are
not ``stored`` always. ``msgspec`` checks types and makes the records, which check themselves;
unknown and missing fields, which it ignores, are refused here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cache
from math import isfinite
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
import numpy as np

from spmopt.core.errors import InputError, unknown
from spmopt.core.problem import TensorKind
from spmopt.core.result import Status

T = TypeVar("T")
Json = dict[str, Any]

_FRACTION = re.compile(r"-?[0-9]{1,4000}(/[0-9]{1,4000})?")
_LARGEST_FRACTION = 10**100  # figures computed from it must still be doubles
_WORDS = {
    "int": "a whole number",
    "float": "a finite number",
    "str": "a text",
    "bool": "true or false",
    "array": "an array",
    "object": "an object",
    "null": "null",
}
_CHOICES: Mapping[str, type[StrEnum]] = {"status": Status, "kind": TensorKind}
_EXPECTED = re.compile(r"Expected `([\w |]+)`, got `(\w+)`")
_MISSING = re.compile(r"Object missing required field `(\w+)`")


def encode(record: Any) -> Json:
    """Return a record as a JSON object; fractions become texts, columns and tuples arrays."""
    names = {
        field.name: field.metadata.get("group")
        for field in fields(record)
        if field.metadata.get("stored", True)
    }
    shown = {None, *(group for name, group in names.items() if _is_given(getattr(record, name)))}
    return {name: _plain(getattr(record, name)) for name in names if names[name] in shown}


def decode(value: object, kind: type[T], where: str) -> T:
    """Make a record of ``kind``, or a mapping, of a JSON value; ``where`` is its path.

    Raises
    ------
    InputError
        A field is missing, unknown or of another type, or the record refuses it: one line that
        begins with the path of the field.
    """
    # msgspec passes over unknown fields and fills in defaults: both are refused first.
    _check_fields(value, kind, where)
    try:
        return msgspec.convert(value, kind, dec_hook=_decode_value)
    except msgspec.ValidationError as error:
        raise InputError(_reword(str(error), where)) from None


def join(where: str, name: str) -> str:
    """Return the path of field ``name`` of the object at ``where``."""
    return f"{where}.{name}" if where else name


def require_fields(
    value: Json, names: Sequence[str], where: str, optional: Sequence[str] = ()
) -> None:
    """Refuse an object without a field of ``names`` that is not ``optional``, or with another."""
    for name in value:
        if name not in names:
            raise InputError(f"{where or 'document'}: {unknown('field', name, names)}")
    for name in names:
        if name not in value and name not in optional:
            raise InputError(f"{join(where, name)}: is missing")


def _is_given(value: object) -> bool:
    """Return whether a field is neither empty nor false."""
    return bool(value.size) if isinstance(value, np.ndarray) else bool(value)


def _plain(value: Any) -> object:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Fraction | StrEnum):
        return str(value)
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float) and not isfinite(value):
        # Not an error of input: a record of ours must not hold NaN or infinity here.
        raise ValueError(f"{value} is no JSON number")
    return encode(value) if is_dataclass(value) else value


def _decode_value(kind: type, value: object) -> object:
    """Return a fraction, or a column of 64-bit integers; msgspec adds the path to errors."""
    if kind is Fraction:
        return _fraction(value)
    # `type`, not `isinstance`: true and false are integers to Python.
    if not isinstance(value, list) or set(map(type, value)) - {int}:
        raise ValueError("must be an array of whole numbers only")
    try:
        return np.array(value, dtype=np.int64)
    except OverflowError:
        raise ValueError("must be numbers of 64 bits") from None


def _fraction(value: object) -> Fraction:
    if not isinstance(value, str):
        raise ValueError("must be a text, an exact number as '3' or '3/7'")
    # A denominator of zeros would raise ZeroDivisionError below.
    if not _FRACTION.fullmatch(value) or re.search("/0+$", value):
        raise ValueError("must be a fraction in quotes, as '3' or '3/7'")
    number = Fraction(value)
    if abs(number) >= _LARGEST_FRACTION:
        raise ValueError("must be below 1e100")
    return number


def _reword(message: str, where: str) -> str:
    """Return one line that begins with the path: ``machine.spm_bytes: must be a whole number``."""
    text, _, path = message.partition(" - at `$")
    place = (where + path.removesuffix("`")).removeprefix(".")
    missing, expected = _MISSING.fullmatch(text), _EXPECTED.fullmatch(text)
    if missing:
        return f"{join(place, missing[1])}: is missing"
    if expected:
        wanted, got = (
            " or ".join(_WORDS.get(name, name) for name in names.split(" | "))
            for names in expected.groups()
        )
        text = f"must be {wanted}, is {got}"
    elif text.startswith("Invalid enum value"):
        # The last word of the path, without indices, is the field of the enumeration.
        options = _CHOICES[re.findall(r"\w+", re.sub(r"\[.*?\]", "", place))[-1]]
        given = text.removeprefix("Invalid enum value ")
        text = f"must be one of {', '.join(options)}, not {given}"
    elif text == "Number out of range":
        text = "must be a finite number"
    return f"{place or 'document'}: {text}"


@cache
def _hints(kind: type) -> dict[str, Any]:
    """Return the types of the fields of a record that are stored."""
    hints = get_type_hints(kind)
    stored = [field.name for field in fields(kind) if field.metadata.get("stored", True)]
    return {name: hints[name] for name in stored}


def _optional(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind) if "group" in field.metadata)


def _check_fields(value: object, hint: Any, where: str) -> None:
    """Refuse fields that a record does not have, and those left out, also if they have a default.

    First of all, because a record that got a default in place of a field complains of others.
    """
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        for one in inner:
            _check_fields(value, one, where)
    elif origin is tuple and isinstance(value, list) and is_dataclass(inner[0]):
        for index, each in enumerate(value):
            _check_fields(each, inner[0], f"{where}[{index}]")
    elif is_dataclass(hint) and isinstance(hint, type) and isinstance(value, dict):
        hints = _hints(hint)
        require_fields(value, list(hints), where, _optional(hint))
        for name, one in value.items():
            _check_fields(one, hints[name], join(where, name))
