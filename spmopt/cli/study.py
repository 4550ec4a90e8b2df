"""The commands that became scripts."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Context

from spmopt.core.errors import InputError


def study(
    context: Context, name: Annotated[str | None, Argument(help="Study that was to run.")] = None
) -> int:
    """Say which script of a source checkout runs a study."""
    del context
    raise InputError(f"studies are scripts now: {_script(name)} in a source checkout")


def _script(name: str | None) -> str:
    """Name a script; with none, or an option in its place, as a pattern."""
    known = name is not None and not name.startswith("-")
    return f"python results/{str(name).replace('-', '_') if known else 'NAME'}/run.py"
