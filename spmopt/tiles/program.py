"""A pass of a layer in arrays: its operations, what they access, and how much they compute.

:mod:`spmopt.tiles.build` makes an instance of it, :mod:`spmopt.tiles.evaluate` figures without one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.machine import Machine
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access
from spmopt.graph.cycles import access_cycles, compute_cycles
from spmopt.tiles.grid import Grid
from spmopt.tiles.lockstep import Additions, Lockstep, Sums
from spmopt.tiles.matrices import RESULTS, Tiles, product_cycles


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
        """Read an order; see :func:`~spmopt.tiles.backward.backward`.

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
