"""Storages of searches: odd values in their tables, or damage."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from tests.fuzz import bases
from tests.fuzz.case import Case, Random, case
from tests.fuzz.odd import NAMES, damaged, mutated, toml_text


def storage(folder: Path, rng: Random) -> Case:
    """The storage of a search, to be shown: odd values in its tables, or damage."""
    return _read(folder, rng, search=False)


def searched_on(folder: Path, rng: Random) -> Case:
    """The storage of a search, to be gone on with."""
    return _read(folder, rng, search=True)


def _read(folder: Path, rng: Random, *, search: bool) -> Case:
    journal = rng.random() < 0.35
    content = bases.study(journal)
    path = folder / "t.db"
    path.write_bytes(damaged(content, rng) if rng.random() < 0.15 else content)
    if journal:
        lines = content.decode().splitlines()
        k = rng.randrange(len(lines))
        try:
            lines[k] = json.dumps(mutated(json.loads(lines[k]), rng))
        except ValueError:
            lines[k] = "{}"
        if rng.random() < 0.8:
            path.write_text("\n".join(lines) + "\n", errors="replace")
    else:
        _altered(path, rng)
    name = f"journal:{path.name}" if journal else path.name
    if search:
        (folder / "s.toml").write_bytes(toml_text(bases.SPACE))
        words = ("tune", bases.MLP, "--space", "s.toml", "--trials", "3", "--workers", "0")
        return case(*words, "-s", "stream", "--storage", name)
    if rng.random() < 0.05:
        return case("report", "--storage", name, "-o", "f.html")
    more = rng.choice(((), ("-o", "f.csv"), ("--trial", "0"), ("--json",)))
    return case("tune", "show", "--storage", name, *more)


_TABLES = (
    *(("study_user_attributes", "value_json"), ("trial_user_attributes", "value_json")),
    *(("trial_system_attributes", "value_json"), ("trial_params", "param_value")),
    *(("trial_params", "distribution_json"), ("trial_values", "value"), ("trials", "state")),
    *(("study_directions", "direction"), ("studies", "study_name"), ("trials", "datetime_start")),
    *(("trial_user_attributes", "key"), ("study_user_attributes", "key"), ("trials", "number")),
    *(("trial_params", "param_name"), ("version_info", "schema_version")),
)


def _altered(path: Path, rng: Random) -> None:
    table, column = rng.choice((*_TABLES, *_TABLES[:3] * 5))
    opened = closing(sqlite3.connect(path))
    with suppress(sqlite3.Error, UnicodeError), opened as database, database:
        rows = database.execute(f"SELECT rowid, {column} FROM {table}").fetchall()
        if not rows:
            return
        row, found = rng.choice(rows)
        new: Any = rng.choice((*NAMES[:6], "{}", "null", 2**62, -1, None, b"\xff", "inf", 1e308))
        if column.endswith("_json"):
            try:
                new = json.dumps(mutated([json.loads(found)], rng)[:1])[1:-1]
            except (ValueError, IndexError):
                new = "null"
        database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (new, row))
