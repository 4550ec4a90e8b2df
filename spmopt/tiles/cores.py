"""Several cores: which tile product each of them computes in every step.

Cores run in lock-step (an assumption; Kim et al., MICRO 2023, sections 5 and 6.3, say only that
partitions run concurrently): a step ends when the last core is done, and the next begins. They
share one SPM and one DRAM channel, so a tile that several of them read is there once. Pieces of a
partition are dealt to the cores in turn; a core that has no products left is idle.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.machine import Machine
from spmopt.core.table import Ints
from spmopt.tiles.grid import Grid
from spmopt.tiles.lockstep import IDLE
from spmopt.tiles.order import ORDERS
from spmopt.tiles.partition import OrderOf, Partition, orders_of_pieces


def on_cores(
    grid: Grid, partition: Partition, order: OrderOf, cores: int, *, input_gradient: bool = True
) -> Ints:
    """Return the tile products of every step: piece c on core c, then c + ``cores``, and so on.

    Parameters
    ----------
    grid
        The layer in tiles.
    order
        For every piece, or a function that chooses by the piece's sizes.
    input_gradient
        Whether dX is computed.

    Returns
    -------
    Ints
        (steps, cores) Numbers of tile products, ``IDLE`` where a core has none; see
        :func:`~spmopt.tiles.backward.backward`.
    """
    _require_cores(cores)
    own = orders_of_pieces(grid, partition, order, input_gradient=input_gradient)
    return dealt(own, cores)


def dealt(own: list[Ints], cores: int) -> Ints:
    """(steps, cores) The tile products of pieces, each piece's in order, dealt to the cores."""
    queues = [np.concatenate(own[core::cores]) for core in range(min(cores, len(own)))]
    steps = np.full((max(map(len, queues)), cores), IDLE, np.int64)
    for core, queue in enumerate(queues):
        steps[: queue.size, core] = queue
    return steps


def baseline(grid: Grid, cores: int, *, input_gradient: bool = True) -> Ints:
    """Return the steps that the paper's techniques are compared with: data parallel, sequential.

    Each core has its share of the batch (a cut along M, "common for GEMM": section 5) and computes
    dX, then dW, which is a sum over the cores. The paper calls its baseline a vanilla system
    with the same number of cores; that it cuts along M is an assumption. One core has no cut.
    """
    cut = Partition(axis="m", parts=cores)
    return on_cores(grid, cut, ORDERS["sequential"], cores, input_gradient=input_gradient)


def scaled(machine: Machine, cores: int) -> Machine:
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
        energy=replace(energy, leakage_w=cores * energy.leakage_w),
        area=replace(machine.area, engine_mm2=cores * machine.area.engine_mm2),
        memory=None if machine.memory is None else machine.memory.times(cores),
    )


def _require_cores(cores: int) -> None:
    if cores < 1:
        raise InputError(f"{cores} cores; give at least 1")
