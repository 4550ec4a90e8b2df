"""Hints on optional packages: they name a requirement, which a clone and a wheel share."""

import re
import tomllib
from pathlib import Path

import pytest

from spmopt.core import errors
from spmopt.core.errors import PACKAGES, InputError, package_hint, require_package

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def test_requirements_are_those_of_the_extras() -> None:
    listed = [requirement for extra in EXTRAS.values() for requirement in extra]
    for requirement in PACKAGES.values():
        assert any(each.split(",")[0] == requirement for each in listed), requirement


def test_a_missing_package_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "find_spec", lambda name: None)
    with pytest.raises(InputError) as raised:
        require_package("onnx", "m.onnx: an ONNX file")
    line = "m.onnx: an ONNX file needs the package onnx: pip install 'onnx>=1.17'"
    assert str(raised.value) == line
    assert package_hint("psycopg").startswith("needs the package psycopg: ")


def test_no_hint_names_an_extra_of_a_project_on_no_index() -> None:
    for path in (ROOT / "spmopt").rglob("*.py"):
        assert not re.search(r"pip install .?spmopt", path.read_text()), path
