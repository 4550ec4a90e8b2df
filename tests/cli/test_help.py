"""Help names every choice, and what -o does to files that exist."""

import re
from pathlib import Path

import pytest

from spmopt.schedulers.registry import SCHEDULERS
from tests.cli.run import Run
from tests.cli.test_failures import SMALL
from tests.solve.fakes import bounds_only, install


def shown(run: Run, command: str) -> str:
    """Help as one line of words."""
    return " ".join(re.sub("[│╭╮╰╯─]", " ", run(f"{command} --help").out).split())


@pytest.mark.parametrize("command", ["solve", "compare"])
def test_schedulers_are_explained(run: Run, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    text = shown(run, command)
    for entry in SCHEDULERS.values():
        assert f"{entry.name} - {entry.summary}" in text


def test_objectives_and_lowerings_are_explained(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    text = shown(run, "solve")
    for name in ("time", "traffic", "energy", "tiled", "ideal"):
        assert re.search(rf" {name} - \w+", text), name


@pytest.mark.parametrize(
    ("command", "name"),
    [("solve -s belady", "r.json"), ("compare --schedulers belady", "."), ("instance", "r.json")],
)
def test_output_replaces_a_file_and_says_so(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, name: str
) -> None:
    install(monkeypatch, fluid=bounds_only)
    old = tmp_path / ("belady.json" if name == "." else name)
    old.write_text("old")
    assert "replaced" in shown(run, command.partition(" ")[0])
    assert run(f"{command} bert-lonely -o {tmp_path / name}").code == 2
    assert old.read_text() == "old"
    assert run(f"{command} {SMALL} -o {tmp_path / name}").code == 0
    assert old.read_text().startswith('{"format":"spmopt-')
    assert list(tmp_path.iterdir()) == [old]
