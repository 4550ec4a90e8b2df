"""The commands that became scripts."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Context

from spmopt.core.errors import InputError

_Name = Annotated[str | None, Argument(help="What was to run.")]


def study(context: Context, name: _Name = None) -> int:
    """Say which script of a source checkout runs a study."""
    raise _moved("studies", name)


def bench(context: Context, name: _Name = None) -> int:
    """Say which script of a source checkout measures the program."""
    raise _moved("benches", name)


def _moved(what: str, name: str | None) -> InputError:
    """Name the script; with no name, or an option in its place, as a pattern."""
    known = "NAME" if name is None or name.startswith("-") else name.replace("-", "_")
    return InputError(f"{what} are scripts now: python results/{known}/run.py in a source checkout")
