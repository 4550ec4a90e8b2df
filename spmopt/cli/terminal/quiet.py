"""The option ``--quiet``, the same for every command that has more to it than what it prints."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any, get_type_hints

from typer import Option
from typer.models import CommandInfo

from spmopt.core.errors import InputError

_QUIET = Annotated[
    bool,
    Option("--quiet", "-q", help="Print nothing but errors: exit code and files say what came."),
]
_LISTS = ("networks", "schedulers", "machines", "technologies")
"""Commands that are nothing without what they print."""


def add_quiet(commands: Iterable[CommandInfo]) -> None:
    """Give each command the option, except those that only list."""
    for command in commands:
        if command.callback is not None and command.callback.__name__ not in _LISTS:
            command.callback = _quietable(command.callback)


def _quietable(command: Callable[..., int]) -> Callable[..., int]:
    hints = get_type_hints(command, include_extras=True)
    own = signature(command)
    parameters = [
        parameter.replace(annotation=hints[name], kind=Parameter.KEYWORD_ONLY)
        for name, parameter in own.parameters.items()
    ]
    quiet = Parameter("quiet", Parameter.KEYWORD_ONLY, default=False, annotation=_QUIET)

    @wraps(command)
    def wrapper(*, quiet: bool, **values: Any) -> int:
        if not quiet:
            return command(**values)
        if values.get("json"):
            raise InputError("--quiet prints nothing, --json prints JSON: give one of them")
        from spmopt.cli.terminal.output import silenced

        with silenced():
            return command(**values)

    # Where inspect looks for it; a function's type has no such attribute.
    wrapper.__dict__["__signature__"] = own.replace(parameters=[*parameters, quiet])
    wrapper.__annotations__ = {each.name: each.annotation for each in (*parameters, quiet)}
    return wrapper
