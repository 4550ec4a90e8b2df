"""A pass of a layer as an instance, from the order of its tile products.

See :mod:`spmopt.tiles.backward` and :mod:`spmopt.tiles.forward`.
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


def build(
    grid: Grid,
    machine: Machine,
    order: Ints,
    *,
    results: tuple[str, ...],
    element_bytes: int,
    resident: bool,
    add_early: bool,
) -> Instance:
    """Make the instance of ``order``, which computes ``results`` or the last of them.

    Raises
    ------
    InputError
        Not such an order, elements without bytes, or tiles of an operation that do not fit in the
        SPM.
    """
    name = grid.layer.name
    if element_bytes < 1:
        raise InputError(f"layer {name}: elements of {element_bytes} bytes; give at least 1")
    products = Lockstep.of(grid, order)
    if products.results[-1] != results[-1]:
        computed = products.results[-1]
        raise InputError(f"layer {name}: the order computes {computed}, not {results[-1]}")
    tiles = Tiles.of(grid, products.results, element_bytes)
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
        name=name,
        machine=machine,
        tensors=tensors,
        operations=work.operations(operands, add_early),
        lowering="tiles",
        source=_source(grid, products, element_bytes),
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


def _source(grid: Grid, products: Lockstep, element_bytes: int) -> str:
    layer, tile, cores = grid.layer, grid.tile, products.cores
    what = "the forward pass" if products.results == ("Y",) else "gradients"
    return (
        f"{what} of a product, M {layer.m}, K {layer.k}, N {layer.n}, in tiles of {tile.m}, "
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
