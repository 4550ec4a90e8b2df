"""The commands that list what there is."""

from __future__ import annotations

from typing import Annotated

from typer import Argument

from spmopt.api import lists
from spmopt.cli.binding import Call, command
from spmopt.cli.options import INPUTS, Json

_NAMED = "Names or TOML files; default: those of the program."


@command(INPUTS, quiet=False)
def networks(json: Json = False) -> None:
    """List the networks that come with the program."""
    _emit(lists.list_networks(), json)


@command(INPUTS, quiet=False)
def schedulers(json: Json = False) -> None:
    """List the schedulers, and explain their options."""
    _emit(lists.list_schedulers(), json)


@command(INPUTS, quiet=False)
def machines(
    machine: Annotated[list[str] | None, Argument(help=_NAMED)] = None, json: Json = False
) -> None:
    """List machines: size, rates, and the scratchpad's technology and area where known."""
    _emit(lists.list_machines(machine or ()), json)


@command(INPUTS, quiet=False, Options=lists.list_technologies)
def technologies(
    call: Call,
    names: Annotated[list[str] | None, Argument(metavar="TECHNOLOGY", help=_NAMED)] = None,
    json: Json = False,
) -> None:
    """List memory technologies, their figures at a capacity, or their fits."""
    _emit(call(lists.list_technologies, names or ()), json)


def _emit(listing: lists.Listing, as_json: bool) -> None:
    from spmopt.cli.terminal.output import emit

    emit(listing, as_json)
