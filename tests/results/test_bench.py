"""Runs become lines of a table; recorded tables are those of the runs; a suite of two lines."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from results.shared import bench, page
from results.shared.bench import Bench, BenchLine, read
from tests.results.pages import FOLDERS, RESULTS, tables
from tests.thorough import some

BENCHES = [name for name in FOLDERS if (RESULTS / name / "rows.json").exists()]
RUNS: list[tuple[str, str, str]] = []


def recorded(name: str) -> tuple[Bench, Mapping[str, Any]]:
    """A bench as it was recorded."""
    found: Bench = import_module(f"results.{name}.run").BENCH
    head, _ = read(RESULTS / name / "rows.json")
    _, _, peer = head["command"].partition("--peer ")
    if peer and found.peered is not None:
        found = replace(found, lines=found.peered(peer.strip("'")))
    lines = [line for line in found.lines if not line.long or "--long" in head["command"]]
    return replace(found, lines=lines), head


@pytest.mark.parametrize("name", BENCHES)
def test_tables_are_made_of_the_runs(name: str) -> None:
    found, head = recorded(name)
    figures = found.figures({row["name"]: row["runs"] for row in head["rows"]})
    assert found.page(head, figures) == tables(name)
    assert found.whole_table(figures) == (RESULTS / name / "table.csv").read_text(encoding="utf-8")
    assert [each.name for each in found.lines] == [row["name"] for row in head["rows"]]
    for line, row in zip(found.lines, head["rows"], strict=True):
        own = figures[line.name]
        assert own == row["figures"]
        assert line.mark(own) == row["mark"]
        assert list(line.parts) == list(row["runs"])
        assert {*line.targets} == {each["figure"] for each in row["targets"]}
        assert {*line.missed(own)} == {t["figure"] for t in row["targets"] if not t["met"]}


@pytest.mark.parametrize("name", BENCHES)
def test_lines_have_names_and_targets_are_shown(name: str) -> None:
    found, _ = recorded(name)
    names = [line.name for line in found.lines]
    assert len(set(names)) == len(names)
    for line in found.lines:
        assert len(line.cells) == len(found.table["heads"])
        assert {*line.targets} <= {*found.table["columns"]}
    assert {*found.table["shown"]} <= {*found.table["columns"]}
    assert len(found.table["shown"]) <= 5


@pytest.mark.parametrize(
    "name",
    some(
        ["peers", "tiles", "whole", "gradients", "gaps", "contiguous", "page", "scale", "front"], 3
    ),
)
def test_quick_measurements(name: str) -> None:
    figures = import_module(f"results.{name}.run").BENCH.quick()
    assert all(figures.get(what, True) is True for what in ("verified", "proved", "equal"))
    for what, value in figures.items():
        if what.endswith("_s"):
            assert value >= 0
        if what.endswith("gap") and value is not None:
            assert -1e-9 <= value < 10


TABLE = """heads = ["what"]
shown = ["s"]
columns = { s = "wall s", twice = "twice s" }
"""
LINES = [
    BenchLine(("first",), {"": lambda: {"s": 1.0}}, {"s": "≤ 1"}),
    BenchLine(("second",), {"a": dict, "b": dict}),
    BenchLine(("all",), {}, sums=("first",)),
]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Bench:
    here = page.environment()
    monkeypatch.setattr(bench, "environment", lambda: json.loads(json.dumps(here)))
    monkeypatch.setattr(bench, "launch", launched)
    RUNS.clear()
    (tmp_path / "table.toml").write_text(TABLE)
    return Bench(
        file=str(tmp_path / "run.py"),
        lines=LINES,
        quick=lambda: {"s": 1.0},
        derive=lambda figures: {"twice": 2 * figures["s"]} if figures.get("s") else {},
    )


def launched(file: str, more: list[str], case: tuple[str, str, str]) -> dict[str, Any]:
    RUNS.append(case)
    if len(RUNS) == 3:
        raise KeyboardInterrupt
    return {"error": "it broke"} if case[1] == "b" else {"s": float(len(RUNS))}


def test_a_killed_bench_goes_on_and_failures_say_why(small: Bench, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("words\n")
    assert small.main(["--runs", "1", "--output", str(tmp_path)]) == 130
    assert not (tmp_path / "rows.json").exists()
    assert small.main(["--runs", "1", "--output", str(tmp_path)]) == 70
    assert RUNS == [
        ("first", "", "0"),
        ("second", "a", "0"),
        ("second", "b", "0"),
        ("second", "b", "0"),
    ]
    text = (tmp_path / "README.md").read_text()
    assert "| first | 1.00 (≤ 1) | pass |" in text
    assert "| second | - | **failed** |\n| all | 1.00 | done |" in text
    assert "* second: it broke\n\n1 of 1 lines reach their targets." in text
    whole = "what,wall s,twice s,targets\nfirst,1.00 (≤ 1),2.00,pass\nsecond,-,-,failed\n"
    assert (tmp_path / "table.csv").read_text() == f"{whole}all,1.00,2.00,done\n"
    head = json.loads((tmp_path / "rows.json").read_text())
    assert head["rows"][1]["figures"] == {"a.s": 2.0, "b.error": "it broke", "error": "it broke"}
    assert {path.name for path in tmp_path.iterdir()} == {
        *("README.md", "rows.json"),
        *("table.csv", "table.toml"),
    }


def test_a_process_of_its_own_says_why_it_fails() -> None:
    script = str(RESULTS / "tiles" / "run.py")
    figures = bench.launch(script, [], ("no such line", "", "0"))
    assert figures["error"].startswith("ValueError: not enough values")


@pytest.mark.parametrize("deaths", [1, 3])
def test_a_process_that_is_killed_is_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], deaths: int
) -> None:
    script, begun = tmp_path / "dies.py", tmp_path / "begun"
    begun.touch()
    script.write_text(
        "import os\nfrom pathlib import Path\n"
        f"begun = Path({str(begun)!r})\nbegun.write_text(begun.read_text() + 'x')\n"
        f"if len(begun.read_text()) <= {deaths}:\n    os.kill(os.getpid(), 9)\n"
        "print('{\"value\": 1}')\n"
    )
    figures = bench.launch(str(script), [], ("a", "", "0"))
    assert figures == ({"value": 1} if deaths == 1 else {"error": "ended with code -9"})
    assert begun.read_text() == "x" * (2 if deaths == 1 else 3)
    assert capsys.readouterr().err.count("died and was replaced") == min(deaths, 2)


@pytest.mark.parametrize("name", some(["place", "tune", "joint"]))
def test_scripts_run_from_anywhere(name: str, tmp_path: Path) -> None:
    command = [sys.executable, str(RESULTS / name / "run.py"), "--quick"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)) > 4
