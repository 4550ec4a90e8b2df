"""The list of networks, and building one by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from spmopt.core.errors import InputError, unknown
from spmopt.graph.ir import Graph

Build = Callable[[str, int, Mapping[str, int]], Graph]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One network of the zoo.

    ``build`` takes the name, the batch size and all ``parameters``, defaults filled in.
    """

    name: str
    description: str
    paper: str
    batch: int
    parameters: Mapping[str, int]
    build: Build


def find(entries: Mapping[str, Entry], name: str) -> Entry:
    """Entry called ``name``.

    Raises
    ------
    InputError
        No such network; suggests the closest.
    """
    entry = entries.get(name)
    if entry is None:
        raise unknown("network", name, entries)
    return entry


def build(entry: Entry, batch: int | None, parameters: Mapping[str, int]) -> Graph:
    """Forward graph of ``entry`` with some parameters changed.

    Raises
    ------
    InputError
        An unknown parameter, or one that is too small (a switch may be 0, all else from 1).
    """
    chosen = dict(entry.parameters)
    for name, value in parameters.items():
        if name not in chosen:
            raise unknown(f"parameter of {entry.name}", name, chosen)
        chosen[name] = _at_least(min(1, chosen[name]), entry.name, name, value)
    size = entry.batch if batch is None else _at_least(1, entry.name, "batch", batch)
    return entry.build(entry.name, size, chosen)


def _at_least(least: int, network: str, name: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(
            f"network {network}: {name} must be an integer of at least {least}, is {value}"
        )
    return value
