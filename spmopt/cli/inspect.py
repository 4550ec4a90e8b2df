"""The command that shows the content of a network before it is scheduled."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from spmopt.api import inspecting
from spmopt.cli.options import LoadOptions, Network, Printing
from spmopt.core.errors import InputError


def inspect(
    network: Network,
    /,
    *,
    top: int = 10,
    every: Annotated[bool, Parameter(name="--all")] = False,
    load: LoadOptions = LoadOptions(),
    printing: Printing = Printing(),
) -> None:
    """Show inputs, operators, layer sizes and peak activations of a network.

    Open dimensions and operators without a rule come with the options to paste.

    Parameters
    ----------
    top
        Number of layers to show, by multiply-accumulate operations.
    every
        Show all layers, in the given order.
    """
    from spmopt.cli.terminal.output import emit
    from spmopt.cli.terminal.progress import watching

    if top < 1:
        raise InputError(f"--top {top}: must be at least 1")
    with watching() as callbacks:
        shown = None if every else top
        found = inspecting.inspect(network, **vars(load), top=shown, callbacks=callbacks)
    emit(found, printing.json)
