"""Rows of a tiny study: kept, gone on with after a kill, published; scripts as they are started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from results.banks.run import BUDGET_BYTES, SRAM, designs, largest
from results.shared import common
from results.shared.common import Row, Study, Tables, read, tabulated, texts
from results.shared.page import BEGIN, END, environment
from spmopt.cli import main
from spmopt.hardware.technologies import load_technology
from tests.results.pages import RESULTS
from tests.thorough import some

RAN: list[int] = []


def work(case: int) -> list[Row]:
    RAN.append(case)
    if case == 3:
        raise KeyboardInterrupt
    return [{"case": case, "half": case / 2, "odd": bool(case % 2), "note": None}]


def tables(rows: pd.DataFrame) -> Tables:
    halves = texts(rows[["half"]], "{}").set_index(rows.case.astype(str))
    return {"Cases": halves, "": tabulated(["figure"], [[f"{rows.attrs['figures']['two']}"]])}


def study(folder: Path, last: int) -> Study:
    cases = {str(case): case for case in range(1, last)}
    return Study(
        file=str(folder / "run.py"),
        cases=lambda: cases,
        work=work,
        quick=9,
        tables=tables,
        figures=lambda: {"two": 2.0},
        finish=lambda rows: [{**rows[0], "case": 0}],
        assume=lambda settings: study(folder, int(settings["last"])),
    )


@pytest.fixture(autouse=True)
def fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    here = environment()
    monkeypatch.setattr(common, "environment", lambda: here)
    RAN.clear()


def test_rows_are_kept_and_published(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text(f"before\n{BEGIN}old{END}\nafter\n")
    assert study(tmp_path, 3).main(["--jobs", "1"]) == 0
    rows = read(tmp_path / "rows.csv")
    assert rows.case.tolist() == [1, 2, 0]
    assert rows.odd.tolist() == [True, False, True]
    assert rows.attrs["command"] == f"python results/{tmp_path.name}/run.py"
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith(f"{END}\nafter\n")
    assert "## Cases\n\n| case | half |\n| :-- | --: |\n| 1 | 0.5 |" in text
    assert not list(tmp_path.glob(".rows*"))
    page.write_text(page.read_text().replace("0.5", "7"))
    assert study(tmp_path, 3).main(["--page"]) == 0
    assert page.read_text() == text
    assert RAN == [1, 2]


def test_a_killed_run_goes_on(tmp_path: Path) -> None:
    assert study(tmp_path, 5).main(["--jobs", "1"]) == 130
    assert not (tmp_path / "rows.csv").exists()
    RAN.clear()
    assert study(tmp_path, 3).main(["--jobs", "1"]) == 0
    assert RAN == []  # 1 and 2 were kept


def test_assumptions_have_another_folder(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(SystemExit):
        study(tmp_path, 5).main(["--assume", "last=3"])
    assert (
        study(tmp_path, 5).main(["--assume", "last=3", "--output", str(other), "--jobs", "1"]) == 0
    )
    rows = read(other / "rows.csv")
    assert rows.attrs["command"].endswith("--assume last=3")
    assert len(rows) == 3


def test_designs_take_the_area_and_no_more() -> None:
    budget = load_technology(SRAM).at(BUDGET_BYTES).point.area_mm2
    assert len({design.label for design in designs()}) == 1 + 2 * 4
    for design in designs():
        banks: list[Any] = design.banks(None)
        area = sum(each.technology.at(each.spm_bytes).point.area_mm2 for each in banks)
        assert 0.99 * budget < area <= budget
        assert len(banks) == (2 if 0 < design.share < 1 else 1)
    size = largest(load_technology("nvsim-stt"), 2.0)
    assert load_technology("nvsim-stt").at(size + 4096).point.area_mm2 > 2.0


@pytest.mark.parametrize("name", some(["gradient_reads", "capacity", "memory_scaling", "policies"]))
def test_pictures_are_drawn(name: str, tmp_path: Path) -> None:
    from importlib import import_module

    (tmp_path / "rows.csv").write_bytes((RESULTS / name / "rows.csv").read_bytes())
    import_module(f"results.{name}.run").STUDY.publish(tmp_path)
    assert (tmp_path / "plot.png").stat().st_size > 20_000


@pytest.mark.parametrize(
    ("command", "script"),
    [
        ("study memory-iso-area --draw", "python results/NAME/run.py in a source"),
        ("study", "studies are scripts now: python results/NAME/run.py"),
        ("bench place --peer x", "benches are scripts now: python results/NAME/run.py"),
    ],
)
def test_commands_name_the_scripts(
    command: str, script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command.split()) == 2
    assert script in capsys.readouterr().err
