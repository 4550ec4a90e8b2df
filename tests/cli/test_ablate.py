"""``spmopt ablate``: a table, a page, result files, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spmopt.reporting.ablation import Key
from tests.cli.run import Run
from tests.cli.test_failures import refused
from tests.cli.test_interrupt import press
from tests.reporting.page.reading import Document
from tests.solving.fakes import bounds_only, install

PROBLEMS = Path(__file__).parents[2] / "instances"
MLP = PROBLEMS / "mlp.json"
QUICK = "--time-limit 0 --no-reorder"

pytestmark = pytest.mark.usefixtures("quick")


def test_a_table_with_sentences(run: Run) -> None:
    ran = run(f"ablate {MLP} {QUICK}")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0].startswith("mlp (9 operations")
    rows = [line for line in lines if line.startswith(tuple(key.words for key in Key))]
    assert len(rows) == len(Key)
    assert "(everything from DRAM) to " in ran.out


def test_a_page_and_result_files(run: Run, tmp_path: Path) -> None:
    page, folder = tmp_path / "s.html", tmp_path / "kept"
    ran = run(f"ablate {MLP} {QUICK} --json -o {page} --keep {folder}")
    record = ran.record
    assert ran.code == 0
    assert ran.err.replace("\n", "").startswith(f"{page}: mlp: what each decision is worth")
    document = Document.of(page.read_text())
    table = document.blocks()["table-0"]
    time = [column["name"] for column in table["columns"]].index("time_s")
    times = [each["time_s"] for each in record["decisions"]]
    assert [row[time] for row in table["rows"]] == times
    said = [text for _, text in document.all("li")]
    assert said[: len(record["sentences"])] == record["sentences"]
    assert {each.stem for each in folder.iterdir()} == {*Key}
    for name, row in zip(Key, record["decisions"], strict=True):
        totals = json.loads((folder / f"{name}.json").read_text())["totals"]
        assert totals["makespan_cycles"] == row["makespan_cycles"]
        assert run(f"verify {folder / name}.json").code == 0


def test_the_list_is_told_in_its_order(run: Run) -> None:
    """Another order is a decision, no condition: there is no option to begin with one."""
    assert "--no-reorder" in run("ablate --help").out
    assert "no such option --order" in refused(run(f"ablate {MLP} --order searched"))
    assert "no such option --objective" in refused(run(f"ablate {MLP} --objective energy"))


def test_ctrl_c_keeps_what_is_done(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install(monkeypatch, residency=press, lp_bound=bounds_only)
    page = tmp_path / "s.html"
    ran = run(f"ablate {MLP} --json -o {page}")
    assert ran.code == 130
    rows = ran.record["decisions"]
    assert [row["decision"] for row in rows] == list(Key)
    assert [row["tried"] for row in rows] == [True, True, True, False, False]
    assert rows[-1]["why"] == "not tried, for the run was interrupted"
    assert rows[-1]["time_s"] == min(row["time_s"] for row in rows)
    assert page.exists()


def test_refusals(run: Run, tmp_path: Path) -> None:
    for line, expected in (
        (f"{MLP} -o {tmp_path}/s.png", "a page is HTML; let the name end in .html"),
        (f"{MLP} -o {tmp_path}", "is a folder"),
        (f"{MLP} --keep {MLP}", "is a file, but a folder is needed"),
        (f"{MLP} --fusion batsh", "did you mean batch?"),
        (f"{MLP} --fusion all", "its operations are fixed; fusion tiles need a network"),
        (f"{MLP} --time-limit -1", "--time-limit -1.0: must be a number, 0 or more"),
        ("resnet99", "resnet99"),
    ):
        assert expected in refused(run(f"ablate {line}"))
    assert refused(run(f"ablate {PROBLEMS}/infeasible.json"), code=3)
    assert not [*tmp_path.iterdir()]
