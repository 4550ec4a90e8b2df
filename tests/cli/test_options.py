"""Options have help, and commands a summary."""

from functools import cache
from typing import Any

import pytest

from spmopt.cli.app import application
from spmopt.cli.commands import COMMANDS


@cache
def helped() -> list[tuple[str, Any]]:
    """Options by their commands; to assemble them takes a second."""
    app = application([])
    commands = {name: app[name] for name in COMMANDS}
    commands |= {f"tune {name}": app["tune"][name] for name in ("search", "show")}
    return [
        (name, argument)
        for name, command in commands.items()
        for argument in command.assemble_argument_collection(parse_docstring=True)
        if argument.show
    ]


def options() -> dict[str, set[str]]:
    """Names of options by command."""
    found: dict[str, set[str]] = {}
    for name, argument in helped():
        found.setdefault(name, set()).update(argument.names)
    return found


def test_every_option_has_help_without_markup() -> None:
    for name, argument in helped():
        text = argument.parameter.help
        assert text, (name, argument.name)
        assert ":func:" not in text, (name, argument.name)
        assert ":mod:" not in text, (name, argument.name)


def test_summaries_stand_in_the_list_of_commands(capsys: pytest.CaptureFixture[str]) -> None:
    from spmopt.cli import main

    assert main([]) == 0
    shown = capsys.readouterr().out
    assert all(f" {name} " in shown for name in COMMANDS)
    assert "--install-completion" in shown
