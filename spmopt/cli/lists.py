"""The commands that list networks, schedulers, machines and memory technologies."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from spmopt.api import lists
from spmopt.cli.options import Options

_Named = Annotated[tuple[str, ...], Parameter(help="Names or TOML files; default: all built in.")]
_Json = Annotated[bool, Parameter(help="Print JSON.")]


class TechnologyOptions(Options, of=lists.list_technologies):
    """Options of a list of technologies."""


def networks(*, json: _Json = False) -> None:
    """List the networks that are built in."""
    _emit(lists.list_networks(), json)


def schedulers(*, json: _Json = False) -> None:
    """List the schedulers and their options."""
    _emit(lists.list_schedulers(), json)


def machines(machines: _Named = (), /, *, json: _Json = False) -> None:
    """List machines: size, rates, and the scratchpad's technology and area where known."""
    _emit(lists.list_machines(machines), json)


def technologies(
    technologies: _Named = (),
    /,
    *,
    options: TechnologyOptions = TechnologyOptions(),
    json: _Json = False,
) -> None:
    """List memory technologies, or their figures at a capacity."""
    _emit(lists.list_technologies(technologies, **vars(options)), json)


def _emit(listing: lists.Listing, as_json: bool) -> None:
    from spmopt.cli.terminal.output import emit

    emit(listing, as_json)
