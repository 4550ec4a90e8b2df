"""Many records of a kind as one object of columns, one list for each of their fields."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields, make_dataclass
from operator import attrgetter
from types import GenericAlias
from typing import Any, get_type_hints

from spmopt.core.errors import InputError
from spmopt.io.codec import Json


def columns_of(record: type, *, without: str = "") -> dict[str, Any]:
    """Return the types of the columns of many records, by field."""
    hints = get_type_hints(record)
    names = [f.name for f in fields(record) if f.name != without]
    return {name: GenericAlias(list, hints[name]) for name in names}


def document_of(title: str, /, **types: Any) -> Any:
    """Make a record of what an object of a file has, by the types of its fields.

    A pair is a type and a field with a default, as of what may be left out.
    """
    named = [
        (name, *(kind if isinstance(kind, tuple) else (kind,))) for name, kind in types.items()
    ]
    return make_dataclass(title, named, frozen=True, kw_only=True)


def columns(kind: Any, records: Sequence[object], without: Collection[str] = ()) -> Json:
    """Return the columns of ``kind``, a list each."""
    names = [f.name for f in fields(kind) if f.name not in without]
    return {name: list(map(attrgetter(name), records)) for name in names}


def rows(columns: Any, where: str) -> list[Json]:
    """Return the fields of one record after the other.

    Raises
    ------
    InputError
        Columns of different lengths.
    """
    names = [f.name for f in fields(columns)]
    lists = [getattr(columns, name) for name in names]
    if len(set(map(len, lists))) > 1:
        raise InputError(f"{where}: columns differ in length")
    return [dict(zip(names, row, strict=True)) for row in zip(*lists, strict=True)]
