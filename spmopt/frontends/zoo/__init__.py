"""Named networks, built from code: ``networks.toml`` lists them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files

from spmopt.core.errors import InputError, unknown
from spmopt.core.graph import Graph
from spmopt.frontends.zoo.layers import NetworkBuilder


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkEntry:
    """One network of the zoo.

    ``build`` is a ``module:function`` of this package that takes a builder, the batch size and all
    ``parameters`` by name, defaults filled in, and returns the outputs.
    """

    name: str
    description: str
    paper: str
    batch: int
    parameters: Mapping[str, int]
    build: str


_TEXT = files("spmopt.frontends.zoo").joinpath("networks.toml").read_text(encoding="utf-8")
ENTRIES = {name: NetworkEntry(name=name, **table) for name, table in tomllib.loads(_TEXT).items()}


def names() -> list[str]:
    """Return the names of all networks."""
    return list(ENTRIES)


def entry(name: str) -> NetworkEntry:
    """Return the description, paper, default batch and parameters of a network.

    Raises
    ------
    InputError
        No such network; suggests the closest.
    """
    if name not in ENTRIES:
        raise unknown("network", name, ENTRIES)
    return ENTRIES[name]


def network(name: str, *, batch: int | None = None, **parameters: int) -> Graph:
    """Build the forward graph of a network in FP32.

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
        An unknown name or parameter, or a value that is too small (a switch may be 0, all else
        from 1) or does not suit the network.
    """
    found = entry(name)
    chosen = dict(found.parameters)
    for key, value in parameters.items():
        if key not in chosen:
            raise unknown(f"parameter of {name}", key, chosen)
        chosen[key] = _at_least(min(1, chosen[key]), name, key, value)
    size = found.batch if batch is None else _at_least(1, name, "batch", batch)
    module, _, function = found.build.partition(":")
    build = getattr(import_module(f"spmopt.frontends.zoo.{module}"), function)
    net = NetworkBuilder(name)
    return net.finish(build(net, size, **chosen))


def _at_least(least: int, network: str, name: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(
            f"network {network}: {name} must be an integer of at least {least}, is {value}"
        )
    return value
