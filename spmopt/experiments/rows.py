"""Rows of a table: typed columns, of which the first tell rows apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spmopt.core.errors import InputError

Value = str | int | float | bool | None
Row = Mapping[str, Value]
Texts = tuple[str, ...]
"""The fields of a line, or those that identify it."""


class Columns:
    """Types by column: those that identify a row, then those of results.

    Parameters
    ----------
    about, found
        ``str``, ``int``, ``float`` or ``bool`` by name; all but texts may be missing from a row.
    """

    def __init__(self, about: Mapping[str, type], found: Mapping[str, type]) -> None:
        self.types: Mapping[str, type] = {**about, **found}
        self.identifying = len(about)

    def texts(self, row: Row) -> Texts:
        """Write a row as the fields of a line."""
        return tuple(text_of(row[name]) for name in self.types)

    def row(self, texts: Sequence[str]) -> Row:
        """Read the result of :meth:`texts`; raises :class:`InputError`."""
        if len(texts) != len(self.types):
            raise InputError(f"{len(texts)} fields, not {len(self.types)}")
        items = zip(self.types.items(), texts, strict=True)
        return {name: _value(name, kind, text) for (name, kind), text in items}

    def key(self, texts: Sequence[str]) -> Texts:
        """Give the fields of a line that identify it."""
        return tuple(texts[: self.identifying])

    def key_about(self, about: Row) -> Texts:
        """Return the same for a row that may still lack its results."""
        return tuple(text_of(about[name]) for name in list(self.types)[: self.identifying])


def text_of(value: Value) -> str:
    """Write a value as the field of a line."""
    if value is None:
        return ""
    # str() of a float reads back exactly; true and false are as in JSON.
    return str(value).lower() if isinstance(value, bool) else str(value)


def _value(name: str, kind: type, text: str) -> Value:
    # Before the test for empty: a text may be empty, other kinds are then missing.
    if kind is str:
        return text
    if not text:
        return None
    try:
        if kind is bool:
            return {"true": True, "false": False}[text]
        return int(text) if kind is int else float(text)
    except (KeyError, ValueError):
        raise InputError(f"{name} is {text!r}") from None
