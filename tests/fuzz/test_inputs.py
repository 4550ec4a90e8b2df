"""Whatever is read, a command ends soon, as is documented, and says in one line what is wrong."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fuzz import bases
from tests.fuzz.campaign import cases, recipe_of
from tests.fuzz.case import Case, case
from tests.fuzz.odd import toml_text
from tests.fuzz.recipes import CAUSES, SELDOM, warm
from tests.fuzz.workers import run, run_all

COUNT = 60


def _pipe(folder: Path) -> Case:
    os.mkfifo(folder / "x.onnx")
    return case("report", "x.onnx", "-o", "r.html")


def _field(folder: Path) -> Case:
    """Remove the name of a parameter from a journal that a search is to go on with."""
    content = (
        bases.study(journal=True).decode().replace('"param_name":"spm"', '"param_name":null', 1)
    )
    (folder / "t.db").write_text(content)
    (folder / "s.toml").write_bytes(toml_text(bases.SPACE))
    words = ("tune", bases.MLP, "--space", "s.toml", "--trials", "9", "--workers", "0")
    return case(*words, "-s", "stream", "--storage", "journal:t.db")


def _area(folder: Path) -> Case:
    lines = bases.sweep().decode().splitlines()
    place = lines[1].split(",").index("area_mm2")
    row = lines[2].split(",")
    row[place] = "1e400"
    (folder / "s.csv").write_text("\n".join([*lines[:2], ",".join(row), *lines[3:]]) + "\n")
    return case("report", "s.csv", "-o", "s.html")


FOUND: dict[str, Callable[[Path], Case]] = {
    "pipe in place of a schedule to report on": _pipe,
    "trial of another field": _field,
    "area of a sweep that is not finite": _area,
}
"""What the fuzzer found once, as it was."""


@pytest.mark.parametrize("what", FOUND)
def test_what_was_found(what: str) -> None:
    found = run(FOUND[what])
    assert found.wrong == []
    assert found.code == 2


@pytest.mark.parametrize("cause", sorted(CAUSES.keys() - SELDOM))
def test_what_was_wrong_once(cause: str) -> None:
    (_, make), *_ = cases(0, [0], cause)
    assert run(make).wrong == []


def test_inputs_that_are_drawn() -> None:
    warm()
    wrong = {}
    for number, first, alone in run_all(cases(0, range(COUNT))):
        found = alone or first
        if found.wrong:
            wrong[number] = (recipe_of(0, number), found.wrong, found.stderr[-500:])
    assert wrong == {}
