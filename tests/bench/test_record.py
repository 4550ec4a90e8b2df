"""A bench that was killed keeps what it measured, and goes on there."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spmopt.bench import record as module
from spmopt.bench.environment import environment
from spmopt.bench.record import Record
from spmopt.bench.runner import run
from spmopt.bench.suite import Case, Figures, Options, Part
from spmopt.bench.table import write
from tests.bench.small import SMALL, Measure, silent

COMMAND = "spmopt bench small --runs 2"
PART = ".small.part.json"
CALLS = 6  # two runs of three parts


def begin(folder: Path, command: str = COMMAND, runs: int = 2) -> Record:
    return Record.begin(SMALL, command, runs, folder)


def test_everything_is_measured_once_a_run(tmp_path: Path) -> None:
    measure = Measure()
    lines = list(run(SMALL, begin(tmp_path), silent, measure))
    assert measure.calls == ["measure first"] * 2 + ["measure second"] * 4
    assert [line.mark for line in lines] == ["miss", "done"]
    assert lines[0].figures["wall_s"] == 1.5
    assert [lines[1].figures[f"{label}.wall_s"] for label in "ab"] == [3.5, 5.5]


def test_runs_of_a_seeded_part_have_their_own_seeds(tmp_path: Path) -> None:
    parts = {
        "": Part(measure="drawn", options={"trials": 3}, seeded=True),
        "fixed": Part(measure="fixed", options={"trials": 3}),
    }
    suite = replace(SMALL, rows=(replace(SMALL.rows[0], parts=parts),))
    given: list[tuple[str, Options]] = []

    def measure(case: Case, part: Part) -> Figures:
        given.append((part.measure, part.options))
        return {"wall_s": 1.0}

    list(run(suite, begin(tmp_path), silent, measure))
    assert given == [
        ("drawn", {"trials": 3, "seed": 0}),
        ("drawn", {"trials": 3, "seed": 1}),
        ("fixed", {"trials": 3}),
        ("fixed", {"trials": 3}),
    ]


@pytest.mark.parametrize("done", range(CALLS))
def test_a_killed_bench_resumes(tmp_path: Path, done: int) -> None:
    with pytest.raises(KeyboardInterrupt):
        list(run(SMALL, begin(tmp_path), silent, Measure(limit=done)))
    rest = Measure()
    record = begin(tmp_path)
    lines = list(run(SMALL, record, silent, rest))
    assert len(rest.calls) == CALLS - done
    assert [line.row for line in lines] == list(SMALL.rows)
    write(tmp_path, SMALL, record, lines)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["small.json", "small.md"]


def test_a_complete_bench_begins_anew(tmp_path: Path) -> None:
    record = begin(tmp_path)
    write(tmp_path, SMALL, record, list(run(SMALL, record, silent, Measure())))
    assert begin(tmp_path).rows == {}


def test_tables_stay_until_new_ones_are_complete(tmp_path: Path) -> None:
    record = begin(tmp_path)
    write(tmp_path, SMALL, record, list(run(SMALL, record, silent, Measure())))
    before = (tmp_path / "small.json").read_text()
    with pytest.raises(KeyboardInterrupt):
        list(run(SMALL, begin(tmp_path), silent, Measure(limit=5)))
    assert (tmp_path / "small.json").read_text() == before


def interrupted(folder: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        list(run(SMALL, begin(folder), silent, Measure(limit=3)))


def test_another_command_begins_anew(tmp_path: Path) -> None:
    interrupted(tmp_path)
    assert begin(tmp_path, "spmopt bench small --runs 3", 3).rows == {}
    assert list(begin(tmp_path).rows) == ["first 1MB", "second 1MB"]


@pytest.mark.parametrize("name", ["commit", "versions", "computer"])
def test_another_source_or_computer_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    interrupted(tmp_path)

    def other() -> dict[str, Any]:
        return {**environment(), name: "another"}

    monkeypatch.setattr(module, "environment", other)
    assert begin(tmp_path).rows == {}


@pytest.mark.parametrize("keep", [0, 10, -3])
def test_a_damaged_file_begins_anew(tmp_path: Path, keep: int) -> None:
    interrupted(tmp_path)
    text = (tmp_path / PART).read_text()
    (tmp_path / PART).write_text(text[:keep])
    assert begin(tmp_path).rows == {}


def test_the_date_is_that_of_the_first_run(tmp_path: Path) -> None:
    interrupted(tmp_path)
    kept = json.loads((tmp_path / PART).read_text())
    (tmp_path / PART).write_text(json.dumps({**kept, "date": "2020-02-02"}))
    assert begin(tmp_path).head["date"] == "2020-02-02"


def test_nothing_is_written_without_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    few = replace(SMALL, rows=SMALL.rows[:1])
    lines = list(run(few, Record.begin(few, COMMAND, 1, None), silent, Measure()))
    assert len(lines) == 1
    assert list(tmp_path.iterdir()) == []
