"""The backward pass of a layer as an instance: tile products are operations, tiles are tensors.

Tiles of dY, X and W are in DRAM at the start, those of dX and dW must be there at the end. The
first product of a tile of dX or dW writes it blindly, every later one updates it in place, so
partial sums spill and return like any tensor. Sums commute: the first product is the only
predecessor of the later ones, which may run in any order.

Several cores run in lock-step: an operation is what they compute at the same time. It takes as long
as the longest of its products, and its operands are those of all of them, each once. A tile that
several cores sum has partial tiles (:mod:`spmopt.tiles.lockstep`), ordinary tensors that may spill;
an operation ``sum dW[k,j]`` adds them to it, element by element, with all cores at work.
"""

from __future__ import annotations

from spmopt.core.instance import Instance
from spmopt.core.machine import Machine
from spmopt.core.table import Ints
from spmopt.tiles.build import build
from spmopt.tiles.grid import Grid
from spmopt.tiles.program import Program


def backward(
    grid: Grid,
    machine: Machine,
    order: Ints,
    *,
    element_bytes: int = 4,
    resident: bool = True,
    add_early: bool = False,
) -> Instance:
    """Gradients of one layer in tiles; of several groups, one.

    Compute cycles are those of a product of the tile's size (:mod:`spmopt.graph.cycles`).

    Parameters
    ----------
    grid
        The layer in tiles.
    machine
        SPM, DRAM and array; of several cores, the SPM, DRAM and rate of all and the array of one
        (:func:`spmopt.tiles.cores.scaled`).
    order : (2 I K J,) or (I K J,), or (steps, cores)
        Numbers of the tile products, in the order of the operations: each of both gradients
        once, or each of dW once where dX is not needed. On several cores, those of every step,
        and ``IDLE`` for a core that has none.
    element_bytes
        Bytes of an element of every matrix; partial sums have no more.
    resident
        Whether an operation needs all its tiles in the SPM (stationary), as an array does that
        reads them several times; else it may also stream them, each once.
    add_early
        Whether the partial tiles of several cores are added to their tile in the step after its
        last product; else after all products, tile by tile.

    Raises
    ------
    InputError
        Not such an order, elements without bytes, or tiles of an operation that do not fit in the
        SPM.
    """
    program = Program.of(grid, machine, order, element_bytes=element_bytes, add_early=add_early)
    return build(program, computing="dW", resident=resident)
