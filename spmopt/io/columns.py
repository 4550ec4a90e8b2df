"""Many records of a kind as one object of columns, one list for each of their fields."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import field, fields, make_dataclass
from operator import attrgetter
from types import GenericAlias
from typing import Any, get_type_hints

from spmopt.core.errors import InputError
from spmopt.io.codec import Json


def columns_of(record: type, *, without: str = "") -> dict[str, Any]:
    """Return the types of the columns of many records, by field.

    Those of a ``group`` may be left out: where all records have the default, which is false or 0.
    """
    hints, found = get_type_hints(record), dict[str, Any]()
    for each in (f for f in fields(record) if f.name != without):
        kind = GenericAlias(list, hints[each.name])
        optional: Any = field(default_factory=list, metadata=each.metadata)
        found[each.name] = (kind, optional) if "group" in each.metadata else kind
    return found


def document_of(title: str, /, **types: Any) -> Any:
    """Make a record of an object of a file, by the types of its fields.

    A pair is a type and a field with a default, for optional fields.
    """
    named = [
        (name, *(kind if isinstance(kind, tuple) else (kind,))) for name, kind in types.items()
    ]
    return make_dataclass(title, named, frozen=True, kw_only=True)


def columns(kind: Any, records: Sequence[object], without: Collection[str] = ()) -> Json:
    """Return the columns of ``kind``, a list each; one that may be left out if it says anything."""
    named = [f for f in fields(kind) if f.name not in without]
    found = {f.name: list(map(attrgetter(f.name), records)) for f in named}
    optional = [f.name for f in named if "group" in f.metadata]
    # A column of defaults says nothing, and older readers do not know it.
    return {k: each for k, each in found.items() if k not in optional or any(each)}


def rows(columns: Any, where: str) -> list[Json]:
    """Return the fields of one record after the other.

    Raises
    ------
    InputError
        Columns of different lengths.
    """
    said = fields(columns)
    names = [f.name for f in said if "group" not in f.metadata or getattr(columns, f.name)]
    lists = [getattr(columns, name) for name in names]
    if len(set(map(len, lists))) > 1:
        raise InputError(f"{where}: columns differ in length")
    return [dict(zip(names, row, strict=True)) for row in zip(*lists, strict=True)]
