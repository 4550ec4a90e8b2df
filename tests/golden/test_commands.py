"""A representative set of commands prints and writes what is kept, figure by figure."""

from pathlib import Path

import pytest

from tests.cli.run import runner
from tests.golden.check import compare, outputs, prepare, renamed_fields
from tests.golden.commands import COMMANDS


def test_quick_commands_are_as_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(prepare(tmp_path))
    run, renames = runner(capsys), renamed_fields()
    differences = []
    for command in COMMANDS:
        if command.quick:
            ran = run(command.line)
            found = outputs(command, tmp_path, ran.code, ran.out, ran.err)
            differences += [f"{command.name}: {line}" for line in compare(found, renames)]
    assert not differences, "\n".join(differences)
