"""What was measured so far, kept on disk: a bench that was killed goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spmopt.bench.environment import environment, load_average, today
from spmopt.bench.suite import Figures, Row, Suite
from spmopt.core.errors import InputError
from spmopt.io.document import read_json, write_text

Runs = dict[str, list[dict[str, Any]]]
"""Figures of each run, by the label of the part."""

_SAME = ("command", "format", "version", "commit", "versions", "computer")


@dataclass(frozen=True, kw_only=True)
class Record:
    """Head of the document, and the runs of each row by its name.

    ``part`` is the file that holds them until the suite is complete; None keeps nothing.
    """

    head: Mapping[str, Any]
    part: Path | None
    rows: dict[str, Runs] = field(default_factory=dict)

    @staticmethod
    def begin(
        suite: Suite,
        command: str,
        runs: int,
        folder: Path | None,
        programs: Mapping[str, str] | None = None,
    ) -> Record:
        """Take up what an earlier call of the same command left in ``folder``, if anything.

        It must have been measured with the same source, packages and computer. ``programs`` are
        versions of what is measured with beside packages, by names.
        """
        head: dict[str, Any] = {
            "command": command,
            "format": "spmopt-bench",
            "version": 1,
            "suite": suite.name,
            "date": today(),
            **environment(),
            "load_average": load_average(),
            "runs": runs,
        }
        if programs is not None:
            head["versions"] = {**head["versions"], **programs}
        if folder is None:
            return Record(head=head, part=None)
        part = folder / f".{suite.name}.part.json"
        return _left(part, head) or Record(head=head, part=part)

    def runs(self, row: Row, label: str) -> list[dict[str, Any]]:
        """Runs of a part of a row so far."""
        return self.rows.setdefault(row.name, {}).setdefault(label, [])

    def add(self, row: Row, label: str, figures: Figures) -> None:
        """Keep one run."""
        self.runs(row, label).append(dict(figures))
        if self.part is not None:
            write_text(self.part, json.dumps({**self.head, "rows": self.rows}) + "\n")

    def close(self) -> None:
        """Forget what was kept: the suite is complete, its table written."""
        if self.part is not None:
            self.part.unlink(missing_ok=True)


def _left(part: Path, head: Mapping[str, Any]) -> Record | None:
    if not part.exists():
        return None
    try:
        found = read_json(part)
    except InputError:
        return None
    if not isinstance(found, dict) or any(found.get(name) != head[name] for name in _SAME):
        return None
    rows = found.pop("rows", {})
    return Record(head=found, part=part, rows=rows)
