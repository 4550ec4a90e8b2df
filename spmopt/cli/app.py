"""The program: its commands, each in a module that is imported when it is named."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated

from typer import Argument, Context, Option, Typer
from typer.core import TyperGroup

from spmopt.cli.binding import COMMANDS
from spmopt.cli.codes import print_version
from spmopt.cli.project import default_map, found_file
from spmopt.core.errors import InputError

MODULES = {
    **dict.fromkeys(("solve", "compare", "verify", "analyze", "explain", "instance"), "schedule"),
    "story": "story",
    "run": "run",
    "emit": "emit",
    **dict.fromkeys(("trace", "plot", "report", "export"), "views"),
    **dict.fromkeys(("networks", "schedulers", "machines", "technologies"), "lists"),
    **dict.fromkeys(("place", "tiles"), "parts"),
    **dict.fromkeys(("sweep", "merge"), "sweep"),
    "tune": "tune",
}
"""The module of each command, in the order of the help."""
_Name = Annotated[str | None, Argument(help="What was to run.")]


def application(first: str = "") -> Typer:
    """Build the program; where its ``first`` word names a command, that command alone.

    To make all of them takes a fifth of a second. A project file may name options of any.
    """
    app = Typer(
        name="spmopt",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(_top)
    alone = first in MODULES and found_file() is None
    for name in (first,) if alone else MODULES:
        import_module(f"spmopt.cli.{MODULES[name]}")
        COMMANDS[name](app)
    moved = {"ignore_unknown_options": True, "allow_extra_args": True}
    app.command("study", hidden=True, context_settings=moved)(_study)
    app.command("bench", hidden=True, context_settings=moved)(_bench)
    return app


def _top(
    context: Context,
    version: Annotated[bool, Option("--version", "-V", help="Show the version.")] = False,
) -> int:
    """Optimal, verified schedules for the scratchpad of a DNN accelerator."""
    if version:
        print_version()
    elif context.invoked_subcommand is None:
        print(context.get_help())
    elif isinstance(context.command, TyperGroup):
        context.default_map = default_map(context.command.commands)
    return 0


def _study(context: Context, name: _Name = None) -> int:
    """Name the script of a source checkout that runs a study."""
    raise _moved("studies", name)


def _bench(context: Context, name: _Name = None) -> int:
    """Name the script of a source checkout that measures the program."""
    raise _moved("benches", name)


def _moved(what: str, name: str | None) -> InputError:
    """Return the error that names the script; without a name, or for an option, a pattern."""
    known = "NAME" if name is None or name.startswith("-") else name.replace("-", "_")
    return InputError(f"{what} are scripts now: python results/{known}/run.py in a source checkout")
