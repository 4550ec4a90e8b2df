"""Named networks, built from code."""

from __future__ import annotations

from spmopt.frontends.zoo import (
    bert,
    branching,
    detection,
    gnmt,
    mobile,
    plain,
    recommendation,
    registry,
    residual,
    t5,
    transformer,
    yolo,
)
from spmopt.frontends.zoo.registry import Entry
from spmopt.graph.ir import Graph

_MODULES = (
    *(residual, plain, branching, mobile, detection, yolo),
    *(transformer, gnmt, bert, t5, recommendation),
)
ENTRIES: dict[str, Entry] = {entry.name: entry for module in _MODULES for entry in module.ENTRIES}


def names() -> list[str]:
    """Names of all networks."""
    return list(ENTRIES)


def entry(name: str) -> Entry:
    """Description, paper, default batch and parameters of a network.

    Raises
    ------
    InputError
        No such network; suggests the closest.
    """
    return registry.find(ENTRIES, name)


def network(name: str, *, batch: int | None = None, **parameters: int) -> Graph:
    """Forward graph of a network in FP32.

    Parameters
    ----------
    name
        One of :func:`names`.
    batch
        Batch size; by default the entry's.
    parameters
        Integers that the entry lists, for example ``steps``, ``layers``, ``sequence``.

    Raises
    ------
    InputError
        An unknown name or parameter, or a value that does not suit the network.
    """
    return registry.build(entry(name), batch, parameters)
