"""The command that tells what each decision about a network is worth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from spmopt.api import stories, views
from spmopt.cli.binding import Call, command
from spmopt.cli.options import SCHEDULES, Json, Network, OptionalOutput, require_output
from spmopt.cli.schedule import BUILT, exit_code, scheduled

if TYPE_CHECKING:
    from spmopt.api.callbacks import Callbacks
    from spmopt.core.instance import Instance

_Keep = Annotated[
    Path | None,
    Option(
        "--keep",
        help="Folder to write a result file of each schedule to, e.g. start.json, pieces.json; "
        "those there are replaced.",
    ),
]


@command(SCHEDULES, without=("order",), Search=stories.story, **BUILT)
def story(
    call: Call,
    network: Network,
    output: OptionalOutput = None,
    keep: _Keep = None,
    json: Json = False,
) -> int:
    """Tell what each decision is worth: greedy rules, residency, pieces, order.

    From everything in DRAM to the best schedule, each step verified, with its certified bound.
    With -o a page (HTML) of it: a waterfall, rooflines, a table.
    """
    from spmopt.cli.terminal.output import emit, print_message

    if output is not None:
        views.require_page(output)
        require_output(output)
    if keep is not None:
        require_output(keep / "start.json", (), "--keep")

    def run(instance: Instance, callbacks: Callbacks) -> stories.Story:
        return call(stories.story, instance, callbacks=callbacks)

    with scheduled(call, network, run) as (found, stopped):
        emit(found, json)
        if keep is not None:
            found.save_solutions(keep)
        if output is not None:
            page = views.report(found)
            page.save(output)
            print_message(f"{output}: {page.title}")
        return exit_code([each.result for each in found.decisions], stopped())
