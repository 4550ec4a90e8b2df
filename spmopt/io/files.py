"""Reading and writing whole files."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from spmopt.core.errors import InputError
from spmopt.core.instance import Instance
from spmopt.core.schedule import Schedule
from spmopt.io.document import read_json, write_json
from spmopt.io.instance import decode_instance, encode_instance
from spmopt.io.result import StoredResult, decode_result, encode_result
from spmopt.io.schedule import decode_schedule, encode_schedule

T = TypeVar("T")
KINDS = ("instance", "schedule", "result")


def schema(kind: str) -> dict[str, Any]:
    """Return the JSON Schema of ``kind``: ``instance``, ``schedule`` or ``result``."""
    text = (files("spmopt.io") / "schemas" / f"{kind}.schema.json").read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


def write_instance(path: Path, instance: Instance) -> None:
    """Write ``instance``; raises :class:`InputError` when ``path`` cannot be written."""
    write_json(path, encode_instance(instance))


def read_instance(path: Path) -> Instance:
    """Read an instance; raises :class:`InputError` when it cannot be used."""
    return _read(path, decode_instance)


def write_schedule(path: Path, schedule: Schedule) -> None:
    """Write ``schedule``; raises :class:`InputError` when ``path`` cannot be written."""
    write_json(path, encode_schedule(schedule))


def read_schedule(path: Path) -> Schedule:
    """Read a schedule; raises :class:`InputError` when it cannot be used."""
    return _read(path, decode_schedule)


def write_result(path: Path, stored: StoredResult) -> None:
    """Write a result; raises :class:`InputError` when ``path`` cannot be written."""
    write_json(path, encode_result(stored))


def read_result(path: Path) -> StoredResult:
    """Read a result; raises :class:`InputError` when it cannot be used."""
    return _read(path, decode_result)


def _read(path: Path, decode: Callable[[object], T]) -> T:
    document = read_json(path)
    try:
        return decode(document)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
