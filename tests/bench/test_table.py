"""The files: the command first, then where it was measured, then figures beside targets."""

import json
from pathlib import Path

from spmopt.bench.environment import PACKAGES
from spmopt.bench.record import Record
from spmopt.bench.runner import run
from spmopt.bench.suite import Case, Column, Figures, Part, Suite, Target
from spmopt.bench.table import FORMS, write
from tests.bench.small import CASE, Measure, row, silent, suite

COMMAND = "spmopt bench small --runs 1"


def written(folder: Path, own: Suite) -> tuple[str, dict[str, object]]:
    record = Record.begin(own, COMMAND, 1, folder)
    write(folder, own, record, list(run(own, record, silent, Measure())))
    return (folder / "small.md").read_text(), json.loads((folder / "small.json").read_text())


def table(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("|")]


def test_the_command_comes_first(tmp_path: Path) -> None:
    text, document = written(tmp_path, suite(row("one")))
    assert text.startswith(f"    {COMMAND}\n\n# Small things\n\nHow it is done.\n\n")
    assert next(iter(document)) == "command"
    assert document["command"] == COMMAND


def test_where_it_was_measured(tmp_path: Path) -> None:
    text, document = written(tmp_path, suite(row("one")))
    versions = document["versions"]
    assert isinstance(versions, dict)
    assert list(versions) == ["python", *PACKAGES]
    for name, version in versions.items():
        assert f"{name} {version}" in text
    for name in ("date", "commit"):
        assert str(document[name]) in text
    assert str(tmp_path) not in text + json.dumps(document)


def test_figures_stand_beside_targets(tmp_path: Path) -> None:
    targets = Target(figure="wall_s", value=2), Target(figure="gap", value=0.25)
    text, document = written(tmp_path, suite(row("one", *targets), row("two")))
    assert table(text) == [
        "| what | SPM | wall s | gap % | targets |",
        "| :-- | :-- | --: | --: | --: |",
        "| one | 1MB | 1.00 (≤ 2) | **0.50** (≤ 0.25) | **miss** |",
        "| two | 1MB | 2.00 | 0.50 | done |",
    ]
    assert text.endswith("0 of 1 lines reach their targets.\n")
    rows = document["rows"]
    assert isinstance(rows, list)
    assert [target["met"] for target in rows[0]["targets"]] == [True, False]
    assert rows[0]["runs"] == {"": [{"wall_s": 1.0, "gap": 0.5}]}
    assert Case(**rows[0]["case"]) == CASE


def test_without_targets_there_are_no_marks(tmp_path: Path) -> None:
    text, _ = written(tmp_path, suite(row("one")))
    assert table(text)[0] == "| what | SPM | wall s | gap % |"
    assert table(text)[2] == "| one | 1MB | 1.00 | 0.50 |"
    assert "targets" not in text


def test_a_failure_is_explained_below(tmp_path: Path) -> None:
    def measure(case: Case, part: Part) -> Figures:
        del case, part
        return {"error": "MemoryError"}

    own = suite(row("one", Target(figure="wall_s", value=1, at_least=True)))
    record = Record.begin(own, COMMAND, 1, tmp_path)
    write(tmp_path, own, record, list(run(own, record, silent, measure)))
    text = (tmp_path / "small.md").read_text()
    assert table(text)[2] == "| one | 1MB | **-** (≥ 1) | - | **failed** |"
    assert "* one 1MB: MemoryError\n" in text


def test_forms() -> None:
    shown = {name: form(0.123456) for name, form in FORMS.items()}
    assert shown == {"s": "0.12", "%": "12.3", "ms": "0.12346", "n": "0", "x": "0.1", "yes": "yes"}
    assert FORMS["%"](1e-15) == "0"
    assert Column(figure="x", heading="x").form in FORMS
