"""A pass of a layer as an instance.

See :mod:`spmopt.tiles.backward` and :mod:`spmopt.tiles.forward`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.instance import Instance, Tensor
from spmopt.tiles.operations import made, names
from spmopt.tiles.program import Program


def build(program: Program, *, computing: str, resident: bool) -> Instance:
    """Make the instance of ``program``.

    Parameters
    ----------
    computing
        Result that it must compute.
    resident
        Whether operands must be in the SPM.

    Raises
    ------
    InputError
        It computes something else, or the tiles of an operation do not fit in the SPM.
    """
    name, results = program.grid.layer.name, program.products.results
    if computing not in results:
        raise InputError(f"layer {name}: the order computes {results[-1]}, not {computing}")
    if resident:
        require_room(program)
    tensors = _tensors(program)
    return Instance(
        name=name,
        machine=program.machine,
        tensors=tensors,
        operations=made(program, tensors, resident=resident),
        lowering="tiles",
        source=_source(program),
    )


def require_room(program: Program) -> None:
    """Raise :class:`InputError` where the tiles of an operation do not fit in the SPM."""
    machine, tile = program.machine, program.grid.tile
    page, room = machine.page_bytes, machine.spm_pages
    pages = -(-program.size_bytes // page)
    needs = np.add.reduceat(pages[program.tensor], program.first[:-1])
    most = int(needs.max())
    if most > room:
        operation = names(program, _tensors(program))[int(np.argmax(needs))]
        raise InputError(
            f"layer {program.grid.layer.name}: tiles of m {tile.m}, k {tile.k}, n {tile.n} need "
            f"{most * page} bytes of SPM at once, in pages of {page}, for {operation}, but "
            f"there are {room * page}; give smaller tiles or a larger --spm"
        )


def _tensors(program: Program) -> tuple[Tensor, ...]:
    """Tiles, then partial tiles, named ``dW@1[k,j]`` for that of core 1."""
    whole, sums = program.tiles.tensors(), program.sums
    return (*whole, *map(_partial, (whole[t] for t in sums.tile.tolist()), sums.core.tolist()))


def _partial(tile: Tensor, core: int) -> Tensor:
    return replace(tile, name=tile.name.replace("[", f"@{core}["), keep=False)


def _source(program: Program) -> str:
    layer, tile, cores = program.grid.layer, program.grid.tile, program.products.cores
    what = "the forward pass" if program.products.results == ("Y",) else "gradients"
    return (
        f"{what} of a product, M {layer.m}, K {layer.k}, N {layer.n}, in tiles of {tile.m}, "
        f"{tile.k}, {tile.n}, elements of {program.element_bytes} bytes"
    ) + (f", on {cores} cores" if cores > 1 else "")
