"""The command ``spmopt bench``."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from spmopt.bench import runner as runner_module
from spmopt.bench import suites
from spmopt.bench.suite import Part
from spmopt.cli import Code
from tests.bench.small import SMALL, Measure, row, suite
from tests.cli.run import Run, runner


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """One suite: a line that is measured, and one that fails."""
    good = Part(measure="walk", options={"policy": "belady"})
    bad = Part(measure="walk", options={"policy": "none"})
    rows = [replace(row(name), parts={"": part}) for name, part in (("good", good), ("bad", bad))]
    monkeypatch.setattr(suites, "SUITES", {"small": suite(*rows)})


def test_without_a_name_the_suites_are_listed(run: Run) -> None:
    listed = run("bench").out.splitlines()[1:]
    assert [line.split()[0] for line in listed] == list(suites.SUITES)
    assert [s["name"] for s in run("bench --json").record["suites"]] == list(suites.SUITES)


@pytest.mark.usefixtures("small")
def test_tables_are_written_even_if_a_line_failed(run: Run, tmp_path: Path) -> None:
    ran = run(f"bench small --runs 1 -o {tmp_path} --json")
    assert ran.code == Code.INTERNAL
    assert [line["mark"] for line in ran.record["rows"]] == ["done", "failed"]
    assert ran.record["rows"][0]["figures"]["verified"] is True
    assert "no scheduler called 'none'" in ran.record["rows"][1]["figures"]["error"]
    text = (tmp_path / "small.md").read_text()
    assert text.startswith("    spmopt bench small --runs 1\n")
    assert json.loads((tmp_path / "small.json").read_text()) == ran.record
    assert "small: good 1MB: done" in ran.err


@pytest.mark.usefixtures("small")
def test_only_some_lines_write_nothing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run("bench small --runs 1 --only good")
    assert ran.code == Code.OK
    assert ran.out.startswith("    spmopt bench small --runs 1 --only 'good'\n")
    assert "| good | 1MB |" in ran.out
    assert "| bad | 1MB |" not in ran.out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("bench pages", "no suite called 'pages'; did you mean page?"),
        ("bench page --runs 0", "--runs 0: must be at least 1"),
        ("bench page --only gnmt", "--only 'gnmt': no line of suite page has these words"),
        ("bench page -o none", "none: no such folder"),
    ],
)
def test_one_line_says_what_is_wrong(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    ran = run(line)
    assert (ran.code, ran.out) == (Code.BAD_INPUT, "")
    assert ran.err.startswith(f"error: {message}")
    assert ran.err.count("\n") == 1


def test_an_interrupted_bench_says_how_to_go_on(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suites, "SUITES", {"small": SMALL})
    measure = Measure(limit=1)
    monkeypatch.setattr(runner_module, "launch", measure)
    ran = run(f"bench small --runs 1 -o {tmp_path}")
    assert (ran.code, ran.out) == (Code.INTERRUPTED, "")
    assert ran.err.endswith("interrupted: the same command goes on from here\n")
    measure.limit = 3
    assert run(f"bench small --runs 1 -o {tmp_path}").code == Code.OK
    assert measure.calls == ["measure first", "measure second", "measure second"]
