"""A JSON object read strictly: every field present, of its type, and none left over."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import isfinite
from typing import TypeGuard, TypeVar

import numpy as np

from spmopt.core.errors import InputError, unknown
from spmopt.core.table import Ints

T = TypeVar("T")
Choice = TypeVar("Choice", bound=StrEnum)

_FRACTION = re.compile(r"-?[0-9]{1,4000}(/[0-9]{1,4000})?")
_LARGEST_FRACTION = 10**100  # what is computed from it must still be a double
_NAMES = {int: "whole number", str: "text", bool: "true or false", list: "array"}


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of one object; ``where`` is its path in the document, for errors."""

    values: Mapping[str, object]
    where: str

    @classmethod
    def of(
        cls, value: object, where: str, names: Sequence[str], extra: Sequence[str] = ()
    ) -> Fields:
        """``value`` as an object that has the fields ``names``, perhaps ``extra``, and no other.

        Raises
        ------
        InputError
            Not an object, a field is missing, or one is unknown.
        """
        if not isinstance(value, dict):
            raise InputError(f"{where or 'document'}: must be an object")
        fields = cls(value, where)
        for name in value:
            if name not in (*names, *extra):
                raise InputError(f"{where or 'document'}: {unknown('field', name, names)}")
        for name in names:
            if name not in value:
                raise InputError(f"{fields.path(name)}: is missing")
        return fields

    def path(self, name: str) -> str:
        """Where field ``name`` stands in the document."""
        return f"{self.where}.{name}" if self.where else name

    def wrong(self, name: str, must_be: str) -> InputError:
        """Error for a field that is not ``must_be``."""
        return InputError(f"{self.path(name)}: must be {must_be}")

    def object(self, name: str, names: Sequence[str], extra: Sequence[str] = ()) -> Fields:
        """Return an object with exactly the fields ``names``, and perhaps ``extra``."""
        return Fields.of(self.values[name], self.path(name), names, extra)

    def optional(self, name: str, read: Callable[[str], T]) -> T | None:
        """Return null, or an extra field left out, as None, others as ``read`` makes of them."""
        return None if self.values.get(name) is None else read(name)

    def text(self, name: str) -> str:
        """Return a text."""
        return self._one(name, str)

    def flag(self, name: str) -> bool:
        """Return true or false."""
        return self._one(name, bool)

    def whole(self, name: str) -> int:
        """Return a whole number, however large."""
        return self._one(name, int)

    def real(self, name: str) -> float:
        """Return a finite number."""
        value = self.values[name]
        if _is(value, int) and abs(value) < 2**53:
            return float(value)
        if not _is(value, float) or not isfinite(value):
            raise self.wrong(name, "a finite number")
        return value

    def least_0(self, name: str) -> float:
        """Return a finite number, 0 or more."""
        value = self.real(name)
        if value < 0:
            raise self.wrong(name, "0 or more")
        return value

    def fraction(self, name: str) -> Fraction:
        """Return an exact number, written as ``"3"`` or ``"3/7"``."""
        value = self.text(name)
        if not _FRACTION.fullmatch(value) or re.search("/0+$", value):
            raise self.wrong(name, 'a fraction in quotes, as "3" or "3/7"')
        number = Fraction(value)
        if abs(number) >= _LARGEST_FRACTION:
            raise self.wrong(name, "below 1e100")
        return number

    def choice(self, name: str, options: type[Choice]) -> Choice:
        """Return one of ``options``, by value."""
        return self._member(name, options, self.text(name))

    def fractions(self, name: str) -> tuple[Fraction, ...]:
        """Return an array of exact numbers, written as :meth:`fraction` reads them."""
        return tuple(Fields({name: text}, self.where).fraction(name) for text in self.texts(name))

    def objects(self, name: str, names: Sequence[str]) -> list[Fields]:
        """Return an array of objects with exactly the fields ``names``."""
        return [
            Fields.of(value, f"{self.path(name)}[{k}]", names)
            for k, value in enumerate(self._one(name, list))
        ]

    def texts(self, name: str) -> list[str]:
        """Return an array of texts."""
        return self._column(name, str)

    def flags(self, name: str) -> list[bool]:
        """Return an array of true and false."""
        return self._column(name, bool)

    def wholes(self, name: str) -> list[int]:
        """Return an array of whole numbers."""
        return self._column(name, int)

    def ints(self, name: str) -> Ints:
        """Return an array of 64-bit whole numbers."""
        try:
            return np.array(self.wholes(name), dtype=np.int64)
        except OverflowError:
            raise self.wrong(name, "numbers of 64 bits") from None

    def choices(self, name: str, options: type[Choice]) -> list[Choice]:
        """Return an array of ``options``, by value."""
        return [self._member(name, options, value) for value in self.texts(name)]

    def rows(self, name: str, kind: type[T]) -> list[tuple[T, ...]]:
        """Return an array of arrays of ``kind``."""
        rows: list[tuple[T, ...]] = []
        for row in self._column(name, list):
            if not _all(row, kind):
                raise self.wrong(name, f"arrays of {_NAMES[kind]} only")
            rows.append(tuple(row))
        return rows

    def _member(self, name: str, options: type[Choice], value: str) -> Choice:
        try:
            return options(value)
        except ValueError:
            raise self.wrong(name, f"one of {', '.join(options)}, not {value!r}") from None

    def _one(self, name: str, kind: type[T]) -> T:
        value = self.values[name]
        if not _is(value, kind):
            raise self.wrong(name, f"a {_NAMES[kind]}")
        return value

    def _column(self, name: str, kind: type[T]) -> list[T]:
        values = self._one(name, list)
        if not _all(values, kind):
            raise self.wrong(name, f"an array of {_NAMES[kind]} only")
        return values


def _is(value: object, kind: type[T]) -> TypeGuard[T]:
    """Exactly ``kind``: true is no number here."""
    return type(value) is kind


def _all(values: list[object], kind: type[T]) -> TypeGuard[list[T]]:
    return set(map(type, values)) <= {kind}
