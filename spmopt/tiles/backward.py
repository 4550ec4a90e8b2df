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

from dataclasses import replace

from spmopt.core.errors import InputError
from spmopt.core.instance import Instance, Tensor
from spmopt.core.machine import Machine
from spmopt.core.table import Ints
from spmopt.tiles.grid import Grid
from spmopt.tiles.lockstep import Lockstep, Sums
from spmopt.tiles.matrices import Tiles
from spmopt.tiles.operations import Work


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
    if element_bytes < 1:
        raise InputError(
            f"layer {grid.layer.name}: elements of {element_bytes} bytes; give at least 1"
        )
    products = Lockstep.of(grid, order)
    tiles = Tiles.of(grid, products.gradients, element_bytes)
    operands = tiles.operands(grid, products.product)
    sums = Sums.of(products, operands[:, 2], tiles.count)
    tensors = _tensors(tiles, sums)
    work = Work(
        grid=grid,
        machine=machine,
        products=products,
        sums=sums,
        tensors=tensors,
        element_bytes=element_bytes,
        resident=resident,
    )
    instance = Instance(
        name=grid.layer.name,
        machine=machine,
        tensors=tensors,
        operations=work.operations(operands, add_early),
        lowering="tiles",
        source=_source(grid, element_bytes, products.cores),
    )
    if resident:
        _require_room(grid, instance)
    return instance


def _tensors(tiles: Tiles, sums: Sums) -> tuple[Tensor, ...]:
    """Tiles, then partial tiles, named ``dW@1[k,j]`` for that of core 1."""
    whole = tiles.tensors()
    partial = []
    for number, core in zip(sums.tile.tolist(), sums.core.tolist(), strict=True):
        tile = whole[number]
        partial.append(replace(tile, name=tile.name.replace("[", f"@{core}["), keep=False))
    return (*whole, *partial)


def _source(grid: Grid, element_bytes: int, cores: int) -> str:
    layer, tile = grid.layer, grid.tile
    return (
        f"gradients of a product, M {layer.m}, K {layer.k}, N {layer.n}, in tiles of {tile.m}, "
        f"{tile.k}, {tile.n}, elements of {element_bytes} bytes"
    ) + (f", on {cores} cores" if cores > 1 else "")


def _require_room(grid: Grid, instance: Instance) -> None:
    page, tile = instance.machine.page_bytes, grid.tile
    pages = [-(-tensor.size_bytes // page) for tensor in instance.tensors]
    needs = [sum(pages[t] for t in operation.tensors) for operation in instance.operations]
    most, room = max(needs), instance.machine.spm_pages
    if most > room:
        operation = instance.operations[needs.index(most)]
        raise InputError(
            f"layer {grid.layer.name}: tiles of m {tile.m}, k {tile.k}, n {tile.n} need "
            f"{most * page} bytes of SPM at once, in pages of {page}, for {operation.name}, but "
            f"there are {room * page}; give smaller tiles or a larger --spm"
        )
