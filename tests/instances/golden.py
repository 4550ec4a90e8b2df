"""Golden problems: a JSON file each, and ``index.json`` with what is known of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from pathlib import Path

from spmopt.core.problem import Problem
from spmopt.io.files import read_problem

FOLDER = Path(__file__).parents[2] / "instances"
INDEX = "index.json"

BRUTE_FORCE = "brute force over all schedules"
MILP = "plain model in whole pages, solved by HiGHS"


@dataclass(frozen=True, kw_only=True)
class Known:
    """What is known of a problem and an objective; exact values as ``3`` or ``3/7``.

    Attributes
    ----------
    optimum, whole_optimum
        Over all schedules in the problem's order; over those that keep whole tensors.
    proved_by
        How the optimum is known; empty without one.
    bound
        What the certificate of ``page`` proved when it was recorded.
    page
        What the schedule of ``page`` cost then.
    """

    optimum: str | None = None
    whole_optimum: str | None = None
    proved_by: str = ""
    bound: float
    page: str

    def exact(self, name: str) -> Fraction | None:
        """``optimum``, ``whole_optimum`` or ``page`` as a number."""
        text: str | None = getattr(self, name)
        return None if text is None else Fraction(text)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A problem's source and its objectives; an infeasible one has none."""

    source: str
    feasible: bool = True
    objectives: Mapping[str, Known] = field(default_factory=dict)


def problem(name: str, folder: Path = FOLDER) -> Problem:
    """Read a golden problem."""
    return read_problem(folder / f"{name}.json")


def read_index(folder: Path = FOLDER) -> dict[str, Entry]:
    """Entries by name."""
    document = json.loads((folder / INDEX).read_text(encoding="utf-8"))
    return {
        name: Entry(
            source=entry["source"],
            feasible=entry["feasible"],
            objectives={key: Known(**known) for key, known in entry["objectives"].items()},
        )
        for name, entry in document.items()
    }


def write_index(entries: Mapping[str, Entry], folder: Path = FOLDER) -> None:
    """Write all entries, sorted by name."""
    document = {name: asdict(entries[name]) for name in sorted(entries)}
    text = json.dumps(document, indent=1) + "\n"
    (folder / INDEX).write_text(text, encoding="utf-8")
