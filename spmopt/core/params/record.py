"""Records of parameters: checked when they are made, read from tables of TOML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, dataclass, fields, is_dataclass, replace
from typing import Annotated, Any, Self, get_args, get_origin, get_type_hints

from spmopt.core.errors import InputError, unknown


@dataclass(frozen=True, slots=True)
class Range:
    """Values that a parameter may have: from ``least`` to ``most``."""

    least: float
    most: float = 1e15  # a float counts so far, and further

    def __str__(self) -> str:
        return f"{self.least:g} to {self.most:g}"


Share = Annotated[float, Range(0, 1)]
"""A part of a whole."""
Amount = Annotated[float, Range(0)]
"""A number that is not counted: seconds, a gap, a factor."""
Factor = Annotated[float, Range(0.01)]
"""A number to multiply by, that must not be 0."""
Count = Annotated[int, Range(0)]
"""A number of things; 0 leaves them out."""
Positive = Annotated[int, Range(1)]
"""A number of things of which there is at least one."""


@dataclass(frozen=True, kw_only=True)
class Params:
    """A record of parameters; each field is a range, tuples of one, or such a record."""

    def __post_init__(self) -> None:
        # Defaults are not checked again: reading annotations would slow every start.
        changed = [each for each in fields(self) if not _is_default(each, getattr(self, each.name))]
        if changed:
            hints = get_type_hints(type(self), include_extras=True)
            for each in changed:
                _check(each.name, getattr(self, each.name), hints[each.name])

    @classmethod
    def names(cls) -> list[str]:
        """Return the names of all fields."""
        return [each.name for each in fields(cls)]

    def change(self, table: Mapping[str, Any], where: str = "") -> Self:
        """Return the record with the values of a table; a record takes a table of its own.

        Raises
        ------
        InputError
            An unknown name, or a value out of range; ``where`` is the table's name.
        """
        values = dict[str, Any]()
        for name, value in table.items():
            if name not in self.names():
                raise InputError(f"{where}{unknown('parameter', name, self.names())}")
            now = getattr(self, name)
            if isinstance(now, Params):
                if not isinstance(value, dict):
                    raise InputError(f"{where}{name} is a table: write [{name}]")
                values[name] = now.change(value, f"{where}{name}: ")
            else:
                values[name] = tuple(value) if isinstance(value, list) else value
        try:
            return replace(self, **values)
        except InputError as error:
            raise InputError(f"{where}{error}") from None


def _is_default(of: Field[Any], value: object) -> bool:
    return value is of.default or type(value) is of.default_factory


def _check(name: str, value: Any, hint: Any) -> None:
    """Raise InputError for a value that its annotation does not allow."""
    if get_origin(hint) is tuple:
        members = get_args(hint)
        several = members[-1] is Ellipsis
        expected = "1 or more" if several else str(len(members))
        if not isinstance(value, tuple) or not (value if several else len(value) == len(members)):
            raise InputError(f"{name} must be {expected} numbers in brackets, is {value!r}")
        for each in value:
            _check(name, each, members[0])
        return
    if isinstance(hint, type) and is_dataclass(hint):
        if not isinstance(value, hint):
            raise InputError(f"{name} must be a {hint.__name__}, is {value!r}")
        return
    kind, within = get_args(hint)
    if isinstance(value, bool) or not isinstance(value, int if kind is int else int | float):
        noun = "a whole number" if kind is int else "a number"
        raise InputError(f"{name} must be {noun}, is {value!r}")
    # Not a number is in no range.
    if not within.least <= value <= within.most:
        raise InputError(f"{name} must be {within}, is {value}")
