"""Cases of a sweep: networks and machines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from spmopt.core.graph import Graph
from spmopt.core.machine import Machine
from spmopt.core.problem import Problem
from spmopt.frontends import zoo
from spmopt.frontends.networks import load_network
from spmopt.graph.preparation import LOWERINGS
from spmopt.graph.tileable import lower_listed
from spmopt.io.costs import at_costs
from spmopt.io.files import read_problem


@dataclass(frozen=True, kw_only=True)
class Network:
    """A network as the command line names it; ``name`` may be a path, of a problem too.

    ``title`` is its name in rows where that differs from ``name``, ``costs`` a file of costs.
    """

    name: str
    title: str = ""
    training: bool = False
    batch: int | None = None
    optimizer: str | None = None
    dtype: str | None = None
    parameters: tuple[tuple[str, int], ...] = ()
    assume_pointwise: bool = False
    operators: str | None = None
    mapper: str = LOWERINGS[0]
    costs: str | None = None

    @property
    def is_lowered(self) -> bool:
        """Whether it is a stored problem."""
        return self.name.lower().endswith(".json")

    @property
    def label(self) -> str:
        """Name in rows."""
        return self.title or self.name

    @property
    def batch_size(self) -> int | None:
        """The batch size; None where only the file knows it."""
        # Networks of the program have default batch sizes; those of files are in the files.
        if self.batch is None and self.name in zoo.names():
            return zoo.entry(self.name).batch
        return self.batch


@dataclass(frozen=True, kw_only=True)
class SweepCase:
    """A network and a machine with several capacities; ``extra`` are other settings swept."""

    network: Network
    machine: Machine
    capacities: tuple[int, ...]
    extra: tuple[tuple[str, str], ...] = ()


@lru_cache(maxsize=8)
def lower_network(network: Network, machine: Machine) -> Problem:
    """Return the problem of a network on a machine, lowered once in a process.

    Raises
    ------
    InputError
        The network cannot be built or lowered.
    """
    return _lower(network, machine, lambda _: None)


def _lower(network: Network, machine: Machine, warn: Callable[[str], None]) -> Problem:
    if network.is_lowered:
        # The cycles of a stored problem are fixed; sweeps check that the machine keeps them.
        found = replace(read_problem(Path(network.name)), machine=machine)
    else:
        found = lower_listed(_graph(network), machine, mapper=network.mapper)
    return found if network.costs is None else at_costs(found, network.costs, warn)


def network_warnings(network: Network, machine: Machine) -> tuple[str, ...]:
    """Return warnings about a network and its costs; raises as :func:`lower_network`."""
    texts: list[str] = []
    if not network.is_lowered:
        _build(network, texts.append)
    if network.costs is not None:
        _lower(network, machine, texts.append)
    return tuple(dict.fromkeys(texts))


@lru_cache(maxsize=16)
def _graph(network: Network) -> Graph:
    return _build(network, lambda _: None)


def _build(network: Network, warn: Callable[[str], None]) -> Graph:
    return load_network(
        network.name,
        batch=network.batch,
        training=network.training,
        optimizer=network.optimizer,
        dtype=network.dtype,
        assume_pointwise=network.assume_pointwise,
        operators=network.operators,
        warn=warn,
        **dict(network.parameters),
    )
