"""A sweep from Python: the rows of the command line."""

import csv
from io import StringIO
from pathlib import Path

import pytest

import spmopt
from spmopt.core.errors import InputError
from tests.api.html import Page
from tests.cli.run import runner

MLP = str(Path(__file__).parents[2] / "instances" / "mlp.json")
SPM = "640B:1920B:640B"


@pytest.fixture(scope="module")
def swept() -> spmopt.SweepTable:
    return spmopt.sweep(MLP, ["lru", "fluid"], spm=SPM)


def test_rows_are_those_of_the_command_line(
    swept: spmopt.SweepTable, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = runner(capsys)(f"sweep {MLP} --spm {SPM} -s lru,fluid --jobs 1").out
    rows = list(csv.DictReader(StringIO(printed)))
    assert len(rows) == len(swept.rows()) == 6
    for row, mine in zip(rows, swept.rows(), strict=True):
        assert (row["spm_bytes"], row["status"]) == (str(mine["spm_bytes"]), mine["status"])
        assert row["bound"] == str(mine["bound"])


def test_it_shows_what_differs(swept: spmopt.SweepTable) -> None:
    page = Page(swept._repr_html_())
    ((head, *body),) = page.tables
    assert len(body) == 6
    assert "spm_bytes" in head
    assert "objective" not in head
    assert "objective time" in page.paragraphs[0]
    assert [row[head.index("spm_bytes")] for row in body] == [
        str(row["spm_bytes"]) for row in swept.rows()
    ]
    assert str(swept).startswith("6 rows; ")


def test_curves(swept: spmopt.SweepTable, tmp_path: Path) -> None:
    drawn = spmopt.plot(swept)
    drawn.save(tmp_path / "c.svg")
    assert "<svg" in (tmp_path / "c.svg").read_text(encoding="utf-8")
    assert " over " in str(drawn)
    with pytest.raises(InputError, match="no curves of color"):
        spmopt.plot(swept, y="color")


def test_a_file_is_gone_on_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.csv"
    first = spmopt.sweep(MLP, ["lru"], spm=SPM, output=path)
    again = spmopt.sweep(MLP, ["lru"], spm=SPM, output=path)
    assert [row["solve_s"] for row in first.rows()] == [row["solve_s"] for row in again.rows()]
    assert capsys.readouterr() == ("", "")
    with pytest.raises(InputError, match="another sweep"):
        spmopt.sweep(MLP, ["belady"], spm=SPM, output=path)


def test_bad_ranges_are_said_in_a_line() -> None:
    with pytest.raises(InputError, match="spm '640B:100B"):
        spmopt.sweep(MLP, ["lru"], spm="640B:100B:640B")
