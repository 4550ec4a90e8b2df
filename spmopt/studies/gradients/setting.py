"""Machine, batch and what the paper leaves open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from math import isqrt

from spmopt.core.machine import Machine
from spmopt.frontends import zoo
from spmopt.hardware.machines import load_machine
from spmopt.studies.gradient_networks import PAPER_NETWORKS, PaperNetwork
from spmopt.tiles.layer import Layer, Tile
from spmopt.tiles.networks import first_layers, layers_of
from spmopt.tiles.partition import scaled


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Under which conditions gradients are computed.

    Attributes
    ----------
    name
        Of the setting, in the rows.
    machine
        Preset.
    cores, bandwidth, batch
        Cores; share of the preset's DRAM bandwidth; samples a core, None for the paper's.
    element_bytes, dataflow
        Of every matrix; of the array.
    reuse
        Of double buffering, in the schedules.
    add_early
        See :func:`spmopt.tiles.passes.backward`.
    tiles
        ``own``: every technique has the best tile for it; ``baseline``: that for the baseline;
        ``square``: as many rows and columns along M, K and N as multiples of the array that let
        three such tiles fit in half of the scratchpad.
    """

    name: str
    machine: str
    cores: int = 1
    bandwidth: Fraction = Fraction(1)
    batch: int | None = None
    element_bytes: int = 4
    dataflow: str = "os"
    reuse: str = "shared"
    add_early: bool = False
    tiles: str = "own"

    def hardware(self) -> Machine:
        """All cores together."""
        machine = load_machine(self.machine)
        if machine.array is not None:
            machine = replace(machine, array=replace(machine.array, dataflow=self.dataflow))
        rate = int(machine.dram_bytes_per_s * self.bandwidth)
        return scaled(replace(machine, dram_bytes_per_s=rate), self.cores)

    def square(self) -> Tile:
        """The tile of ``square``; one core's share of the scratchpad."""
        machine = load_machine(self.machine)
        unit = max(machine.array.rows, machine.array.columns) if machine.array else 1
        room = machine.spm_bytes // (2 * 3 * self.element_bytes)
        side = max(unit, isqrt(room) // unit * unit)
        return Tile(m=side, k=side, n=side)

    def networks(self) -> tuple[PaperNetwork, ...]:
        """The paper's networks on this machine."""
        return tuple(network for network in PAPER_NETWORKS if network.machine == self.machine)

    def layers(self, network: PaperNetwork) -> tuple[Counted, ...]:
        """Layers of a network at this batch size, equal ones together."""
        batch = self.cores * (self.batch or network.batch)
        return counted(network.name, batch, network.parameters)

    def scheduler(self, replacement: str) -> str:
        """A replacement with its options."""
        if replacement == "double-buffer" and self.reuse != "shared":
            return f"{replacement}:reuse={self.reuse}"
        return replacement


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Layers of a size.

    Attributes
    ----------
    count
        How many there are.
    number
        Of the first of them in its network, from 1 on.
    input_gradient
        Whether their dX is needed.
    """

    layer: Layer
    count: int
    number: int
    input_gradient: bool


@cache
def counted(
    name: str, batch: int, parameters: tuple[tuple[str, int], ...] = ()
) -> tuple[Counted, ...]:
    """Layers of a network of the zoo; those without dX are apart from the others."""
    graph = zoo.network(name, batch=batch, **dict(parameters))
    return alike(layers_of(graph), first_layers(graph))


def alike(layers: Sequence[Layer], first: frozenset[str]) -> tuple[Counted, ...]:
    """Put layers of the same size together; ``first`` are the names of those without dX."""
    found: dict[tuple[int, int, int, int, bool], Counted] = {}
    for number, layer in enumerate(layers, start=1):
        size = (layer.m, layer.k, layer.n, layer.groups, layer.name in first)
        one = Counted(layer=layer, count=0, number=number, input_gradient=layer.name not in first)
        known = found.get(size, one)
        found[size] = replace(known, count=known.count + 1)
    return tuple(found.values())
