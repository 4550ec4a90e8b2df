"""The README of the folder names the functions that build each constraint, all of them."""

import re
from functools import reduce
from importlib import import_module
from inspect import getdoc
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[3] / "formulations" / "residency" / "banks"
README = (FOLDER / "README.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| \((B\d+)\) \|.*\| `residency\.banks\.([^`]+)` \|$", README, re.MULTILINE)


@pytest.mark.parametrize(("label", "name"), ROWS)
def test_a_constraint_is_built_where_it_says(label: str, name: str) -> None:
    module, *path = name.split(".")
    found = reduce(getattr, path, import_module(f"formulations.residency.banks.{module}"))
    assert f"({label})" in (getdoc(found) or "")


def test_every_constraint_of_the_code_is_there() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in FOLDER.glob("*.py"))
    labels = set(re.findall(r'"""\((B\d+)\)', code))
    assert labels == {label for label, _ in ROWS}
    assert len(ROWS) == 11


def test_files_exist() -> None:
    root = FOLDER.parents[2]
    for path in re.findall(r"`((?:spmopt|results|tests)/[\w/.]*)`", README):
        assert (root / path).exists(), path
    for name in re.findall(r"`(\w+\.py)`", README):
        assert (FOLDER / name).exists(), name
