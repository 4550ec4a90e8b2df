"""What is swept: networks and machines, sorted into sections of one problem each."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np

from spmopt.core.errors import InfeasibleError
from spmopt.core.graph import Graph
from spmopt.core.machine import Machine
from spmopt.core.mappings import fitting_mappings
from spmopt.core.order import depth_first, reorder
from spmopt.core.problem import Problem
from spmopt.core.table import Ints
from spmopt.frontends import zoo
from spmopt.frontends.networks import load_network
from spmopt.graph.preparation import LOWERINGS
from spmopt.graph.tileable import lower_listed
from spmopt.io.files import read_problem

Order = bytes | None
"""Operations in the order that they run in, as 64-bit integers; None: as listed."""


@dataclass(frozen=True, kw_only=True)
class Network:
    """A network as the command line names it; ``name`` may be a path, of a problem too.

    ``title`` is what rows call it where that is not its name.
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

    @property
    def is_lowered(self) -> bool:
        """Whether it is a stored problem."""
        return self.name.lower().endswith(".json")

    @property
    def label(self) -> str:
        """What rows call it."""
        return self.title or self.name

    @property
    def known_batch(self) -> int | None:
        """The batch size; None where only the file knows it."""
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


@dataclass(frozen=True, kw_only=True)
class Section:
    """Capacities (bytes) at which a case is the same problem but for ``spm_bytes``.

    ``infeasible`` are those too small for the required-resident operands and scratch of an
    operation.
    """

    case: SweepCase
    capacities: tuple[int, ...]
    infeasible: tuple[int, ...] = ()

    def problem(self, spm_bytes: int, order: Order = None) -> Problem:
        """The problem at a capacity; lowered once in a process, like its neighbors."""
        base = _base(self.case.network, self._machine(self.capacities[0]), order)
        return replace(base, machine=self._machine(spm_bytes))

    def order_name(self, order: Order) -> str:
        """``listed``, ``depth-first`` or ``other``."""
        if order is None:
            return "listed"
        machine = self._machine(self.capacities[0])
        return "depth-first" if order == _depth_first(self.case.network, machine) else "other"

    def usable_bytes(self, spm_bytes: int) -> int:
        """Bytes of whole pages."""
        page = self.case.machine.page_bytes
        return spm_bytes // page * page

    def _machine(self, spm_bytes: int) -> Machine:
        return replace(self.case.machine, spm_bytes=spm_bytes)


def sections(case: SweepCase, warn: Callable[[str], None]) -> tuple[Section, ...]:
    """Sort the capacities of a case by problem.

    What lowering makes of an operation depends on the capacity through whether it exceeds some
    sizes, and the number of fetches falls as it grows: where the problems of two capacities are
    the same, so are those between.

    Raises
    ------
    InputError
        The network cannot be built or lowered; ``warn`` is told what is doubtful about it.
    """
    _graph.cache_clear()
    if not case.network.is_lowered:
        _build(case.network, warn)
    capacities = sorted(case.capacities)

    def at(index: int) -> Problem:
        machine = replace(case.machine, spm_bytes=capacities[index])
        return _base(case.network, machine, None)

    def split(first: int, last: int) -> list[int]:
        """Where another problem begins after ``first``, up to ``last``."""
        if at(first).operations == at(last).operations:
            return []
        if last == first + 1:
            return [last]
        middle = (first + last) // 2
        return split(first, middle) + split(middle, last)

    begins = [0, *split(0, len(capacities) - 1), len(capacities)]
    parts = [capacities[a:b] for a, b in pairwise(begins)]
    return tuple(_section(case, part) for part in parts)


def order_of(operations: Ints) -> Order:
    """The order in which a schedule runs ``operations``."""
    listed = np.array_equal(operations, np.arange(operations.size))
    return None if listed else operations.astype(np.int64).tobytes()


def _section(case: SweepCase, capacities: Sequence[int]) -> Section:
    section = Section(case=case, capacities=tuple(capacities))

    def fits(spm_bytes: int) -> bool:
        try:
            fitting_mappings(section.problem(spm_bytes))
        except InfeasibleError:
            return False
        return True

    first = bisect_left(capacities, True, key=fits)
    return replace(section, infeasible=tuple(capacities[:first]))


@lru_cache(maxsize=8)
def _base(network: Network, machine: Machine, order: Order) -> Problem:
    if order is not None:
        listed = _base(network, machine, None)
        return reorder(listed, np.frombuffer(order, np.int64))
    if network.is_lowered:
        return replace(read_problem(Path(network.name)), machine=machine)
    return lower_listed(_graph(network), machine, mapper=network.mapper)


@lru_cache(maxsize=4)
def _depth_first(network: Network, machine: Machine) -> Order:
    return order_of(depth_first(_base(network, machine, None)))


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
