"""Errors of usage in one line each: no such option, no such command, a value that is missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cyclopts import (
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)

from spmopt.cli.commands import COMMANDS
from spmopt.core.errors import nearest, unknown

_KINDS = {int: "a whole number", float: "a number"}


def usage(error: CycloptsError) -> str:
    """Return the error of a command line in one line: place, fault and remedy."""
    for kind, message in _MESSAGES.items():
        if isinstance(error, kind):
            return message(error)
    return str(error)


def _command(error: CycloptsError) -> str:
    return " ".join(("spmopt", *(error.command_chain or ())))


def _no_such_option(error: UnknownOptionError) -> str:
    option = error.token.keyword or error.token.value
    near = nearest(option, (name for each in error.argument_collection for name in each.names))
    hint = f"did you mean {near}?" if near else f"see '{_command(error)} --help-all'"
    return f"no such option {option}; {hint}"


def _no_such_command(error: UnknownCommandError) -> str:
    (name, *_) = error.unused_tokens or ("",)

    scripts = {"study": "studies", "bench": "benches"}
    if name in scripts:
        return f"{scripts[name]} are scripts now: python results/NAME/run.py in a source checkout"
    return str(unknown("command", name, COMMANDS))


def _missing(error: MissingArgumentError) -> str:
    assert error.argument is not None
    option = error.keyword or error.argument.name
    # The option is there without its value, as opposed to a missing argument.
    if option.startswith("-") and (error.keyword or error.argument.tokens):
        return f"{option}: needs a value"
    named = option if option.startswith("-") else option.upper()
    return f"{named} is missing; see '{_command(error)} --help'"


def _not_a_value(error: CoercionError) -> str:
    token = error.token
    if token is None or error.target_type not in _KINDS:
        return str(error)
    several = "; lists and ranges are for 'spmopt sweep'" if {*token.value} & {*":,"} else ""
    name = token.keyword or (error.argument.name if error.argument else "")
    where = f"{name} in {token.source}" if token.source not in ("", "cli") else name
    return f"{where}: {token.value!r} is not {_KINDS[error.target_type]}{several}"


def _surplus_argument(error: UnusedCliTokensError) -> str:
    (word, *_) = error.unused_tokens or ("",)
    return f"unexpected argument {word!r}; see '{_command(error)} --help'"


_MESSAGES: dict[type[CycloptsError], Callable[[Any], str]] = {
    UnknownOptionError: _no_such_option,
    UnknownCommandError: _no_such_command,
    MissingArgumentError: _missing,
    CoercionError: _not_a_value,
    UnusedCliTokensError: _surplus_argument,
}
