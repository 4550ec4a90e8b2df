"""What names on the pages stand for: networks, batch sizes, the ideal order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spmopt.studies.gradient_networks import BATCHES, PAPER_NETWORKS, PaperNetwork
from spmopt.studies.gradients.paper import TITLES
from spmopt.studies.gradients.technique import IDEAL, IDEAL_ORDERS
from spmopt.studies.rows import Rows
from spmopt.studies.words import listing

IDEAL_NOTE = (
    f"*{IDEAL}*: for each layer the fastest of the orders {listing(list(IDEAL_ORDERS))} under "
    "double buffering, each with its best tile, in place of the one that algorithm 1 chooses."
)
BATCH_SIZES = "batch " + listing([f"{size} ({TITLES[name]})" for name, size in BATCHES.items()])
"""The paper's, on each machine."""


def networks_note(machines: Sequence[str], abbreviations: Sequence[str]) -> str:
    """Networks of the paper's figures as networks of the zoo."""
    known = [each for each in PAPER_NETWORKS if each.machine in machines]
    told = []
    for abbreviation in abbreviations:
        own = {each.machine: _name(each) for each in known if each.abbreviation == abbreviation}
        told.append(f"{abbreviation} is {_on_machines(own)}")
    return (
        f"Networks have the paper's abbreviations; in `spmopt networks` {'; '.join(told)}. Where "
        "sizes differ from the paper's table is said in `spmopt/studies/gradient_networks.py`."
    )


def networks_of(rows: Rows) -> str:
    """:func:`networks_note` of all networks that rows have."""
    return networks_note(rows.texts("machine"), rows.texts("network"))


def _name(network: PaperNetwork) -> str:
    given = "".join(f" --param {name}={value}" for name, value in network.parameters)
    return f"`{network.name}{given}`"


def _on_machines(names: Mapping[str, str]) -> str:
    if len(set(names.values())) == 1:
        return next(iter(names.values()))
    return listing([f"{name} ({TITLES[machine]})" for machine, name in names.items()])
