"""Stores whose disk is full amid a line: nothing of it stays, and the next run goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from spmopt.core.errors import InputError
from spmopt.experiments.run import run
from spmopt.experiments.store import RowTable
from tests.experiments.work import CASES, COLUMNS, square
from tests.full_disk import full_disk

ROWS = [square(x) for x in range(6)]


@pytest.mark.parametrize("more", [1, 3, 4])
def test_rows(tmp_path: Path, more: int) -> None:
    path = tmp_path / "s.csv"
    table = RowTable(path, COLUMNS, {"a": "x" * 100})
    table.add(ROWS[:2])
    whole = path.read_text()
    with full_disk(len(whole) + more), pytest.raises(InputError, match=r"s\.csv: cannot be"):
        table.add(ROWS[2:4])
    assert path.read_text() == whole
    table.add(ROWS[2:4])
    table.close()
    assert RowTable(path, COLUMNS, {"a": "x" * 100}).rows == ROWS[:4]


def test_the_beginning(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    for most in (0, 5, 60):
        with full_disk(most), pytest.raises(InputError, match=r"s\.csv: cannot be"):
            run(CASES, square, RowTable(path, COLUMNS, {"a": "x" * 40}))
    table = RowTable(path, COLUMNS, {"a": "x" * 40})
    run(CASES, square, table)
    assert table.rows == ROWS
    assert list(tmp_path.iterdir()) == [path]
