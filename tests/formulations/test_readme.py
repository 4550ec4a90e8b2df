"""The README of the formulations keeps its word: constraints, functions and files exist."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from pkgutil import resolve_name

import pytest

from formulations.residency.program.columns import ColumnKind
from formulations.residency.settings import Settings

FOLDER = Path(__file__).parents[2] / "formulations"
README = (FOLDER / "README.md").read_text(encoding="utf-8")
BANKS = (FOLDER / "residency" / "banks" / "README.md").read_text(encoding="utf-8")
LABEL = r"[BCPSW]\d+"
ROWS = [
    (label, name)
    for text in (README, BANKS)
    for label, cells in re.findall(rf"^\| \(({LABEL})\) \|.*\| (`[^|]+`) \|$", text, re.MULTILINE)
    for name in re.findall(r"`(.+?)`", cells)
]


def named(name: str) -> object:
    """What stands in a module of the formulations; an error if nothing does."""
    return resolve_name(f"formulations.{name}")


def labels_in(text: str) -> set[str]:
    """Every label, those of lists such as ``(C5, C6)`` too."""
    lists = re.findall(rf"\(((?:{LABEL}(?:, )?)+)\)", text)
    return {label for labels in lists for label in re.findall(LABEL, labels)}


@pytest.mark.parametrize(("label", "name"), ROWS, ids=[f"{c}-{n}" for c, n in ROWS])
def test_a_constraint_is_built_where_it_says(label: str, name: str) -> None:
    assert label in labels_in(inspect.getdoc(named(name)) or "")


def test_every_constraint_of_the_code_is_there() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in FOLDER.rglob("*.py"))
    assert labels_in(code) == {label for label, _ in ROWS}
    assert len(ROWS) >= 6 + 8 + 4 + 11


def test_files_and_functions_exist() -> None:
    for path in re.findall(r"`((?:residency|pulp_backend|solver)/[\w/*.]*)`", README):
        assert list(FOLDER.glob(path)), path
    for path in re.findall(r"`((?:spmopt|results|tests)/[\w/.]*)`", README + BANKS):
        assert (FOLDER.parent / path).exists(), path
    for name in re.findall(r"`(\w+\.py)`", BANKS):
        assert (FOLDER / "residency" / "banks" / name).exists(), name
    assert inspect.isfunction(named("residency.program.paths.near_best_paths"))


def test_every_folder_has_its_line() -> None:
    table = README.split("| folder | what |")[1].split("\n\n")[0]
    named = set(re.findall(r"^\| `([\w/.]+)` \|", table, re.MULTILINE))
    folders = {path.parent for path in FOLDER.rglob("__init__.py")} - {FOLDER}
    within = {path for path in folders if path.parent.name == "joint"}  # told by its own README
    assert named == {f"{path.relative_to(FOLDER)}/" for path in folders - within} | {
        "reuse_intervals.py"
    }


def test_every_kind_of_column_is_explained() -> None:
    table = README.split("| variable |")[1].split("\n\n")[0]
    assert {kind.name.lower() for kind in ColumnKind} == {
        name for name in re.findall(r"`(\w+)`", table) if name.upper() in ColumnKind.__members__
    }


def test_settings_are_those_of_the_code() -> None:
    settings = Settings()
    assert f"IPX up to {settings.small_program:,} columns" in README
    assert f"more than {settings.small:,} accesses" in README
    assert settings.threshold == 0.2
    assert "a fifth of a byte's dual value" in README
