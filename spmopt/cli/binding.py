"""Options of commands, from the parameters of the functions that they call.

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

from spmopt.api import inputs, scheduling
from spmopt.cli.project import Defaults
from spmopt.core.errors import InputError

T = TypeVar("T")
_MAIN = {
    *("base", "training", "batch", "spm", "bandwidth", "machine", "scheduler", "schedulers"),
    *("objective", "objectives", "time_limit", "tolerance", "trials", "sampler", "workers", "jobs"),
    *(
        "storage",
        "study",
        "top",
        "per",
        "step",
        "picture",
        "x",
        "y",
        "timing",
        "format",
        "capacity",
    ),
    *(
        "minimize",
        "fit",
        "configurations",
        "gemm",
        "order",
        "replacement",
        "cores",
        "only",
        "output",
    ),
}
"""Options that ``--help`` shows; ``--help-all`` shows the others too."""
_NAMES = {"base": "machine", "settings": "set", "parameters": "param", "objectives": "objective"}
"""Options that are called otherwise than the parameter."""
_FLAGS = {
    "scheduler": ("--scheduler", "-s"),
    "schedulers": ("--schedulers", "--scheduler", "-s"),
    "output": ("--output", "-o"),
    "prune": ("--prune/--no-prune",),
}
_METAVARS = {
    "settings": "KEY=VALUE",
    "parameters": "NAME=N",
    "bank": "SIZE:TECHNOLOGY[:PORTS]",
    "shard": "I/N",
    "gemm": "MxKxN",
    "tile": "MxKxN",
}
_SAID_OF_OTHERS = ("machine", "technology", "scheduler", "study", "network")
"""Options whose names also begin messages about files and names."""
_ALL: dict[str, Callable[..., Any]] = {
    "load": inputs.load,
    "lower": inputs.lower,
    "machine": inputs.machine,
}
_ALL["solve"] = scheduling.solve


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """A parameter of a function as an option, and what makes the argument of its value."""

    name: str
    parameter: Parameter
    read: Callable[[Any], Any]


def offered(function: Callable[..., Any], panel: str | None) -> Iterator[Offered]:
    """Yield an option for each parameter that has a default and is no callback."""
    texts = described(function)
    for parameter in signature(function).parameters.values():
        name = parameter.name
        if parameter.default is Parameter.empty or name == "callbacks":
            continue
        typed = _typed(name, str(parameter.annotation), parameter.default)
        if typed is None:
            continue
        kind, default, read = typed
        written = flag(name)
        own = f"{written}/--no-{written[2:]}" if kind == bool | None else written
        flags = _FLAGS.get(name, (own,))
        option = Option(
            *flags,
            help=texts[name],
            metavar=_METAVARS.get(name),
            rich_help_panel=panel,
            hidden=name not in _MAIN,
        )
        hint: Any = Annotated[kind, option]
        yield Offered(
            name=name,
            read=read,
            parameter=Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint),
        )


def _typed(
    name: str, annotation: str, default: Any
) -> tuple[Any, Any, Callable[[Any], Any]] | None:
    """Return the type and default of an option, and what makes the argument of its value.

    None: no text says what is asked for, as a record.
    """
    if annotation.startswith("Mapping["):
        whole = annotation.startswith("Mapping[str, int]")
        option = "--" + _NAMES[name]
        return list[str] | None, None, lambda texts: pairs(texts or (), option, whole=whole)
    if name == "bank":
        return list[str] | None, None, lambda texts: tuple(texts or ())
    if annotation.startswith("Sequence["):
        text = None if default is None else ",".join(default)
        return str | None, text, lambda text: text and text.replace(",", " ").split()
    kinds = {"bool": bool, "int": int, "float": float, "Path": Path, "str": str, "Axis": str}
    parts = annotation.split(" | ")
    known = [kinds[part] for part in parts if part in kinds]
    if not known:
        return None
    kind = str if str in known else known[-1]
    return (kind | None if default is None else kind), default, lambda value: value


@cache
def described(function: Callable[..., Any]) -> dict[str, str]:
    """Read the section Parameters of a docstring; "As for" refers to another function."""
    text = cleandoc(function.__doc__ or "").partition("Parameters\n----------\n")[2]
    text = re.split(r"\n\n\w+\n-----*\n", text)[0]
    found = {}
    for names, lines in re.findall(r"^(\S.*)\n((?:    .*\n?)+)", text, re.MULTILINE):
        said = " ".join(lines.split())
        other = re.match(r"As for :func:`(?:spmopt\.)?(\w+)`", said)
        for name in names.split(", "):
            found[name] = described(_ALL[other[1]])[name] if other else _plain(said)
    return found


def _plain(text: str) -> str:
    """Return a docstring's text as a terminal shows it."""
    text = re.sub(r":func:`list_(\w+)`", r"'spmopt \1'", text)
    return re.sub(r":\w+:`(?:spmopt\.)?(\w+)`", r"\1", text).replace("``", "")


def pairs(texts: Sequence[str], option: str, *, whole: bool = False) -> dict[str, Any]:
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
    """Name the option that a message begins with as the command line has it."""
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
    app: Typer,
    *,
    panel: str | None = None,
    quiet: bool = True,
    without: Sequence[str] = (),
    **functions: Callable[..., Any],
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Add a command that takes the options of ``functions``, in panels called as they are.

    All but those ``without`` which it does.

    The function that is decorated gets them as a :class:`Call` in ``call``; its other parameters
    are arguments and options of its own.
    """

    def decorate(function: Callable[..., int]) -> Callable[..., int]:
        hints = get_type_hints(function, include_extras=True)
        own = [
            each.replace(annotation=hints[each.name], kind=Parameter.KEYWORD_ONLY)
            for each in signature(function).parameters.values()
            if each.name != "call"
        ]
        taken: dict[str, Offered] = {}
        for name, each in functions.items():
            for option in offered(each, None if name == "Options" else name):
                if option.name not in hints and option.name not in without:
                    taken.setdefault(option.name, option)
        options = [*(each.parameter for each in taken.values()), *_common(quiet)]
        context = Parameter("context", Parameter.KEYWORD_ONLY, annotation=Context)

        @wraps(function)
        def wrapper(context: Context, **values: Any) -> int:
            del values["help_all"]
            defaults = Defaults.of(context, values)
            silent = values.pop("quiet", False)
            if silent and values.get("json"):
                raise InputError("--quiet prints nothing, --json prints JSON: give one of them")
            found = {name: each.read(values.pop(name)) for name, each in taken.items()}
            if "call" in hints:
                values["call"] = Call(values=found, given=defaults.written)
            from spmopt.cli.terminal.output import silenced, tell

            with silenced(silent):
                if defaults.used:
                    tell(defaults.sentence())
                return function(**values)

        parameters = [context, *own, *options]
        # Where inspect looks for it; a function's type has no such attribute.
        wrapper.__dict__["__signature__"] = Signature(parameters)
        wrapper.__annotations__ = {each.name: each.annotation for each in parameters}
        return app.command(rich_help_panel=panel)(wrapper)

    return decorate


def _common(quiet: bool) -> list[Parameter]:
    """Return the options of all commands."""
    shown = Annotated[
        bool, Option("--help-all", help="Show all options.", is_eager=True, callback=_help_all)
    ]
    silent = Annotated[bool, Option("--quiet", "-q", help="Suppress all output except errors.")]
    found = [("help_all", shown), *([("quiet", silent)] if quiet else [])]
    return [
        Parameter(name, Parameter.KEYWORD_ONLY, default=False, annotation=hint)
        for name, hint in found
    ]


def _help_all(context: Context, value: bool) -> bool:
    if value:
        for parameter in context.command.params:
            parameter.hidden = False  # type: ignore[attr-defined]
        print(context.get_help())
        raise Exit
    return value
