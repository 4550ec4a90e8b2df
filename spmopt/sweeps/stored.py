"""Rows of a sweep that was written before, finished or not."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from math import isfinite
from pathlib import Path
from typing import Any

from spmopt.core.errors import InputError
from spmopt.core.validation import guard
from spmopt.experiments.rows import Columns, Row, Value
from spmopt.experiments.store import read_table
from spmopt.io.files import OLD_LOWERINGS
from spmopt.io.renames import FIELDS, rename_scheduler
from spmopt.sweeps.rows import SweepColumns

_OLD: Mapping[str, type] = {"value_from": str, "bound_from": str}
"""Columns of older files."""


@dataclass(frozen=True, kw_only=True)
class StoredSweep:
    """Content of a file of a sweep.

    Attributes
    ----------
    about
        The sweep, as the file's first line says it: its options, or how a study came.
    names
        Columns, in order.
    extra
        Those of other settings swept.
    rows
        In the order of the file.
    """

    about: Mapping[str, Any]
    names: tuple[str, ...]
    extra: tuple[str, ...]
    rows: tuple[Row, ...]


def read_stored_sweep(path: Path) -> StoredSweep:
    """Read the CSV file of a sweep, or of a study of sweeps; a last line cut off is left out.

    Raises
    ------
    InputError
        It cannot be read, is no sweep's, or has no rows or other columns.
    """
    about, table = read_table(path)
    if about is None:
        raise InputError(f"{path}: is no sweep's file; name one that 'spmopt sweep -o' wrote")
    with guard(str(path), "", "", csv.Error):
        columns_read, *lines = list(csv.reader(StringIO(table))) or [[]]
    names = [FIELDS.get(name, name) for name in columns_read]
    columns, extra = _columns(path, names)
    rows = tuple(_row(path, columns, line, at) for at, line in enumerate(lines, start=3))
    if about.get("version") == 1:
        rows = tuple({**row, "mapper": _new_name(row["mapper"])} for row in rows)
    rows = tuple({**row, "scheduler": rename_scheduler(str(row["scheduler"]))} for row in rows)
    if not rows:
        raise InputError(f"{path}: has no rows yet; run its command first")
    return StoredSweep(about=about, names=tuple(names), extra=extra, rows=rows)


def _new_name(mapper: Value) -> Value:
    return OLD_LOWERINGS.get(str(mapper), mapper)


def _columns(path: Path, names: Sequence[str]) -> tuple[Columns, tuple[str, ...]]:
    """Columns of those names, and which are of other settings swept; some may be missing."""
    least, most = SweepColumns(), {**SweepColumns(on_chip=True).types, **_OLD}
    *about, last = list(least.types)[: least.identifying]
    # Swept settings stand between the fixed columns and "scheduler"; only files name them.
    place = names.index(last) if last in names else 0
    extra, found = tuple(names[len(about) : place]), names[place + 1 :]
    needed = list(least.types)[least.identifying :]
    if list(names[: len(about)]) != about or not {*needed} <= {*found} <= {*most}:
        raise InputError(
            f"{path}: other columns than a sweep's, and no curves; those of a study in "
            "results/ are drawn by its script: run.py --page"
        )
    known = {name: most[name] for name in (*about, last)}
    keys = {name: known.get(name, str) for name in (*about, *extra, last)}
    return Columns(keys, {name: most[name] for name in found}), extra


def _row(path: Path, columns: Columns, line: Sequence[str], number: int) -> Row:
    try:
        row = columns.row(line)
        for name, value in row.items():
            # float() reads nan and inf, which curves cannot draw.
            if isinstance(value, float) and not isfinite(value):
                raise InputError(f"{name} is {value}")
        return row
    except InputError as error:
        raise InputError(f"{path}: line {number} is no row of a sweep: {error}") from None
