"""A sweep from Python: the rows of the command line."""

import csv
import re
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest

import spmopt
from spmopt.core.errors import InputError
from spmopt.core.units import si, size
from tests.api.html import Page
from tests.cli.run import runner

MLP = str(Path(__file__).parents[2] / "instances" / "mlp.json")
SPM = "640B:1920B:640B"


@pytest.fixture(scope="module")
def swept() -> spmopt.SweepTable:
    return spmopt.sweep(MLP, ["lru", "lp-bound"], spm=SPM)


def test_rows_are_those_of_the_command_line(
    swept: spmopt.SweepTable, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = runner(capsys)(f"sweep {MLP} --spm {SPM} -s lru,lp-bound --jobs 1").out
    rows = list(csv.DictReader(StringIO(printed)))
    assert len(rows) == len(swept.rows()) == 6
    for row, mine in zip(rows, swept.rows(), strict=True):
        assert (row["spm_bytes"], row["status"]) == (str(mine["spm_bytes"]), mine["status"])
        assert row["bound"] == str(mine["bound"])


def test_it_shows_what_differs(swept: spmopt.SweepTable) -> None:
    page = Page(swept._repr_html_())
    ((head, *body),) = page.tables
    assert len(body) == 6
    assert head == [
        "scratchpad",
        "scheduler",
        "time",
        "traffic",
        "gap to bound",
        "status",
        "seconds",
    ]
    assert "objective time" in page.paragraphs[0]
    assert [row[0] for row in body] == [size(int(str(row["spm_bytes"]))) for row in swept.rows()]
    assert str(swept).startswith("6 rows; ")


def test_its_figures_have_units_and_few_digits(swept: spmopt.SweepTable) -> None:
    ((head, *body),) = Page(swept._repr_html_()).tables
    for cells, row in zip(body, swept.rows(), strict=True):
        shown = dict(zip(head, cells, strict=True))
        time, bound = row["time_s"], row["bound"]
        if row["scheduler"] == "lp-bound":
            assert isinstance(bound, float)
            assert shown["time"] == f"≥ {si(bound, 's', fill=True)}"
            assert (shown["traffic"], shown["gap to bound"], shown["status"]) == ("-", "-", "bound")
        else:
            assert isinstance(time, float)
            assert shown["time"] == si(time, "s", fill=True)
            assert shown["status"] == row["status"]
    assert not re.search(r"\d\.\d{6}|e-\d", str(swept))


def test_the_bound_is_in_the_column_of_what_was_minimized() -> None:
    found = spmopt.sweep(MLP, ["lru", "lp-bound"], objective="traffic", spm="640B")
    ((head, known, bound),) = Page(found._repr_html_()).tables
    assert known[head.index("traffic")].endswith("B")
    assert bound[head.index("traffic")].startswith("≥ ")
    assert bound[head.index("time")] == "-"


def test_rows_without_a_schedule(tmp_path: Path) -> None:
    found = spmopt.sweep(str(Path(MLP).with_name("infeasible.json")), ["lru", "lp-bound"])
    lines = str(found).splitlines()
    assert [line.split() for line in lines[4:]] == [
        ["lru", "infeasible", "0.00"],
        ["lp-bound", "infeasible", "0.00"],
    ]
    assert str(replace(found, table=[])) == "0 rows"
    assert str(replace(found, left="1 of 2 rows")).endswith("interrupted: 1 of 2 rows")


def test_a_warning_is_of_the_line_that_called() -> None:
    mixed = ["3MB:deepnvm-sram", "4MiB:nvsim-stt"]
    with pytest.warns(UserWarning, match="sources") as raised:
        spmopt.machine("rtx2080ti", bank=mixed)
    assert raised[0].filename == __file__


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


def test_settings_are_not_lost_that_have_parameters_of_their_own() -> None:
    rows = spmopt.sweep(MLP, ["lru"], spm="640B", settings={"dma_setup": "7,9"}).rows()
    assert [row["dma_setup_cycles"] for row in rows] == [7, 9]
