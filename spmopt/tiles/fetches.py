"""A pass of a layer as a problem: tile products are operations, tiles are tensors.

Inputs are in DRAM at the start: tiles of dY, X and W, or of X and W in the forward pass; results
must be there at the end. The first product of a tile of a result writes it blindly, every later one
updates it in place, so partial sums spill and return like any tensor. Sums commute: the first
product is the only predecessor of the later ones, which may run in any order.

Several cores run in lock-step: an operation is their simultaneous work. It takes as long
as the longest of its products, and its operands are those of all of them, each once. A tile that
several cores sum has partial tiles (:mod:`spmopt.tiles.program`), ordinary tensors that may spill;
an operation ``sum dW[k,j]`` adds them to it, element by element, with all cores at work.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise, product
from typing import TypeVar

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.machine import Machine
from spmopt.core.operation import REQUIRED_RESIDENT, STREAMED, Operation, OpMapping
from spmopt.core.problem import Problem, Tensor, TensorKind
from spmopt.core.table import Ints
from spmopt.core.timeline import Access
from spmopt.tiles.layer import TileGrid
from spmopt.tiles.program import AXES, RESULTS, PassProgram

_KINDS = {
    "dY": TensorKind.GRADIENT,
    "X": TensorKind.ACTIVATION,
    "W": TensorKind.WEIGHT,
    "dX": TensorKind.GRADIENT,
    "dW": TensorKind.WEIGHT_GRADIENT,
    "Y": TensorKind.ACTIVATION,
}
_T = TypeVar("_T")


def backward(
    grid: TileGrid,
    machine: Machine,
    order: Ints,
    *,
    element_bytes: int = 4,
    resident: bool = True,
    add_early: bool = False,
) -> Problem:
    """Make the gradients of one layer in tiles; of several groups, one.

    Compute cycles are those of a product of the tile's size (:mod:`spmopt.graph.cycles`).

    Parameters
    ----------
    grid
        The layer in tiles.
    machine
        SPM, DRAM and array; of several cores, the SPM, DRAM and rate of all and the array of one
        (:func:`spmopt.tiles.partition.scale`).
    order : (2 I K J,) or (I K J,), or (steps, cores)
        Numbers of the tile products, in the order of the operations: each of both gradients
        once, or each of dW once where dX is not needed. On several cores, those of every step,
        and ``IDLE`` for a core that has none.
    element_bytes
        Bytes of an element of every matrix; partial sums have no more.
    resident
        Whether an operation needs all its tiles in the SPM (required-resident), as an array does
        that reads them several times; else it may also stream them, each once.
    add_early
        Whether the partial tiles of several cores are added to their tile in the step after its
        last product; else after all products, tile by tile.

    Raises
    ------
    InputError
        Not such an order, elements without bytes, or tiles of an operation that do not fit in the
        SPM.
    """
    program = PassProgram.of(grid, machine, order, element_bytes=element_bytes, add_early=add_early)
    return _problem(program, computing="dW", resident=resident)


def forward(
    grid: TileGrid,
    machine: Machine,
    order: Ints,
    *,
    element_bytes: int = 4,
    resident: bool = True,
) -> Problem:
    """Make Y of one layer in tiles; of several groups, one.

    Parameters and errors are those of :func:`backward`; ``order`` (I K J,) or (steps, cores) is of
    products of Y.
    """
    program = PassProgram.of(grid, machine, order, element_bytes=element_bytes)
    return _problem(program, computing="Y", resident=resident)


def require_room(program: PassProgram) -> None:
    """Raise :class:`InputError` where the tiles of an operation do not fit in the SPM."""
    machine, tile = program.machine, program.grid.tile
    page, room = machine.page_bytes, machine.spm_pages
    pages = -(-program.line.size_bytes // page)
    # All operands of an operation at once: no replacement can need less.
    needs = np.add.reduceat(pages[program.line.tensor], program.line.first[:-1])
    most = int(needs.max())
    if most > room:
        operation = _names(program, _tensors(program))[int(np.argmax(needs))]
        raise InputError(
            f"layer {program.grid.layer.name}: tiles of m {tile.m}, k {tile.k}, n {tile.n} need "
            f"{most * page} bytes of SPM at once, in pages of {page}, for {operation}, but "
            f"there are {room * page}; give smaller tiles or a larger --spm"
        )


def _problem(program: PassProgram, *, computing: str, resident: bool) -> Problem:
    layer, results = program.grid.layer, program.results
    if computing not in results:
        raise InputError(f"layer {layer.name}: the order computes {results[-1]}, not {computing}")
    if resident:
        require_room(program)
    tensors = _tensors(program)
    columns = (
        _names(program, tensors),
        _reads(program),
        _writes(program),
        _mappings(program, resident),
        _predecessors(program),
        _kinds(program),
    )
    return Problem(
        name=layer.name,
        machine=program.machine,
        tensors=tensors,
        operations=tuple(
            Operation(
                name=name,
                reads=reads,
                writes=writes,
                mappings=mappings,
                predecessors=before,
                kind=kind,
            )
            for name, reads, writes, mappings, before, kind in zip(*columns, strict=True)
        ),
        mapper="tiles",
        source=_source(program),
    )


def _source(program: PassProgram) -> str:
    layer, tile, cores = program.grid.layer, program.grid.tile, program.cores
    what = "the forward pass" if program.results == ("Y",) else "gradients"
    return (
        f"{what} of a product, M {layer.m}, K {layer.k}, N {layer.n}, in tiles of {tile.m}, "
        f"{tile.k}, {tile.n}, elements of {program.element_bytes} bytes"
    ) + (f", on {cores} cores" if cores > 1 else "")


def _tensors(program: PassProgram) -> tuple[Tensor, ...]:
    """Make tiles ``dY[i,j]`` and so on, then partial tiles, ``dW@1[k,j]`` for that of core 1."""
    places = [
        (matrix, row, column)
        for matrix in program.first_tile
        for row, column in product(*(range(program.grid.shape[axis]) for axis in AXES[matrix]))
    ]
    partial = zip(program.partial_tile.tolist(), program.partial_core.tolist(), strict=True)
    named = [(matrix, "", row, column, matrix in RESULTS) for matrix, row, column in places]
    for tile, core in partial:
        matrix, row, column = places[tile]
        named.append((matrix, f"@{core}", row, column, False))
    return tuple(
        Tensor(
            name=f"{matrix}{of_core}[{row},{column}]",
            size_bytes=size,
            kind=_KINDS[matrix],
            in_dram=matrix not in RESULTS,
            keep=keep,
        )
        for (matrix, of_core, row, column, keep), size in zip(
            named, program.line.size_bytes.tolist(), strict=True
        )
    )


def _in_order(program: PassProgram, found: Sequence[_T]) -> list[_T]:
    """Return values of steps, then of additions, in the order of the operations."""
    return [found[turn] for turn in np.argsort(program.place).tolist()]


def _by_step(program: PassProgram, found: Sequence[_T]) -> Iterator[Sequence[_T]]:
    """Split values of products by their steps."""
    return (found[low:high] for low, high in pairwise(program.begin.tolist()))


def _names(program: PassProgram, tensors: Sequence[Tensor]) -> list[str]:
    made = (program.product // program.grid.products).tolist()
    places = zip(*(index.tolist() for index in program.grid.indices(program.product)), strict=True)
    each = [
        f"{RESULTS[result]}({i},{k},{j})" for result, (i, k, j) in zip(made, places, strict=True)
    ]
    sums = [f"sum {tensors[tile].name}" for tile in program.added.tolist()]
    return _in_order(program, [*map("+".join, _by_step(program, each)), *sums])


def _kinds(program: PassProgram) -> list[str]:
    """Name results that are computed, in alphabetical order: of two these are dW and dX."""
    made, begin = program.product // program.grid.products, program.begin[:-1]
    ends = np.maximum.reduceat(made, begin), np.minimum.reduceat(made, begin)
    steps = [
        RESULTS[one] if one == other else f"{RESULTS[one]}+{RESULTS[other]}"
        for one, other in zip(*(end.tolist() for end in ends), strict=True)
    ]
    return _in_order(program, [*steps, *("sum" for _ in program.added)])


def _reads(program: PassProgram) -> list[tuple[int, ...]]:
    """List all accesses but those that only write, which are last."""
    line, tensor = program.line, program.line.tensor.tolist()
    wrote = np.add.reduceat(line.kind == Access.WRITE, line.first[:-1], dtype=np.int64)
    ends = zip(line.first[:-1].tolist(), (line.first[1:] - wrote).tolist(), strict=True)
    return [tuple(tensor[begin:end]) for begin, end in ends]


def _writes(program: PassProgram) -> list[tuple[int, ...]]:
    steps = map(tuple, _by_step(program, program.into.tolist()))
    return _in_order(program, [*steps, *((tile,) for tile in program.added.tolist())])


def _predecessors(program: PassProgram) -> list[tuple[int, ...]]:
    """Find for a step those in which its sums began; for an addition all with parts of them."""
    operation, tensor, kind = program.line.step, program.line.tensor, program.line.kind
    began = np.empty(program.line.size_bytes.size, np.int64)
    wrote = kind == Access.WRITE
    began[tensor[wrote]] = operation[wrote]
    added = program.place[program.begin.size - 1 :]
    in_step = ~np.isin(operation, added)
    later = (kind == Access.UPDATE) & in_step
    before = [(operation[later], began[tensor[later]])]
    if added.size:
        addition = np.full(program.line.size_bytes.size, -1, np.int64)
        addition[program.added] = added
        addition[program.tiles :] = addition[program.partial_tile]
        parts = (kind != Access.READ) & in_step & (addition[tensor] >= 0)
        before.append((addition[tensor[parts]], operation[parts]))
    count = program.place.size
    keys = np.unique(np.concatenate([one * count + other for one, other in before]))
    ends = np.searchsorted(keys, np.arange(count + 1) * count).tolist()
    earlier: list[int] = (keys % count).tolist()
    return [tuple(earlier[low:high]) for low, high in pairwise(ends)]


def _mappings(program: PassProgram, resident: bool) -> list[tuple[OpMapping, ...]]:
    columns = (
        np.diff(program.line.first),
        program.line.compute_cycles,
        program.line.macs,
        program.line.spm_read_bytes,
        program.line.spm_write_bytes,
    )
    return [_mapping(resident, row) for row in zip(*(c.tolist() for c in columns), strict=True)]


@lru_cache(maxsize=1024)
def _mapping(resident: bool, amounts: tuple[int, int, int, int, int]) -> tuple[OpMapping, ...]:
    """Make equal mappings one record: there are few, because few sizes of tiles are."""
    operands, cycles, macs, read, written = amounts
    mapping = OpMapping(
        compute_cycles=cycles,
        operands=(REQUIRED_RESIDENT if resident else STREAMED,) * operands,
        macs=macs,
        spm_read_bytes=read,
        spm_write_bytes=written,
    )
    return (mapping,)
