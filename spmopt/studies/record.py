"""What a study measured, on disk: rows as a sweep writes them, below a line on how they came."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from spmopt.bench.environment import environment, load_average, today
from spmopt.core.errors import InputError
from spmopt.studies.rows import Rows
from spmopt.studies.study import Figures, Study
from spmopt.sweep.rows import Columns

_SAME = ("study", "sweeps", "commit", "versions", "computer")


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """Rows and figures; ``head`` says by which command, when, from which source, where."""

    head: Mapping[str, Any]
    rows: Rows

    @property
    def figures(self) -> Figures:
        """What was measured besides the rows."""
        figures: Figures = self.head["figures"]
        return figures


def columns_of(study: Study) -> Columns:
    """Columns of all rows."""
    if study.measured is not None:
        return study.measured.columns
    return Columns([key for key, _ in study.parts()[0].labelled[0].extra])


def table_path(folder: Path, study: Study) -> Path:
    """Where the rows are kept."""
    return folder / f"{study.name}.csv"


def part_path(folder: Path, study: Study) -> Path:
    """Where the rows are kept while the study runs."""
    return folder / f".{study.name}.part.csv"


def begin(study: Study, command: str, folder: Path) -> dict[str, Any]:
    """Head of a run: the one that was killed, if source, packages and computer are the same.

    Figures are measured for a new one; rows of another run are removed.
    """
    sweeps = repr([(part.labelled, part.schedulers, part.search) for part in study.parts()])
    if study.measured is not None:
        sweeps = study.measured.what
    head: dict[str, Any] = {
        "study": study.name,
        "command": command,
        "date": today(),
        **environment(),
        "load_average": load_average(),
        "sweeps": sha256(sweeps.encode()).hexdigest()[:16],
    }
    part = part_path(folder, study)
    found = _head(part) if part.exists() else None
    if found is not None and all(found.get(name) == head[name] for name in _SAME):
        return {name: found[name] for name in (*head, "figures") if name in found}
    part.unlink(missing_ok=True)
    return {**head, "figures": dict(study.figures())}


def read(study: Study, folder: Path) -> Recorded:
    """Read what a finished study left.

    Raises
    ------
    InputError
        There is no such file, or it is of something else.
    """
    path = table_path(folder, study)
    head = _head(path) if path.exists() else None
    if head is None or head.get("study") != study.name:
        raise InputError(f"{path}: no rows of this study; run it without --draw first")
    columns = columns_of(study)
    with path.open(encoding="utf-8", newline="") as file:
        file.readline()
        names, *lines = csv.reader(file)
        if names != list(columns.types):
            raise InputError(f"{path}: other columns than those of the study; run it anew")
        return Recorded(head=head, rows=Rows([columns.row(line) for line in lines]))


def _head(path: Path) -> dict[str, Any] | None:
    try:
        with path.open(encoding="utf-8") as file:
            found = json.loads(file.readline().removeprefix("# "))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
