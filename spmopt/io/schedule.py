"""Schedules as JSON: the four tables of a schedule, one array per column."""

from __future__ import annotations

from dataclasses import fields
from typing import TypeVar

from spmopt.core.errors import InputError
from spmopt.core.plan import Residency
from spmopt.core.schedule import Commands, Placements, Schedule, Steps
from spmopt.core.table import Table
from spmopt.io.document import Json, body, header
from spmopt.io.fields import Fields

AnyTable = TypeVar("AnyTable", bound=Table)


def encode_schedule(schedule: Schedule) -> Json:
    """Return ``schedule`` as a JSON document (schema ``schedule.schema.json``)."""
    tables = {field.name: getattr(schedule, field.name) for field in fields(Schedule)}
    return header("schedule") | {name: encode_table(table) for name, table in tables.items()}


def decode_schedule(value: object, where: str = "") -> Schedule:
    """Read what :func:`encode_schedule` wrote; whether it is legal, the verifier says.

    Raises
    ------
    InputError
        Not a schedule of this version, or columns that do not fit together.
    """
    document = body(value, where, "schedule", [field.name for field in fields(Schedule)])
    return Schedule(
        steps=_table(document, "steps", Steps),
        residency=_table(document, "residency", Residency),
        commands=_table(document, "commands", Commands),
        placements=_table(document, "placements", Placements),
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
