"""The matrices of a layer's passes, their tiles as tensors, and what a tile product costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, product
from types import MappingProxyType
from typing import Self

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.instance import Tensor, TensorKind
from spmopt.core.machine import Machine
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access
from spmopt.graph.cycles import access_cycles, compute_cycles
from spmopt.graph.operators.spec import Gemm
from spmopt.tiles.layer import Grid

INPUTS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {"dX": ("dY", "W"), "dW": ("dY", "X"), "Y": ("X", "W")}
)
"""What each result is the product of, in the order of the products' numbers (see Grid)."""
RESULTS = tuple(INPUTS)
GRADIENTS = RESULTS[:2]
AXES: Mapping[str, tuple[int, int]] = MappingProxyType(
    {"dY": (0, 2), "X": (0, 1), "W": (1, 2), "dX": (0, 1), "dW": (1, 2), "Y": (0, 2)}
)
"""The axes of each matrix: 0 along M, 1 along K, 2 along N."""
_SUMMED = {"dX": 2, "dW": 0, "Y": 1}  # the axis that a result's products are summed over
_KINDS = {
    "dY": TensorKind.GRADIENT,
    "X": TensorKind.ACTIVATION,
    "W": TensorKind.WEIGHT,
    "dX": TensorKind.GRADIENT,
    "dW": TensorKind.WEIGHT_GRADIENT,
    "Y": TensorKind.ACTIVATION,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiles:
    """The tiles of the matrices that some results need, as tensors.

    Attributes
    ----------
    first
        Tensor of each matrix's first tile; the others follow by rows.
    size_bytes
        Of each matrix's tiles, in its two axes.
    """

    first: Mapping[str, int]
    size_bytes: Mapping[str, Ints]

    @classmethod
    def of(cls, grid: Grid, results: Sequence[str], element_bytes: int) -> Self:
        """Tiles of ``results`` and of what they are the products of."""
        needed = {matrix for name in results for matrix in (*INPUTS[name], name)}
        sides = grid.sides
        sizes = {
            matrix: np.multiply.outer(sides[rows], sides[columns]) * element_bytes
            for matrix, (rows, columns) in AXES.items()
            if matrix in needed
        }
        ends = accumulate((size.size for size in sizes.values()), initial=0)
        return cls(first=dict(zip(sizes, ends, strict=False)), size_bytes=sizes)

    @property
    def count(self) -> int:
        """Tiles of all these matrices."""
        return sum(sizes.size for sizes in self.size_bytes.values())

    def tensors(self) -> tuple[Tensor, ...]:
        """Tensors, named ``dY[i,j]`` and so on; results are to be kept."""
        return tuple(
            Tensor(
                name=f"{matrix}[{row},{column}]",
                size_bytes=size,
                kind=_KINDS[matrix],
                in_dram=matrix not in INPUTS,
                keep=matrix in INPUTS,
            )
            for matrix, sizes in self.size_bytes.items()
            for row, line in enumerate(sizes.tolist())
            for column, size in enumerate(line)
        )

    def touched(self, matrix: str, place: Sequence[Ints]) -> Ints:
        """Tensor of the tile of ``matrix`` that the products at (i, k, j) have to do with."""
        row, column = (place[axis] for axis in AXES[matrix])
        number: Ints = self.first[matrix] + row * self.size_bytes[matrix].shape[1] + column
        return number

    def operands(self, grid: Grid, products: Ints) -> Ints:
        """(n, 3) Tensors of the two tiles multiplied and of the result, for each product."""
        operands: Ints = np.empty((products.size, 3), np.int64)
        number = products // grid.products
        for result, name in enumerate(RESULTS):
            chosen: Bools = number == result
            if chosen.any():
                place = grid.indices(products[chosen])
                for column, matrix in enumerate((*INPUTS[name], name)):
                    operands[chosen, column] = self.touched(matrix, place)
        return operands


def product_cycles(
    grid: Grid, machine: Machine, cores: int = 1, *, results: Sequence[str] = GRADIENTS
) -> Ints:
    """(2 I K J,) Compute cycles of each tile product on one of ``cores``, by its number.

    Those of a matrix product of the tile's size (:mod:`spmopt.graph.cycles`): on the array, which
    each core has, or else at the core's share of the machine's rate.
    """
    cycles: Ints = np.empty((len(results), *grid.shape), np.int64)
    sides = grid.sides
    # Few sizes of tiles are there: a row of tiles is cut short at its end only.
    for lengths in product(*(sorted(set(side.tolist())) for side in sides)):
        same = np.ix_(*(side == length for side, length in zip(sides, lengths, strict=True)))
        for number, result in enumerate(results):
            # dX = dY W^T has rows along M and columns along K, dW = X^T dY along K and N.
            (rows, columns), summed = AXES[result], _SUMMED[result]
            gemm = Gemm(m=lengths[rows], k=lengths[summed], n=lengths[columns])
            cycles[number][same] = compute_cycles(machine, cores * 2 * gemm.macs, gemm)
    return cycles.reshape(-1)


IDLE = -1
"""In place of a tile product: the core has none in this step."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lockstep:
    """The n tile products in the order of steps, in a step that of cores.

    Attributes
    ----------
    step, core, product
        (n,) Each; products by their numbers in the grid.
    begin
        (steps + 1,) Products of step ``s`` are ``begin[s]:begin[s + 1]``.
    cores
        How many there are; a core may have no products.
    results
        ``dX`` and ``dW``, or ``dW`` alone, or ``Y``.
    """

    step: Ints
    core: Ints
    product: Ints
    begin: Ints
    cores: int
    results: tuple[str, ...]

    @classmethod
    def of(cls, grid: Grid, order: Ints) -> Self:
        """Read (n,) an order on one core, or (steps, cores) with ``IDLE`` in it.

        Raises
        ------
        InputError
            Not all products of both gradients, of dW or of Y, once each; or a step without any.
        """
        table = order if order.ndim > 1 else order[:, None]
        busy: Bools = table != IDLE
        step, core = np.nonzero(busy)
        product: Ints = table[busy]
        results = _results(grid, product)
        if results is None:
            raise InputError(
                f"layer {grid.layer.name}: the order must name each of the {grid.products} tile "
                "products of dX and of dW once, or those of dW alone, or those of Y alone"
            )
        working = busy.sum(axis=1)
        if not working.all():
            raise InputError(
                f"layer {grid.layer.name}: no core has a product in step {np.argmin(working)}; "
                "leave it out"
            )
        return cls(
            step=step,
            core=core,
            product=product,
            begin=np.append(0, np.cumsum(working)),
            cores=table.shape[1],
            results=results,
        )

    @property
    def steps(self) -> int:
        """How many there are."""
        return self.begin.size - 1


def _results(grid: Grid, product: Ints) -> tuple[str, ...] | None:
    """What the products make; None if they are not all of it, once each."""
    every = len(RESULTS) * grid.products
    if product.size == 0 or product.min() < 0 or product.max() >= every:
        return None
    times = np.bincount(product, minlength=every).reshape(len(RESULTS), -1)
    for results in (("dX", "dW"), ("dW",), ("Y",)):
        wanted = np.array([[name in results] for name in RESULTS])
        if (times == wanted).all():
            return results
    return None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sums:
    """What every core sums into.

    Attributes
    ----------
    into
        (n,) Tensor that each product is added to: a tile of dX or dW, or a partial tile.
    start
        (n,) Step of the first product that is added to the same tensor.
    tile, core, partial
        (p,) Tile that each partial tile is for, core that has it, by tile and core, and its
        tensor; these follow those of the tiles.
    """

    into: Ints
    start: Ints
    tile: Ints
    core: Ints
    partial: Ints

    @classmethod
    def of(cls, products: Lockstep, result: Ints, tensors: int) -> Self:
        """Give each core what it sums into.

        Parameters
        ----------
        result : (n,)
            Tensor of the tile of dX or dW that each product is part of.
        tensors
            Tiles of all matrices: the number of the first partial tile.
        """
        pair = result * products.cores + products.core
        # Of several values that are put in one place the last one stays.
        first: Ints = np.full(tensors * products.cores, -1, np.int64)
        first[pair[::-1]] = np.arange(pair.size)[::-1]
        pairs = np.flatnonzero(first >= 0)
        tile, core = np.divmod(pairs, products.cores)
        others = np.flatnonzero(tile[1:] == tile[:-1]) + 1
        partial = tensors + np.arange(others.size)
        own = np.empty_like(first)
        own[pairs] = tile
        own[pairs[others]] = partial
        return cls(
            into=own[pair],
            start=products.step[first[pair]],
            tile=tile[others],
            core=core[others],
            partial=partial,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Additions:
    """Partial tiles that are added to their tile, tile by tile.

    Attributes
    ----------
    tile, parts
        (t,) Tile of a result, and how many partial tiles it has; theirs follow one another.
    last
        (t,) Step of its last product.
    """

    tile: Ints
    parts: Ints
    last: Ints

    @classmethod
    def of(cls, products: Lockstep, sums: Sums, result: Ints) -> Self:
        """All additions; ``result`` as for :meth:`Sums.of`."""
        tile, parts = np.unique(sums.tile, return_counts=True)
        last: Ints = np.zeros(int(result.max()) + 1, np.int64)
        last[result] = products.step  # in the order of steps: the last one stays
        return cls(tile=tile, parts=parts, last=last[tile])

    def places(self, steps: int, *, early: bool) -> Ints:
        """(steps + t,) Where each step, then each addition, is among the operations."""
        after = self.last if early else np.full_like(self.last, steps)
        # Of equals the step is first: an addition follows it.
        order: Ints = np.argsort(np.concatenate((np.arange(steps), after)), kind="stable")
        place: Ints = np.empty_like(order)
        place[order] = np.arange(order.size)
        return place


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Program:
    """Arrays over operations (o), their accesses (a) and tensors (m).

    Attributes
    ----------
    products, sums, additions
        What the cores compute; there is an operation for each step and for each addition.
    tiles
        The first tensors; partial tiles follow.
    place : (o,)
        Where each step, then each addition, is among the operations.
    compute_cycles, macs : (o,)
        Cycles of the cores, or of the scratchpad's banks where these are slower.
    first : (o + 1,)
        Accesses of operation ``o`` are ``first[o]:first[o + 1]``: inputs by core, each once, then
        results that are updated, then those written first.
    tensor, kind : (a,)
        ``kind`` is an :class:`~spmopt.core.timeline.Access`.
    size_bytes : (m,)
    """

    grid: Grid
    machine: Machine
    element_bytes: int
    products: Lockstep
    sums: Sums
    additions: Additions
    tiles: Tiles
    place: Ints
    compute_cycles: Ints
    macs: Ints
    first: Ints
    tensor: Ints
    kind: Ints
    size_bytes: Ints

    @classmethod
    def of(
        cls,
        grid: Grid,
        machine: Machine,
        order: Ints,
        *,
        element_bytes: int = 4,
        add_early: bool = False,
    ) -> Self:
        """Read an order; see :func:`~spmopt.tiles.passes.backward`.

        Raises
        ------
        InputError
            Not such an order, or elements without bytes.
        """
        if element_bytes < 1:
            raise InputError(
                f"layer {grid.layer.name}: elements of {element_bytes} bytes; give at least 1"
            )
        products = Lockstep.of(grid, order)
        tiles = Tiles.of(grid, products.results, element_bytes)
        operands = tiles.operands(grid, products.product)
        sums = Sums.of(products, operands[:, 2], tiles.count)
        additions = Additions.of(products, sums, operands[:, 2])
        place = additions.places(products.steps, early=add_early)
        size = np.concatenate([sizes.reshape(-1) for sizes in tiles.size_bytes.values()])
        added = size[additions.tile] // element_bytes * additions.parts
        cycles, macs = _computed(grid, machine, products)
        operation, tensor, kind = _accesses(products, sums, additions, operands, place)
        program = cls(
            grid=grid,
            machine=machine,
            element_bytes=element_bytes,
            products=products,
            sums=sums,
            additions=additions,
            tiles=tiles,
            place=place,
            compute_cycles=_placed(place, cycles, _addition_cycles(machine, added)),
            macs=_placed(place, macs, np.zeros_like(added)),
            first=np.append(0, np.cumsum(np.bincount(operation, minlength=place.size))),
            tensor=tensor,
            kind=kind,
            size_bytes=np.append(size, size[sums.tile]),
        )
        return replace(program, compute_cycles=_held(program))

    def moved_bytes(self, without: Access) -> Ints:
        """(o,) Bytes of the operands that are not accessed as ``without``."""
        size = np.where(self.kind == without, 0, self.size_bytes[self.tensor])
        total: Ints = np.add.reduceat(size, self.first[:-1])
        return total


def _accesses(
    products: Lockstep, sums: Sums, additions: Additions, operands: Ints, place: Ints
) -> tuple[Ints, Ints, Ints]:
    """(a,) Operation, tensor and kind of every access, in their order."""
    step, tensor = products.step.repeat(2), operands[:, :2].reshape(-1)
    if products.cores > 1:
        once = _first_in_step(step, tensor)
        step, tensor = step[once], tensor[once]
    later = sums.start < products.step
    new = ~later
    added = np.arange(products.steps, place.size)
    parts = (
        (step, tensor, Access.READ),
        (products.step[later], sums.into[later], Access.UPDATE),
        (products.step[new], sums.into[new], Access.WRITE),
        (added, additions.tile, Access.UPDATE),
        (added.repeat(additions.parts), sums.partial, Access.READ),
    )
    operation = place[np.concatenate([turn for turn, _, _ in parts])]
    order = np.argsort(operation, kind="stable")
    kinds = [np.full(part.size, kind, np.int64) for _, part, kind in parts]
    every = np.concatenate([part for _, part, _ in parts])
    return operation[order], every[order], np.concatenate(kinds)[order]


def _first_in_step(step: Ints, tensor: Ints) -> Bools:
    """Whether an access, by step, is the first one of its tensor in its step."""
    order = np.argsort(tensor, kind="stable")
    again = (np.diff(tensor[order]) == 0) & (np.diff(step[order]) == 0)
    first: Bools = np.ones(step.size, bool)
    first[order[1:][again]] = False
    return first


def _computed(grid: Grid, machine: Machine, products: Lockstep) -> tuple[Ints, Ints]:
    """(steps,) Cycles, those of the last core that is done, and multiplications."""
    each = product_cycles(grid, machine, products.cores, results=products.results)
    cycles = each[products.product - RESULTS.index(products.results[0]) * grid.products]
    m, k, n = grid.sides
    macs = (m[:, None, None] * k[:, None] * n).reshape(-1)[products.product % grid.products]
    begin = products.begin[:-1]
    return np.maximum.reduceat(cycles, begin), np.add.reduceat(macs, begin)


def _addition_cycles(machine: Machine, operations: Ints) -> Ints:
    """Cycles of each addition, of which few differ."""
    amounts, back = np.unique(operations, return_inverse=True)
    cycles = [compute_cycles(machine, amount, None) for amount in amounts.tolist()]
    found: Ints = np.array(cycles, np.int64)[back]
    return found


def _held(program: Program) -> Ints:
    """(o,) Compute cycles, no fewer than those of the scratchpad's banks."""
    memory = program.machine.memory
    if memory is None or memory.rates is None:
        return program.compute_cycles
    read, written = (program.moved_bytes(without=kind) for kind in (Access.WRITE, Access.READ))
    amounts, back = np.unique(np.stack((read, written)), axis=1, return_inverse=True)
    cycles = [access_cycles(program.machine, *amount) for amount in amounts.T.tolist()]
    held: Ints = np.maximum(program.compute_cycles, np.array(cycles, np.int64)[back.reshape(-1)])
    return held


def _placed(place: Ints, steps: Ints, additions: Ints) -> Ints:
    placed: Ints = np.empty_like(place)
    placed[place] = np.concatenate((steps, additions))
    return placed
