"""Schedules as JSON: the tables of a schedule, one array per column."""

from __future__ import annotations

from dataclasses import fields
from typing import TypeVar

from spmopt.core.errors import InputError
from spmopt.core.schedule import Commands, Moves, Placements, Residency, Schedule, Steps
from spmopt.core.table import Table
from spmopt.io.document import Json, body, header
from spmopt.io.fields import Fields

_TABLES = tuple(field.name for field in fields(Schedule))
_MOVES = "moves"  # left out where nothing is moved, as on every machine without banks
AnyTable = TypeVar("AnyTable", bound=Table)


def encode_schedule(schedule: Schedule) -> Json:
    """Return ``schedule`` as a JSON document (schema ``schedule.schema.json``)."""
    names = [name for name in _TABLES if name != _MOVES or len(schedule.moves)]
    tables = {name: getattr(schedule, name) for name in names}
    return header("schedule") | {name: encode_table(table) for name, table in tables.items()}


def decode_schedule(value: object, where: str = "") -> Schedule:
    """Read what :func:`encode_schedule` wrote; whether it is legal, the verifier says.

    Raises
    ------
    InputError
        Not a schedule of this version, or columns that do not fit together.
    """
    always = [name for name in _TABLES if name != _MOVES]
    document = body(value, where, "schedule", always, (_MOVES,))
    return Schedule(
        steps=_table(document, "steps", Steps),
        residency=_table(document, "residency", Residency),
        commands=_table(document, "commands", Commands),
        placements=_table(document, "placements", Placements),
        moves=document.optional(_MOVES, lambda name: _table(document, name, Moves))
        or Moves.empty(),
    )


def encode_table(table: Table) -> Json:
    """Return the columns of ``table`` by name."""
    return {field.name: getattr(table, field.name).tolist() for field in fields(table)}


def _table(document: Fields, name: str, kind: type[AnyTable]) -> AnyTable:
    names = [field.name for field in fields(kind)]
    columns = document.object(name, names)
    try:
        return kind(**{column: columns.ints(column) for column in names})
    except ValueError:
        raise InputError(f"{columns.where}: columns differ in length") from None
