"""Operations of a pass as records: tile products step by step, and additions of partial tiles."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Literal, TypeVar

import numpy as np

from spmopt.core.instance import STATIONARY, STREAMED, Mode, Operation, Tensor
from spmopt.core.timeline import Access
from spmopt.tiles.matrices import RESULTS
from spmopt.tiles.program import Program

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
