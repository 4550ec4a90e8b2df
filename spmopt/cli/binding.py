"""Commands: their options come from the parameters of the functions that they call.

A function of :mod:`spmopt.api` states an option once: name, type, default, and help in its
docstring. A command that calls the function offers it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, wraps
from inspect import Parameter, Signature, cleandoc, signature
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

from typer import Context, Exit, Option, Typer

import spmopt
from spmopt.cli.project import note, sources
from spmopt.core.errors import InputError

T = TypeVar("T")
Function = Callable[..., Any]
COMMANDS: dict[str, Callable[[Typer], object]] = {}
"""Adds a command to a program, by its name; there once its module is imported."""
_MAIN = (
    "base training batch spm bandwidth machine scheduler schedulers pieces cover objective "
    "objectives "
    "time_limit tolerance trials sampler workers jobs storage study top per step picture x y "
    "timing format capacity minimize fit configurations gemm order replacement cores only kernels "
    "data reorder "
    "output"
)
"""Options that ``--help`` shows; ``--help-all`` shows the others too."""
_NAMES = {"base": "machine", "settings": "set", "parameters": "param", "objectives": "objective"}
"""Options that are called otherwise than the parameter."""
_FLAGS = {
    "scheduler": ("--scheduler", "-s"),
    "schedulers": ("--schedulers", "--scheduler", "-s"),
    "output": ("--output", "-o"),
    "prune": ("--prune/--no-prune",),
    "reorder": ("--reorder/--no-reorder",),
    "fold": ("--fold/--no-fold",),
}
_METAVARS = {
    "cover": "FILE",
    "costs": "FILE",
    "settings": "KEY=VALUE",
    "parameters": "NAME=N",
    "bank": "SIZE:TECHNOLOGY[:PORTS]",
    "shard": "I/N",
    "gemm": "MxKxN",
    "tile": "MxKxN",
}
_SAID_OF_OTHERS = ("machine", "technology", "scheduler", "study", "network")
"""Options whose names also begin messages about files and names."""
_KINDS = {"bool": bool, "int": int, "float": float, "Path": Path, "str": str, "Axis": str}


def _offered(
    function: Function, panel: str | None
) -> Iterator[tuple[Parameter, Callable[[Any], Any]]]:
    """Yield an option for each parameter that has a default and is no callback.

    With it comes what makes the argument of its value.
    """
    texts = _described(function)
    for name, parameter in signature(function).parameters.items():
        if parameter.default is Parameter.empty or name == "callbacks":
            continue
        typed = _typed(name, str(parameter.annotation), parameter.default)
        if typed is None:
            continue
        kind, default, read = typed
        written = flag(name)
        own = f"{written}/--no-{written[2:]}" if kind == bool | None else written
        option = Option(
            *_FLAGS.get(name, (own,)),
            help=texts[name],
            metavar=_METAVARS.get(name),
            rich_help_panel=panel,
            # The order of a list is for few; that of tiles is what `tiles` compares.
            hidden=name not in _MAIN.split() or panel == "Lowering",
        )
        yield _parameter(name, Annotated[kind, option], default), read


def _parameter(name: str, hint: Any, default: Any = Parameter.empty) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _typed(
    name: str, annotation: str, default: Any
) -> tuple[Any, Any, Callable[[Any], Any]] | None:
    """Return the type and default of an option, and what makes the argument of its value.

    None: no text says what is asked for, as a record.
    """
    if annotation.startswith("Mapping["):
        whole = annotation.startswith("Mapping[str, int]")
        return list[str] | None, None, lambda texts: _pairs(texts or (), flag(name), whole=whole)
    if name == "bank":
        return list[str] | None, None, lambda texts: tuple(texts or ())
    if annotation.startswith("Sequence["):
        text = None if default is None else ",".join(default)
        return str | None, text, lambda text: text and text.replace(",", " ").split()
    known = [_KINDS[part] for part in annotation.split(" | ") if part in _KINDS]
    if not known:
        return None
    kind: Any = str if str in known else known[-1]
    return (kind | None if default is None else kind), default, lambda value: value


@cache
def _described(function: Function) -> dict[str, str]:
    """Read the section Parameters of a docstring; "As for" refers to another function."""
    text = cleandoc(function.__doc__ or "").partition("Parameters\n----------\n")[2]
    text = re.split(r"\n\n\w+\n-----*\n", text)[0]
    found = {}
    for names, lines in re.findall(r"^(\S.*)\n((?:    .*\n?)+)", text, re.MULTILINE):
        said = " ".join(lines.split())
        other = re.match(r"As for :func:`(?:spmopt\.)?(\w+)`", said)
        for name in names.split(", "):
            found[name] = _described(getattr(spmopt, other[1]))[name] if other else _plain(said)
    return found


def _plain(text: str) -> str:
    """Return a docstring's text as a terminal shows it."""
    text = re.sub(r":func:`list_(\w+)`", r"'spmopt \1'", text)
    return re.sub(r":\w+:`(?:spmopt\.)?(\w+)`", r"\1", text).replace("``", "")


def _pairs(texts: Sequence[str], option: str, *, whole: bool) -> dict[str, Any]:
    """Read values NAME=VALUE, whole numbers if asked.

    Raises
    ------
    InputError
        A text without a name or a value, or a value that is no whole number.
    """
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not (name and equals and value):
            raise InputError(f"{option} {text!r}: write {option} NAME=VALUE")
        if whole and not re.fullmatch(r"-?[0-9]{1,18}", value):
            raise InputError(f"{option} {text}: {value!r} is not a whole number")
        found[name] = int(value) if whole else value
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """The options of a command line, for the functions that take them.

    ``given`` are those that were written.
    """

    values: Mapping[str, Any]
    given: Sequence[str]

    def __call__(self, function: Callable[..., T], *args: Any, **more: Any) -> T:
        """Call a function with those of its parameters that are options; ``more`` goes first."""
        taken = list(signature(function).parameters)[len(args) :]
        own = {name: self.values[name] for name in taken if name in self.values}
        try:
            return function(*args, **{**own, **more})
        except InputError as error:
            raise InputError(_flagged(str(error), {**self.values, **more})) from None


def _flagged(message: str, options: Mapping[str, Any]) -> str:
    """Name options as the command line has them: the one that a message begins with, switches."""
    message = re.sub(
        r"\b([a-z_]+)=True\b",
        lambda found: flag(found[1]) if found[1] in options else found[0],
        message,
    )
    match = re.match(r"([a-z_]+)(:| )", message)
    if match is None or match[1] not in options:
        return message
    if match[2] == " " and match[1] in _SAID_OF_OTHERS:
        return message
    return flag(match[1]) + message[len(match[1]) :]


def flag(name: str) -> str:
    """Return a parameter as an option is written."""
    return "--" + _NAMES.get(name, name).replace("_", "-")


def command(
    panel: str | None = None,
    *,
    quiet: bool = True,
    without: Sequence[str] = (),
    **functions: Function,
) -> Callable[[Function], Function]:
    """Make a command that takes the options of ``functions``, in panels called as they are.

    All but those ``without`` which it does. The function that is decorated gets them as a
    :class:`Call` in ``call``; its other parameters are arguments and options of its own. It
    returns an exit code, None for 0.
    """

    def decorate(function: Function) -> Function:
        def add(app: Typer) -> None:
            bound = _bound(function, functions, without, quiet)
            app.command(rich_help_panel=panel)(bound)

        COMMANDS[function.__name__] = add
        return function

    return decorate


def _bound(
    function: Function, functions: Mapping[str, Function], without: Sequence[str], quiet: bool
) -> Function:
    """Return a function with the parameters of a command."""
    hints = get_type_hints(function, include_extras=True)
    own = [
        each.replace(annotation=hints[each.name], kind=Parameter.KEYWORD_ONLY)
        for each in signature(function).parameters.values()
        if each.name != "call"
    ]
    taken: dict[str, tuple[Parameter, Callable[[Any], Any]]] = {}
    for panel, each in functions.items():
        for option, read in _offered(each, None if panel == "Options" else panel):
            if option.name not in (*hints, *without):
                taken.setdefault(option.name, (option, read))

    @wraps(function)
    def wrapper(context: Context, **values: Any) -> int:
        del values["help_all"]
        written, used = sources(context, values)
        silent = values.pop("quiet", False)
        if silent and values.get("json"):
            raise InputError("--quiet prints nothing, --json prints JSON: give one of them")
        found = {name: read(values.pop(name)) for name, (_, read) in taken.items()}
        if "call" in hints:
            values["call"] = Call(values=found, given=written)
        from spmopt.cli.terminal.output import print_message, silenced

        with silenced(silent):
            if used:
                print_message(note(used))
            return int(function(**values) or 0)

    parameters = [
        _parameter("context", Context),
        *own,
        *(option for option, _ in taken.values()),
        _parameter("help_all", _HELP_ALL, default=False),
        *([_parameter("quiet", _QUIET, default=False)] if quiet else []),
    ]
    # Where inspect looks for it; a function's type has no such attribute.
    wrapper.__dict__["__signature__"] = Signature(parameters)
    wrapper.__annotations__ = {each.name: each.annotation for each in parameters}
    return wrapper


def _help_all(context: Context, value: bool) -> bool:
    if value:
        for parameter in context.command.params:
            vars(parameter)["hidden"] = False
        print(context.get_help())
        raise Exit
    return value


_HELP_ALL = Annotated[
    bool, Option("--help-all", help="Show all options.", is_eager=True, callback=_help_all)
]
_QUIET = Annotated[bool, Option("--quiet", "-q", help="Suppress all output except errors.")]
