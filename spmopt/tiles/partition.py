"""Partitions: a layer cut into smaller ones, computed one after another, or on several cores.

J. Kim et al., "Improving Data Reuse in NPU On-chip Memory with Interleaved Gradient Order for DNN
Training", MICRO 2023, section 5. A cut

* along M (their weight-sharing) makes tiles of dX independent, those of dW sums over sub-layers;
* along N (dY-sharing) makes those of dW independent, those of dX sums over all sub-layers;
* along K (ifmap-sharing) makes both independent, and all sub-layers read all of dY.

A sub-layer is whole rows of tiles; sub-layers are as equal as that lets them be, the longer ones
first. A layer with fewer tiles along the axis than parts is cut into one sub-layer a row of tiles.
As text, a partition is ``m/2``, ``k/2`` or ``n/2``.

Cores run in lock-step (an assumption; sections 5 and 6.3 say only that partitions run
concurrently): a step ends when the last core is done, and the next begins. They share one SPM and
one DRAM channel, so a tile that several of them read is there once. Pieces are dealt to the cores
in turn; a core that has no products left is idle.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.machine import Machine
from spmopt.core.table import Ints
from spmopt.tiles.layer import Layer, TileGrid
from spmopt.tiles.order import Order
from spmopt.tiles.program import IDLE

AXIS_NAMES = ("m", "k", "n")
_PARTITION = re.compile(r"([mkn])/([0-9]{1,9})")

OrderOf = Order | Callable[[Layer], Order]
"""An order for every sub-layer, or a function that chooses one by the sizes of a sub-layer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """A cut into ``parts`` along ``axis``: ``m``, ``k`` or ``n``; one part is no cut."""

    axis: str
    parts: int

    def __post_init__(self) -> None:
        if self.axis not in AXIS_NAMES:
            raise InputError(f"partition: axis {self.axis!r} is unknown; use m, k or n")
        if self.parts < 1:
            raise InputError(f"partition: {self.parts} parts; give at least 1")

    def __str__(self) -> str:
        return f"{self.axis}/{self.parts}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SubLayer:
    """Rows of tiles of ``whole`` from ``first`` on along ``axis`` (0: M, 1: K, 2: N)."""

    whole: TileGrid
    axis: int
    first: int
    grid: TileGrid

    def numbers(self, products: Ints) -> Ints:
        """Return the numbers in ``whole`` of tile products numbered in the sub-layer's ``grid``."""
        place = list(self.grid.indices(products))
        place[self.axis] = place[self.axis] + self.first
        i, k, j = place
        _, inner, columns = self.whole.shape
        numbers: Ints = (i * inner + k) * columns + j
        return numbers + self.whole.products * (products // self.grid.products)


def sub_layers(grid: TileGrid, partition: Partition) -> tuple[SubLayer, ...]:
    """Cut ``grid``; there are at most as many sub-layers as tiles along the axis."""
    axis, found, first = AXIS_NAMES.index(partition.axis), [], 0
    for side in np.array_split(grid.sides[axis], make(grid, partition).parts):
        m, k, n = (
            int(side.sum()) if a == axis else size for a, size in enumerate(grid.layer.sizes)
        )
        # It numbers products alone; sizes of tiles are those of the whole layer, with its window.
        own = replace(grid, layer=replace(grid.layer, m=m, k=k, n=n, window=None))
        found.append(SubLayer(whole=grid, axis=axis, first=first, grid=own))
        first += side.size
    return tuple(found)


def make(grid: TileGrid, partition: Partition) -> Partition:
    """Return the partition with as many parts as :func:`sub_layers` makes."""
    most = grid.shape[AXIS_NAMES.index(partition.axis)]
    return replace(partition, parts=min(partition.parts, most))


def partition(
    grid: TileGrid, partition: Partition, order: OrderOf, *, input_gradient: bool = True
) -> Ints:
    """Return the order of all tile products on one core: that of the sub-layers, one after another.

    Sums over the sub-layers go on in the same tiles of dX or dW. Parameters are those of
    :func:`on_cores`; the result is (2 I K J,) a permutation, or (I K J,) the products of dW alone.
    """
    return on_cores(grid, partition, order, 1, input_gradient=input_gradient)[:, 0]


def on_cores(
    grid: TileGrid, partition: Partition, order: OrderOf, cores: int, *, input_gradient: bool = True
) -> Ints:
    """Return the tile products of every step: sub-layer c on core c, then c + ``cores``, and so on.

    Parameters
    ----------
    grid
        The layer in tiles, I K J products for each gradient.
    order
        For every sub-layer, or a function that chooses by the sub-layer's sizes (algorithm 1 does).
    input_gradient
        Whether dX is computed.

    Returns
    -------
    Ints
        (steps, cores) Numbers of tile products, ``IDLE`` where a core has none; see
        :func:`~spmopt.tiles.fetches.backward`.
    """
    _require_cores(cores)

    @cache  # most sub-layers are equal
    def walk(part: TileGrid) -> Ints:
        own = order if isinstance(order, Order) else order(part.layer)
        return own.through(part, input_gradient=input_gradient)

    return deal([each.numbers(walk(each.grid)) for each in sub_layers(grid, partition)], cores)


def deal(own: list[Ints], cores: int) -> Ints:
    """(steps, cores) Deal the tile products of sub-layers, each in order, to the cores."""
    queues = [np.concatenate(own[core::cores]) for core in range(min(cores, len(own)))]
    steps = np.full((max(map(len, queues)), cores), IDLE, np.int64)
    for core, queue in enumerate(queues):
        steps[: queue.size, core] = queue
    return steps


def scale(machine: Machine, cores: int) -> Machine:
    """Return the machine of ``cores`` times ``machine``: SPM, DRAM bandwidth, rate and leakage.

    Kim et al., section 6.3; areas follow. Batches grow as well there, which is up to the layer.
    ``array`` is that of one core.
    """
    _require_cores(cores)
    if cores == 1:
        return machine
    energy = machine.energy
    return replace(
        machine,
        name=f"{machine.name}-x{cores}",
        spm_bytes=cores * machine.spm_bytes,
        dram_bytes_per_s=cores * machine.dram_bytes_per_s,
        operations_per_s=cores * machine.operations_per_s,
        types=tuple(typed.times(cores) for typed in machine.types),
        blocks=None if machine.blocks is None else machine.blocks.times(cores),
        vector=None if machine.vector is None else machine.vector.times(cores),
        energy=replace(energy, leakage_w=cores * energy.leakage_w),
        area=replace(machine.area, engine_mm2=cores * machine.area.engine_mm2),
        memory=None if machine.memory is None else machine.memory.times(cores),
    )


def parse_partition(text: str) -> Partition:
    """Read ``m/2``, as ``str`` writes it.

    Raises
    ------
    InputError
        It is no partition.
    """
    found = _PARTITION.fullmatch(text)
    if found is None:
        raise InputError(f"partition {text!r}: write m/2, k/2 or n/2 for two parts")
    return Partition(axis=found[1], parts=int(found[2]))


def _require_cores(cores: int) -> None:
    if cores < 1:
        raise InputError(f"{cores} cores; give at least 1")
