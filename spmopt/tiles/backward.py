"""The backward pass of a layer as an instance: tile products are operations, tiles are tensors.

Tiles of dY, X and W are in DRAM at the start, those of dX and dW must be there at the end. The
first product of a tile of dX or dW writes it blindly, every later one updates it in place, so
partial sums spill and return like any tensor. Sums commute: the first product is the only
predecessor of the later ones, which may run in any order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.instance import Instance, Operation
from spmopt.core.machine import Machine
from spmopt.core.table import Bools, Ints
from spmopt.tiles.grid import Grid
from spmopt.tiles.matrices import AXES, INPUTS, Costs, ModeOf, Tiles


def backward(
    grid: Grid,
    machine: Machine,
    order: Ints,
    *,
    element_bytes: int = 4,
    resident: bool = True,
) -> Instance:
    """Gradients of one layer in tiles; of several groups, one.

    Compute cycles are those of a product of the tile's size (:mod:`spmopt.graph.cycles`).

    Parameters
    ----------
    grid
        The layer in tiles.
    machine
        SPM, DRAM and array.
    order : (2 I K J,) or (I K J,)
        Numbers of the tile products, in the order of the operations: each of both gradients
        once, or each of dW once where dX is not needed.
    element_bytes
        Bytes of an element of every matrix; partial sums have no more.
    resident
        Whether an operation needs its three tiles in the SPM (stationary), as an array does that
        reads them several times; else it may also stream them, each once.

    Raises
    ------
    InputError
        Not such an order, elements without bytes, or three tiles that do not fit in the SPM.
    """
    if element_bytes < 1:
        raise InputError(
            f"layer {grid.layer.name}: elements of {element_bytes} bytes; give at least 1"
        )
    gradients = _gradients(grid, order)
    if resident:
        _require_room(grid, machine, gradients, element_bytes)
    tiles = Tiles.of(grid, gradients, element_bytes)
    costs = Costs(machine=machine, element_bytes=element_bytes, resident=resident)
    return Instance(
        name=grid.layer.name,
        machine=machine,
        tensors=tiles.tensors(),
        operations=_operations(grid, order, tiles, costs.modes()),
        lowering="tiles",
        source=_source(grid, element_bytes),
    )


def _source(grid: Grid, element_bytes: int) -> str:
    layer, tile = grid.layer, grid.tile
    return (
        f"gradients of a product, M {layer.m}, K {layer.k}, N {layer.n}, in tiles of {tile.m}, "
        f"{tile.k}, {tile.n}, elements of {element_bytes} bytes"
    )


def _gradients(grid: Grid, order: Ints) -> tuple[str, ...]:
    """Those that ``order`` computes; an error unless it names each of their products once."""
    first = 0 if order.size == 2 * grid.products else grid.products
    if not np.array_equal(np.sort(order, axis=None), np.arange(first, 2 * grid.products)):
        raise InputError(
            f"layer {grid.layer.name}: the order must name each of the {grid.products} tile "
            "products of dX and of dW once, or those of dW alone"
        )
    return ("dW",) if first else ("dX", "dW")


def _require_room(
    grid: Grid, machine: Machine, gradients: Sequence[str], element_bytes: int
) -> None:
    page, tile = machine.page_bytes, [int(sides[0]) for sides in grid.sides]
    for gradient in gradients:
        matrices = (*INPUTS[gradient], gradient)
        elements = [tile[rows] * tile[columns] for rows, columns in map(AXES.__getitem__, matrices)]
        need = sum(-(-count * element_bytes // page) for count in elements)
        if need > machine.spm_pages:
            raise InputError(
                f"layer {grid.layer.name}: tiles of m {tile[0]}, k {tile[1]}, n {tile[2]} need "
                f"{need * page} bytes of SPM for {', '.join(matrices[:2])} and {gradient} in pages "
                f"of {page}, but there are {machine.spm_pages * page}; give smaller tiles or a "
                "larger --spm"
            )


def _operations(grid: Grid, order: Ints, tiles: Tiles, modes: ModeOf) -> tuple[Operation, ...]:
    place = grid.indices(order)
    is_dw: Bools = order >= grid.products
    operands = _operands(place, is_dw, tiles)
    _, first, result = np.unique(operands[:, 2], return_index=True, return_inverse=True)
    sides = [side[index] for side, index in zip(grid.sides, place, strict=True)]
    rows = zip(
        is_dw.tolist(),
        np.stack(place, axis=1).tolist(),
        np.stack(sides, axis=1).tolist(),
        operands.tolist(),
        first[result].tolist(),
        strict=True,
    )
    operations = []
    for step, (dw, (i, k, j), (m, depth, n), (left, right, out), start) in enumerate(rows):
        gradient, update = "dW" if dw else "dX", start != step
        operations.append(
            Operation(
                name=f"{gradient}({i},{k},{j})",
                reads=(left, right, out) if update else (left, right),
                writes=(out,),
                modes=modes(gradient, m, depth, n, update),
                predecessors=(start,) if update else (),
                kind=gradient,
            )
        )
    return tuple(operations)


def _operands(place: Sequence[Ints], is_dw: Bools, tiles: Tiles) -> Ints:
    """(n, 3) Tensors of the two tiles multiplied and of the result, for each product."""
    operands: Ints = np.empty((is_dw.size, 3), np.int64)
    for gradient, chosen in (("dX", ~is_dw), ("dW", is_dw)):
        if chosen.any():
            part = [index[chosen] for index in place]
            for column, matrix in enumerate((*INPUTS[gradient], gradient)):
                operands[chosen, column] = tiles.touched(matrix, part)
    return operands
