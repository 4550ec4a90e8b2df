"""Operations of a pass: tile products step by step, and additions of partial tiles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

import numpy as np

from spmopt.core.instance import STATIONARY, STREAMED, Mode, Operation, Tensor
from spmopt.core.machine import Machine
from spmopt.core.table import Ints
from spmopt.graph.cycles import compute_cycles
from spmopt.tiles.grid import Grid
from spmopt.tiles.lockstep import Lockstep, Sums
from spmopt.tiles.matrices import RESULTS, product_cycles


class _Product(NamedTuple):
    step: int
    result: str
    place: tuple[int, int, int]
    inputs: list[int]
    into: int
    start: int
    cycles: int
    macs: int


class _Addition(NamedTuple):
    tile: int
    partial: list[int]
    steps: Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Work:
    """What is computed, on which machine, in which tensors.

    Attributes
    ----------
    sums
        What each product is added to.
    tensors
        Tiles, then partial tiles.
    resident
        Whether operands must be in the SPM.
    """

    grid: Grid
    machine: Machine
    products: Lockstep
    sums: Sums
    tensors: Sequence[Tensor]
    element_bytes: int
    resident: bool

    def operations(self, operands: Ints, add_early: bool) -> tuple[Operation, ...]:
        """Make the operations, in their order.

        Parameters
        ----------
        operands : (n, 3)
            Tensors of each product's two inputs, and of the tile that it is part of.
        add_early
            Whether a tile's addition comes right after its last product.
        """
        additions = self._additions(operands[:, 2])
        steps = self.products.steps
        after = [int(addition.steps[-1]) if add_early else steps for addition in additions]
        # Of equals the step is first: an addition follows it.
        order: Ints = np.argsort(np.array([*range(steps), *after]), kind="stable")
        place: Ints = np.empty_like(order)
        place[order] = np.arange(order.size)
        made = [
            *(
                self._step(list(own), place)
                for _, own in groupby(self._products(operands[:, :2]), lambda one: one.step)
            ),
            *(self._addition(addition, place) for addition in additions),
        ]
        return tuple(made[number] for number in order.tolist())

    def _products(self, inputs: Ints) -> Iterator[_Product]:
        products, grid = self.products, self.grid
        place = grid.indices(products.product)
        m, k, n = (side[index] for side, index in zip(grid.sides, place, strict=True))
        each = product_cycles(grid, self.machine, products.cores, results=RESULTS)
        cycles = each[products.product]
        return map(
            _Product,
            products.step.tolist(),
            [RESULTS[number] for number in (products.product // grid.products).tolist()],
            zip(*(index.tolist() for index in place), strict=True),
            inputs.tolist(),
            self.sums.into.tolist(),
            self.sums.start.tolist(),
            cycles.tolist(),
            (m * k * n).tolist(),
        )

    def _additions(self, result: Ints) -> list[_Addition]:
        """By tile, each with the steps of its products in order."""
        tiles, begin = np.unique(self.sums.tile, return_index=True)
        first = len(self.tensors) - self.sums.tile.size
        partial = np.split(np.arange(first, len(self.tensors)), begin[1:])
        by_tile = np.argsort(result, kind="stable")
        ends = (np.searchsorted(result[by_tile], tiles, side) for side in ("left", "right"))
        return [
            _Addition(tile, own.tolist(), np.unique(self.products.step[by_tile[low:high]]))
            for tile, own, low, high in zip(tiles.tolist(), partial, *ends, strict=False)
        ]

    def _step(self, products: list[_Product], place: Ints) -> Operation:
        """Make one operation of what the cores compute in a step."""
        later = [product for product in products if product.start != product.step]
        inputs = dict.fromkeys(tensor for product in products for tensor in product.inputs)
        reads = (*inputs, *(product.into for product in later))
        writes = tuple(product.into for product in products)
        cycles = max(product.cycles for product in products)
        macs = sum(product.macs for product in products)
        return Operation(
            name="+".join(f"{one.result}({','.join(map(str, one.place))})" for one in products),
            reads=reads,
            writes=writes,
            modes=self._mode(reads, writes, cycles, macs),
            predecessors=tuple(sorted({int(place[product.start]) for product in later})),
            kind="+".join(sorted({product.result for product in products})),
        )

    def _addition(self, addition: _Addition, place: Ints) -> Operation:
        tile = self.tensors[addition.tile]
        elements = tile.size_bytes // self.element_bytes
        reads, writes = (addition.tile, *addition.partial), (addition.tile,)
        cycles = compute_cycles(self.machine, elements * len(addition.partial), None)
        return Operation(
            name=f"sum {tile.name}",
            reads=reads,
            writes=writes,
            modes=self._mode(reads, writes, cycles, 0),
            predecessors=tuple(place[addition.steps].tolist()),
            kind="sum",
        )

    def _mode(
        self, reads: tuple[int, ...], writes: tuple[int, ...], cycles: int, macs: int
    ) -> tuple[Mode, ...]:
        read, written = (
            sum(self.tensors[tensor].size_bytes for tensor in used) for used in (reads, writes)
        )
        return _mode(
            resident=self.resident,
            operands=len({*reads, *writes}),
            cycles=cycles,
            macs=macs,
            read=read,
            written=written,
        )


@lru_cache(maxsize=1024)
def _mode(
    *, resident: bool, operands: int, cycles: int, macs: int, read: int, written: int
) -> tuple[Mode, ...]:
    """Make equal modes one record: there are few, because few sizes of tiles are."""
    mode = Mode(
        compute_cycles=cycles,
        operands=(STATIONARY if resident else STREAMED,) * operands,
        macs=macs,
        spm_read_bytes=read,
        spm_write_bytes=written,
    )
    return (mode,)
