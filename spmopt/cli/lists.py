"""The commands that list what there is."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Typer

from spmopt.api import lists
from spmopt.cli.binding import Call, command
from spmopt.cli.codes import Code
from spmopt.cli.options import INPUTS, Json


def add(app: Typer) -> None:
    """Add the commands."""
    for function in (networks, schedulers, machines):
        command(app, panel=INPUTS, quiet=False)(function)
    command(app, panel=INPUTS, quiet=False, Options=lists.list_technologies)(technologies)


def networks(json: Json = False) -> int:
    """List the networks that come with the program."""
    return _emit(lists.list_networks(), json)


def schedulers(json: Json = False) -> int:
    """List the schedulers, and explain their options."""
    return _emit(lists.list_schedulers(), json)


def machines(
    machine: Annotated[
        list[str] | None, Argument(help="Names or TOML files; default: those of the program.")
    ] = None,
    json: Json = False,
) -> int:
    """List machines: size, rates, and the scratchpad's technology and area where known."""
    return _emit(lists.list_machines(machine or ()), json)


def technologies(
    call: Call,
    names: Annotated[
        list[str] | None,
        Argument(metavar="TECHNOLOGY", help="Names or TOML files; default: those of the program."),
    ] = None,
    json: Json = False,
) -> int:
    """List memory technologies, their figures at a capacity, or their fits."""
    return _emit(call(lists.list_technologies, names or ()), json)


def _emit(listing: lists.Listing, as_json: bool) -> int:
    from spmopt.cli.terminal.output import emit

    emit(listing, as_json)
    return Code.OK
