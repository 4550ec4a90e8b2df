"""Tile products by step and core, and the partial tiles that the cores sum into.

A tile of a result that several cores have products of is a sum of their sums: the first of these
cores sums into the tile itself, each other one into a *partial tile* of its own, because two
cores cannot update one tile in the same step. When its last product is done, one addition puts the
partial tiles into the tile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.table import Bools, Ints
from spmopt.tiles.grid import Grid
from spmopt.tiles.matrices import RESULTS

IDLE = -1
"""In place of a tile product: the core has none in this step."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lockstep:
    """The n tile products in the order of steps, in a step that of cores.

    Attributes
    ----------
    step, core, product
        (n,) Each; products by their numbers in the grid.
    steps, cores
        How many there are; a core may have no products.
    results
        ``dX`` and ``dW``, or ``dW`` alone, or ``Y``.
    """

    step: Ints
    core: Ints
    product: Ints
    steps: int
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
        table = order.reshape(len(order), -1)
        busy: Bools = table != IDLE
        step, core = np.nonzero(busy)
        product: Ints = table[busy]
        results = _results(grid, product)
        if results is None:
            raise InputError(
                f"layer {grid.layer.name}: the order must name each of the {grid.products} tile "
                "products of dX and of dW once, or those of dW alone, or those of Y alone"
            )
        steps, cores = table.shape
        idle = np.flatnonzero(~busy.any(axis=1))
        if idle.size:
            raise InputError(
                f"layer {grid.layer.name}: no core has a product in step {idle[0]}; leave it out"
            )
        return cls(
            step=step,
            core=core,
            product=product,
            steps=steps,
            cores=cores,
            results=results,
        )


def _results(grid: Grid, product: Ints) -> tuple[str, ...] | None:
    """What the products make; None if they are not all of it, once each."""
    each, ordered = grid.products, np.sort(product)
    for results in (("dX", "dW"), ("dW",), ("Y",)):
        first = RESULTS.index(results[0]) * each
        if np.array_equal(ordered, np.arange(first, first + len(results) * each)):
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
    tile, core
        (p,) Tile that each partial tile is for, and core that has it, by tile and core; their
        tensors follow those of the tiles.
    """

    into: Ints
    start: Ints
    tile: Ints
    core: Ints

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
        pairs, first, back = np.unique(
            result * products.cores + products.core, return_index=True, return_inverse=True
        )
        tile, core = np.divmod(pairs, products.cores)
        partial = np.append(False, tile[1:] == tile[:-1])
        own = np.where(partial, tensors + np.cumsum(partial) - 1, tile)
        return cls(
            into=own[back],
            start=products.step[first][back],
            tile=tile[partial],
            core=core[partial],
        )
