"""The commands; each imports what it needs when it runs."""

from __future__ import annotations

from typing import Annotated

from typer import Context, Option, Typer

from spmopt.cli import lists, place, schedule, sweep, tiles, tune, views
from spmopt.cli.codes import print_version
from spmopt.cli.project import default_map
from spmopt.cli.scripts import bench, study

app = Typer(
    name="spmopt",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def top(
    context: Context,
    version: Annotated[bool, Option("--version", "-V", help="Show the version.")] = False,
) -> int:
    """Optimal, verified schedules for the scratchpad of a DNN accelerator."""
    if version:
        print_version()
    elif context.invoked_subcommand is None:
        print(context.get_help())
    else:
        context.default_map = default_map(context.command.commands)  # type: ignore[attr-defined]
    return 0


for part in (schedule, views, lists, place, tiles, sweep, tune):
    part.add(app)
_moved = {"ignore_unknown_options": True, "allow_extra_args": True}
app.command(hidden=True, context_settings=_moved)(study)
app.command(hidden=True, context_settings=_moved)(bench)
