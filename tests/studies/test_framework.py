"""Studies of any kind: files, resuming, drawing again."""

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spmopt.core.errors import InputError
from spmopt.experiments.store import Table
from spmopt.studies import record, registry
from spmopt.studies import run as run_module
from spmopt.studies.page import lines, publish
from spmopt.studies.record import read
from spmopt.studies.rows import Rows
from spmopt.studies.study import Sheet
from spmopt.sweep.run import run_sweeps
from tests.cli.run import Run, runner
from tests.studies.small import SIZES, SMALL, run


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(registry, "STUDIES", {"small": SMALL})
    return runner(capsys)


def test_page_picture_and_rows_are_written(command: Run, tmp_path: Path) -> None:
    ran = command(f"study small -o {tmp_path} --jobs 1 --json")
    assert ran.code == 0
    page = (tmp_path / "small.md").read_text()
    assert page.startswith("    spmopt study small\n\n# What is small\n\nA question.\n\n20")
    assert page.endswith(
        "![What is small](small.png)\n\n## What it means\n\nOne. Two is 2.0. Three.\n\n"
        "## Notes\n\n* a note\n"
    )
    assert (tmp_path / "small.png").read_text() == "12 2.0"
    head, names, *rows = (tmp_path / "small.csv").read_text().splitlines()
    assert head.startswith('# {"format": "spmopt-sweep"')
    assert '"command": "spmopt study small"' in head
    assert names.startswith("network,")
    cells = [
        [row["part"], row["spm_bytes"], row["scheduler"]] for row in csv.DictReader([names, *rows])
    ]
    asked = [
        [p, str(s), n] for p in ("time", "traffic") for s in SIZES for n in ("stream", "fluid")
    ]
    assert cells == asked
    assert [row[:3] for row in ran.record["tables"][0]["rows"]] == asked
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "small.csv",
        "small.md",
        "small.png",
    ]
    # Made again from what was recorded, all is as it was.
    (tmp_path / "small.md").unlink()
    assert command(f"study small -o {tmp_path} --draw").out == page
    assert (tmp_path / "small.md").read_text() == page


def test_bounds_are_of_the_part_s_objective(tmp_path: Path) -> None:
    rows = run(SMALL, tmp_path).rows
    for size in SIZES:
        streamed = rows.one(part="time", spm_bytes=size, scheduler="stream")
        again = rows.one(part="traffic", spm_bytes=size, scheduler="stream")
        assert streamed["time_s"] == again["time_s"] == streamed["value"]
        assert streamed["traffic_bytes"] == again["traffic_bytes"] == again["value"]


def test_a_killed_study_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()
    wanted = run(SMALL, whole)

    def killed(sweeps: Any, table: Table, queue: Any, **options: Any) -> None:
        def report(*_: object) -> None:
            if len(table) > 6:
                raise KeyboardInterrupt

        run_sweeps(sweeps, table, queue, **{**options, "report": report})

    with monkeypatch.context() as patch:
        patch.setattr(run_module, "run_sweeps", killed)
        with pytest.raises(KeyboardInterrupt):
            run(SMALL, tmp_path)
    part = record.part_path(tmp_path, SMALL)
    assert len(part.read_text().splitlines()) in range(2 + 7, 2 + 12)
    assert not record.table_path(tmp_path, SMALL).exists()

    def not_again() -> dict[str, float]:
        raise AssertionError

    found = run(replace(SMALL, figures=not_again), tmp_path)
    assert not part.exists()
    assert [_untimed(row) for row in found.rows] == [_untimed(row) for row in wanted.rows]
    assert found.head["figures"] == {"two": 2.0}


def test_rows_of_other_source_are_not_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = record.part_path(tmp_path, SMALL)
    run(SMALL, tmp_path)
    table = record.table_path(tmp_path, SMALL)
    part.write_text(table.read_text())
    monkeypatch.setattr(
        record, "environment", lambda: {"commit": "x", "versions": {}, "computer": {}}
    )
    again = run(replace(SMALL, figures=lambda: {"two": 3.0}), tmp_path)
    assert again.head["commit"] == "x"
    assert again.figures == {"two": 3.0}


def test_what_is_not_recorded_is_not_drawn(command: Run, tmp_path: Path) -> None:
    ran = command(f"study small --draw -o {tmp_path}")
    assert ran.code != 0
    assert "no rows of this study; run it without --draw first" in ran.err
    (tmp_path / "small.csv").write_text('# {"study": "small"}\nnetwork\n')
    with pytest.raises(InputError, match="other columns"):
        read(SMALL, tmp_path)


def test_bad_names_and_folders(command: Run, tmp_path: Path) -> None:
    assert "did you mean small" in command("study smal").err
    assert "no such folder" in command(f"study small -o {tmp_path / 'none'}").err
    assert "--jobs 0: must be at least 1" in command("study small --jobs 0").err
    assert "small" in command("study").out
    assert command("study --json").record == {
        "studies": [{"name": "small", "title": "what is small"}]
    }


def test_tables() -> None:
    sheet = Sheet(heads=("a", "b", "c"), rows=[["x", "y", "1"]], left=2)
    assert lines(sheet) == ["| a | b | c |", "| :-- | :-- | --: |", "| x | y | 1 |"]


def test_missing_rows_are_told(tmp_path: Path) -> None:
    recorded = run(SMALL, tmp_path)
    with pytest.raises(InputError, match="0 rows with scheduler lru, not one"):
        recorded.rows.one(scheduler="lru")
    with pytest.raises(InputError, match="no time_s but None"):
        recorded.rows.number("time_s", part="time", scheduler="fluid", spm_bytes=SIZES[0])
    publish(replace(SMALL, draw=None), recorded, tmp_path)
    assert "png" not in (tmp_path / "small.md").read_text()
    assert not len(Rows([]))


def _untimed(row: object) -> dict[str, object]:
    assert isinstance(row, dict)
    return {name: value for name, value in row.items() if name != "solve_s"}
