"""Options have help, and commands a summary."""

from typing import Any

import pytest

from spmopt.cli.app import application
from spmopt.cli.commands import COMMANDS


def helped() -> list[tuple[str, Any]]:
    app = application([])
    commands = {name: app[name] for name in COMMANDS}
    commands |= {f"tune {name}": app["tune"][name] for name in ("search", "show")}
    return [
        (f"{name} {argument.name}", argument)
        for name, command in commands.items()
        for argument in command.assemble_argument_collection(parse_docstring=True)
        if argument.show
    ]


def test_every_option_has_help_without_markup() -> None:
    for name, argument in helped():
        assert argument.parameter.help, name
        assert ":func:" not in argument.parameter.help, name
        assert ":mod:" not in argument.parameter.help, name


def test_summaries_stand_in_the_list_of_commands(capsys: pytest.CaptureFixture[str]) -> None:
    from spmopt.cli import main

    assert main([]) == 0
    shown = capsys.readouterr().out
    assert all(f" {name} " in shown for name in COMMANDS)
    assert "--install-completion" in shown
