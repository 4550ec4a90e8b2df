"""The commands that search machines, and show what a search has found."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Context, Option, Typer
from typer.core import TyperGroup

from spmopt.api import searches, tuning
from spmopt.cli.binding import COMMANDS, Call, command
from spmopt.cli.codes import Code
from spmopt.cli.options import MANY, Json, Networks, require_output
from spmopt.core.errors import InputError


class _Unnamed(Context):
    """That of ``search``, whose name nobody has to write."""

    @property
    def command_path(self) -> str:
        """What the usage line begins with."""
        return self.parent.command_path if self.parent else super().command_path


class SearchOrShow(TyperGroup):
    """``tune show`` shows; whatever else follows ``tune`` is for ``tune search``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put in the name of the command that is left out."""
        named = args[:1] in (["search"], ["show"])
        return list(super().parse_args(ctx, args if named else ["search", *args]))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of a name."""
        found = super().get_command(ctx, cmd_name)
        if found is not None and cmd_name == "search":
            found.context_class = _Unnamed
        return found


@command(Options=tuning.tune)
def search(
    *,
    call: Call,
    networks: Networks,
    space: Annotated[
        str | None,
        Option(
            help="Space: scratchpad, array, or a TOML file; default: ranges around the machine.",
            show_default=False,
        ),
    ] = None,
    storage: Annotated[
        str, Option(help="SQLite file, database URL, or journal:FILE; processes may share one.")
    ] = searches.STORAGE,
    workers: Annotated[
        int, Option(help="Number of processes that schedule; 0: schedule in this one.")
    ] = 1,
    json: Json = False,
) -> int:
    """Search machines for networks: schedules of each, verified, with certified bounds.

    'spmopt tune show' shows the front, what matters, and the schedule of any trial.
    """
    from spmopt.cli.terminal.output import exit_code
    from spmopt.cli.terminal.progress import watching

    with watching(remaining=True) as callbacks:
        found = call(
            tuning.tune, networks, space, storage=storage, workers=workers, callbacks=callbacks
        )
    interrupted = exit_code(found.left)
    shown = _show(found, json)
    return interrupted or shown


def _show(found: searches.HardwareSearch, as_json: bool) -> Code:
    """Print what was found, and return the exit code for it."""
    from spmopt.cli.terminal.output import emit, print_message

    found.require_feasible()
    emit(found, as_json)
    if found.front:
        return Code.OK
    print_message(found.never_held())
    return Code.NOTHING_FOUND


@command(Options=searches.read_search)
def show(
    *,
    call: Call,
    trial: Annotated[
        int | None, Option(help="Show this trial; with -o write its schedule.")
    ] = None,
    network: Annotated[
        str | None, Option(help="Whose schedule, where the study has several networks.")
    ] = None,
    shadow_prices: Annotated[
        bool, Option("--shadow-prices", help="Show what more scratchpad, bandwidth and PEs save.")
    ] = False,
    worth: Annotated[bool, Option("--worth", hidden=True)] = False,
    output: Annotated[
        Path | None,
        Option(
            "--output",
            "-o",
            help="CSV file for the front, or result file for the schedule of --trial; an existing "
            "one is replaced.",
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Show the Pareto front of a search, what matters, and the schedule of any trial."""
    from dataclasses import replace

    from spmopt.api.callbacks import QUIET
    from spmopt.cli.terminal.output import emit, print_message

    if trial is None and network is not None:
        raise InputError("--network: is for --trial; name one as well")
    if worth:
        print_message("note: --worth is deprecated; use --shadow-prices")
        shadow_prices = True
    if trial is not None and (shadow_prices or call.values["top"] is not None):
        option = "--shadow-prices" if shadow_prices else "--top"
        raise InputError(f"{option}: is for the front; leave --trial out")
    if trial is not None and output is not None and output.suffix.lower() == ".csv":
        raise InputError(f"-o {output}: a schedule is no table; name a file that ends in .json")
    if output is not None:
        require_output(output)
    found = call(searches.read_search)
    callbacks = replace(QUIET, progress=lambda message, part: print_message(message))
    if trial is None:
        code = _show(
            found.with_shadow_prices(callbacks=callbacks) if shadow_prices else found, json
        )
        if output is not None:
            found.save_csv(output)
        return code
    emit(found.trial(trial), json)
    if output is not None:
        found.solution(trial, network, callbacks=callbacks).save(output)
    return Code.OK


def _add(app: Typer) -> None:
    """Add the group of both commands."""
    group = Typer(cls=SearchOrShow, help="Search machines for networks; show what was found.")
    for name in ("search", "show"):
        COMMANDS[name](group)
    app.add_typer(group, name="tune", rich_help_panel=MANY)


COMMANDS["tune"] = _add
