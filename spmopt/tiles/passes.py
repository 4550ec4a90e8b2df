"""The backward pass of a layer as an instance: tile products are operations, tiles are tensors.

Tiles of dY, X and W are in DRAM at the start, those of dX and dW must be there at the end. The
first product of a tile of dX or dW writes it blindly, every later one updates it in place, so
partial sums spill and return like any tensor. Sums commute: the first product is the only
predecessor of the later ones, which may run in any order.

Several cores run in lock-step: an operation is what they compute at the same time. It takes as long
as the longest of its products, and its operands are those of all of them, each once. A tile that
several cores sum has partial tiles (:mod:`spmopt.tiles.program`), ordinary tensors that may spill;
an operation ``sum dW[k,j]`` adds them to it, element by element, with all cores at work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import Literal, TypeVar

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.instance import STATIONARY, STREAMED, Instance, Mode, Operation, Tensor
from spmopt.core.machine import Machine
from spmopt.core.table import Ints
from spmopt.core.timeline import Access
from spmopt.tiles.layer import Grid, Layer, Tile
from spmopt.tiles.order import Walk
from spmopt.tiles.partition import Partition, dealt, pieces
from spmopt.tiles.program import RESULTS, Program


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
        (:func:`spmopt.tiles.partition.scaled`).
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


BY_ROWS = Walk(loops="ijk")
"""The usual walk: a tile of Y is finished before the next begins, by rows."""


def forward(
    grid: Grid,
    machine: Machine,
    order: Ints,
    *,
    element_bytes: int = 4,
    resident: bool = True,
) -> Instance:
    """Y of one layer in tiles; of several groups, one.

    Parameters
    ----------
    grid, machine, element_bytes, resident
        As for :func:`~spmopt.tiles.passes.backward`.
    order : (I K J,) or (steps, cores)
        Numbers of the products of Y: :func:`forward_order` or :func:`forward_on_cores`.

    Raises
    ------
    InputError
        Not such an order, elements without bytes, or tiles of an operation that do not fit in the
        SPM.
    """
    program = Program.of(grid, machine, order, element_bytes=element_bytes)
    return build(program, computing="Y", resident=resident)


def forward_order(grid: Grid, walk: Walk = BY_ROWS) -> Ints:
    """(I K J,) The products of Y on one core."""
    return walk.through(grid) + RESULTS.index("Y") * grid.products


def forward_on_cores(grid: Grid, cores: int, walk: Walk = BY_ROWS) -> Ints:
    """(steps, cores) The products of Y, each core with its share of the batch.

    A cut along M; no tile of Y is a sum over cores.
    """
    cut = pieces(grid, Partition(axis="m", parts=cores))
    return dealt([piece.numbers(forward_order(piece.grid, walk)) for piece in cut], cores)


def mirrored(grid: Grid) -> Grid:
    """The grid whose weight gradient is computed by products of the same tiles and cycles.

    Y (M, N) = X (M, K) W (K, N) sums over K as dW (K, N) = X^T dY sums over M: with M and K
    exchanged, dY has the tiles of W, X those of X transposed, dW those of Y. Product (i, k, j) of Y
    is (k, i, j) of that dW. Traffic under double buffering is the same, time but for the order in
    which it spreads transfers of a batch, that of numbers.
    """
    layer, tile = grid.layer, grid.tile
    return Grid(layer=mirrored_layer(layer), tile=Tile(m=tile.k, k=tile.m, n=tile.n))


def mirrored_layer(layer: Layer) -> Layer:
    """The layer of :func:`mirrored`."""
    return replace(layer, m=layer.k, k=layer.m)


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


_T = TypeVar("_T")
_Numbers = tuple[int, ...]
_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")


def made(program: Program, tensors: Sequence[Tensor], *, resident: bool) -> tuple[Operation, ...]:
    """Make the operations, in their order; ``resident``: operands must be in the SPM."""
    return tuple(
        Operation(
            name=name, reads=reads, writes=writes, modes=modes, predecessors=before, kind=kind
        )
        for name, reads, writes, modes, before, kind in zip(
            names(program, tensors),
            _reads(program),
            _in_order(program, _writes(program)),
            _modes(program, resident),
            _in_order(program, _predecessors(program)),
            _in_order(program, _kinds(program)),
            strict=True,
        )
    )


def names(program: Program, tensors: Sequence[Tensor]) -> list[str]:
    """Of the operations, in their order."""
    products = program.products
    each = [
        f"{RESULTS[result]}({i},{k},{j})"
        for result, i, k, j in zip(
            (products.product // program.grid.products).tolist(),
            *(index.tolist() for index in program.grid.indices(products.product)),
            strict=True,
        )
    ]
    steps = ["+".join(each[low:high]) for low, high in pairwise(products.begin.tolist())]
    sums = [f"sum {tensors[tile].name}" for tile in program.additions.tile.tolist()]
    return _in_order(program, [*steps, *sums])


def _in_order(program: Program, found: Sequence[_T]) -> list[_T]:
    """What belongs to steps, then to additions, in the order of the operations."""
    return [found[turn] for turn in np.argsort(program.place).tolist()]


def _reads(program: Program) -> list[_Numbers]:
    """In the order of the operations: all accesses but those that only write, which are last."""
    only_written = np.bincount(
        np.searchsorted(program.first, np.flatnonzero(program.kind == Access.WRITE), "right") - 1,
        minlength=program.place.size,
    )
    tensor: list[int] = program.tensor.tolist()
    begin, end = program.first[:-1], program.first[1:] - only_written
    return [tuple(tensor[a:b]) for a, b in zip(begin.tolist(), end.tolist(), strict=True)]


def _writes(program: Program) -> list[_Numbers]:
    into: list[int] = program.sums.into.tolist()
    steps = [tuple(into[a:b]) for a, b in pairwise(program.products.begin.tolist())]
    return [*steps, *((tile,) for tile in program.additions.tile.tolist())]


def _kinds(program: Program) -> list[str]:
    numbers = (program.products.product // program.grid.products).tolist()
    steps = [
        "+".join(sorted({RESULTS[number] for number in numbers[a:b]}))
        for a, b in pairwise(program.products.begin.tolist())
    ]
    return [*steps, *("sum" for _ in program.additions.tile)]


def _predecessors(program: Program) -> list[_Numbers]:
    """Of a step those in which its sums began; of an addition all steps with parts of them."""
    products, sums, place = program.products, program.sums, program.place
    start: list[int] = place[sums.start].tolist()
    own: list[int] = place[products.step].tolist()
    steps = [
        tuple(sorted({start[p] for p in range(a, b) if start[p] != own[p]}))
        for a, b in pairwise(products.begin.tolist())
    ]
    return [*steps, *_summed(program)]


def _summed(program: Program) -> list[_Numbers]:
    """Of each addition the operations that have a product of its tile."""
    sums, steps = program.sums, program.products.steps
    tile = np.append(np.arange(program.tiles.count), sums.tile)[sums.into]
    tile, step = np.divmod(np.unique(tile * steps + program.products.step), steps)
    operations: list[int] = program.place[step].tolist()
    low, high = (np.searchsorted(tile, program.additions.tile, side) for side in _SIDES)
    return [tuple(operations[a:b]) for a, b in zip(low.tolist(), high.tolist(), strict=True)]


def _modes(program: Program, resident: bool) -> list[tuple[Mode, ...]]:
    operands: list[int] = np.diff(program.first).tolist()
    columns = (
        program.compute_cycles,
        program.macs,
        program.moved_bytes(without=Access.WRITE),
        program.moved_bytes(without=Access.READ),
    )
    amounts = zip(*(column.tolist() for column in columns), strict=True)
    return [_mode(resident, *row) for row in zip(operands, amounts, strict=True)]


@lru_cache(maxsize=1024)
def _mode(resident: bool, operands: int, amounts: tuple[int, int, int, int]) -> tuple[Mode, ...]:
    """Make equal modes one record: there are few, because few sizes of tiles are."""
    cycles, macs, read, written = amounts
    mode = Mode(
        compute_cycles=cycles,
        operands=(STATIONARY if resident else STREAMED,) * operands,
        macs=macs,
        spm_read_bytes=read,
        spm_write_bytes=written,
    )
    return (mode,)
