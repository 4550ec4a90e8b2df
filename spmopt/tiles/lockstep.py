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
