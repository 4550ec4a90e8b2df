"""A proposed machine, with cores and batch, which are no machine settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from spmopt.core.machine import Machine
from spmopt.core.mappings import on_channel, waiting_cycles
from spmopt.core.operation import OpMapping
from spmopt.core.problem import Problem
from spmopt.graph.cycles import access_cycles
from spmopt.hardware.machines import override
from spmopt.hardware.scratchpad import bases_of
from spmopt.hardware.settings import Setting, to_settings
from spmopt.hardware.technology import Basis
from spmopt.search.axes import BESIDE
from spmopt.sweeps.cases import Network, lower_network

_FAST = 10**15
"""Bytes per second, beyond any DRAM."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A point of a space.

    Attributes
    ----------
    machine
        All of it: its rate of operations covers all cores, its array is one of ``cores``.
    cores
        Equal engines that share scratchpad and channel. Every operation is divided evenly among
        them, so that its computation takes the part, rounded up.
    batch
        In place of the networks' own; None: theirs.
    """

    machine: Machine
    cores: int = 1
    batch: int | None = None

    @staticmethod
    def of(base: Machine, values: Mapping[str, Setting]) -> Candidate:
        """Give ``base`` settings, ``cores`` and ``batch`` of a point.

        Raises
        ------
        InputError
            Settings that make no machine, as a scratchpad smaller than a page.
        """
        settings = {key: value for key, value in values.items() if key not in BESIDE}
        machine, cores = override(base, settings), int(values.get("cores", 1))
        batch = int(values["batch"]) if "batch" in values else None
        # Work outside the array scales with cores here; work of the array is divided in _divide.
        rate = machine.operations_per_s * cores
        vector = None if machine.vector is None else machine.vector.times(cores)
        blocks = None if machine.blocks is None else machine.blocks.times(cores)
        machine = replace(machine, operations_per_s=rate, vector=vector, blocks=blocks)
        if machine.array is None:
            machine = replace(machine, types=tuple(each.times(cores) for each in machine.types))
        return Candidate(machine=machine, cores=cores, batch=batch)

    @property
    def mac_units(self) -> int:
        """Multiply-accumulate units of all cores."""
        array = self.machine.array
        units = 0 if array is None else self.cores * array.rows * array.columns
        return max(units, self.machine.mac_units)

    @property
    def dram_bytes_per_s(self) -> int:
        """Bytes per second of the DRAM alone, without limits of banks."""
        memory = self.machine.memory
        return self.machine.dram_bytes_per_s if memory is None else memory.dram_bytes_per_s

    @property
    def is_held_back(self) -> bool:
        """Whether banks make the channel slower than the DRAM."""
        return self.machine.dram_bytes_per_s < self.dram_bytes_per_s

    @property
    def extrapolations(self) -> tuple[str, ...]:
        """Technologies whose figures are of a fit, beyond its points."""
        bases = bases_of(self.machine)
        return tuple(dict.fromkeys(name for name, one in bases if one is Basis.EXTRAPOLATED))

    @property
    def samples(self) -> int:
        """Divisor of figures of schedules: the batch, or 1 where the batch is not searched."""
        return self.batch or 1

    def problem(self, network: Network) -> Problem:
        """Lower ``network`` for this machine.

        Raises
        ------
        InputError
            A network that cannot be built or lowered.
        """
        return _lower(self, network)

    def record(self) -> dict[str, Setting]:
        """Write every setting, for people and files."""
        own = {"spm": self.machine.spm_bytes, **to_settings(self.machine)}
        settings = {key: value for key, value in own.items() if not key.endswith("source")}
        batch = {} if self.batch is None else {"batch": self.batch}
        return {**settings, "cores": self.cores, **batch}


# A trial is bounded in the parent and solved in the same process if there are no workers.
@lru_cache(maxsize=8)
def _lower(candidate: Candidate, network: Network) -> Problem:
    """Lower, and keep it to bound and to solve."""
    # The cache of _operations hits for all machines that differ in the channel alone.
    alike = replace(candidate, machine=_without_channel(candidate.machine))
    found = _operations(alike, network)
    return on_channel(found, replace(candidate.machine, costs=found.machine.costs))


def _without_channel(machine: Machine) -> Machine:
    """Make machines alike that differ in their DMA channel alone: of it lowering sees set-ups.

    Fast, so that no limit on cycles is in the way.
    """
    memory = machine.memory
    return replace(
        machine,
        dram_bytes_per_s=_FAST,
        dma_setup_cycles=min(1, machine.dma_setup_cycles),
        duplex=False,
        memory=None if memory is None else replace(memory, dram_bytes_per_s=_FAST),
    )


@lru_cache(maxsize=32)
def _operations(candidate: Candidate, network: Network) -> Problem:
    """Lower once in a process for all channels."""
    machine = candidate.machine
    if candidate.batch is not None:
        network = replace(network, batch=candidate.batch)
    lowered = lower_network(network, machine)
    if candidate.cores == 1 or machine.array is None:
        return lowered
    divided = tuple(
        replace(
            operation, mappings=tuple(_divide(mapping, candidate) for mapping in operation.mappings)
        )
        for operation in lowered.operations
    )
    return replace(lowered, operations=divided)


def _divide(mapping: OpMapping, candidate: Candidate) -> OpMapping:
    """Divide work of the array; other work is at the rate of all cores, banks are shared."""
    if not mapping.macs:
        return mapping
    access = access_cycles(candidate.machine, mapping.spm_read_bytes, mapping.spm_write_bytes)
    # Cores share the banks and the channel: accesses and waiting do not fall with their number.
    waiting = waiting_cycles(candidate.machine, mapping.waiting_bytes)
    cycles = max(-(-(mapping.compute_cycles - waiting) // candidate.cores), access) + waiting
    return replace(mapping, compute_cycles=cycles)
