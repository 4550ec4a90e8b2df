"""A pass of a layer in arrays: its operations, their accesses, and their work.

:mod:`spmopt.tiles.fetches` makes a problem of it, :mod:`spmopt.tiles.tiling` figures without one.

Cores run in lock-step: an operation is their work in one step. A tile of a result that
several cores have products of is a sum of their sums: the first of these cores sums into the tile
itself, each other one into a *partial tile* of its own, because two cores cannot update one tile
in the same step. When its last product is done, one addition puts the partial tiles into the tile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, product
from types import MappingProxyType
from typing import Self

import numpy as np

from spmopt.core.compression import MovedBytes
from spmopt.core.errors import InputError
from spmopt.core.machine import Machine
from spmopt.core.schedule import Steps
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access, Timeline, links
from spmopt.graph.cycles import access_cycles, compute_cycles, fill_cycles
from spmopt.graph.operators.spec import Gemm
from spmopt.tiles.layer import TileGrid

INPUTS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {"dX": ("dY", "W"), "dW": ("dY", "X"), "Y": ("X", "W")}
)
"""Factors of each result, in the order of the products' numbers (see TileGrid)."""
RESULTS = tuple(INPUTS)
AXES: Mapping[str, tuple[int, int]] = MappingProxyType(
    {"dY": (0, 2), "X": (0, 1), "W": (1, 2), "dX": (0, 1), "dW": (1, 2), "Y": (0, 2)}
)
"""The axes of each matrix: 0 along M, 1 along K, 2 along N."""
IDLE = -1
"""In place of a tile product: the core has none in this step."""
_SUMMED = {"dX": 2, "dW": 0, "Y": 1}  # the axis that a result's products are summed over


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PassProgram:
    """Arrays over operations (o), their accesses (a) and tensors (m).

    Attributes
    ----------
    results
        ``dX`` and ``dW``, or ``dW`` alone, or ``Y``.
    product, into : (n,)
        Tile products by step and core, and the tensor that each is added to.
    begin : (steps + 1,)
        Products of step ``s`` are ``begin[s]:begin[s + 1]``.
    first_tile
        Tensor of each matrix's first tile; the others follow by rows, inputs before results.
    partial_tile, partial_core : (p,)
        Tile that each partial tile is for, and core that has it, by tile and core; these tensors
        follow those of the tiles.
    added : (t,)
        Tiles that partial tiles are added to.
    place : (o,)
        Where each step, then each addition, is among the operations.
    line
        The problem in its own order, all operands resident. Accesses of an operation are its inputs
        by core, each once, then results that are updated, then those written first. Compute cycles
        are those of the cores, or of the scratchpad's banks where these are slower.
    """

    grid: TileGrid
    machine: Machine
    element_bytes: int
    cores: int
    results: tuple[str, ...]
    product: Ints
    into: Ints
    begin: Ints
    first_tile: Mapping[str, int]
    partial_tile: Ints
    partial_core: Ints
    added: Ints
    place: Ints
    line: Timeline

    @classmethod
    def of(
        cls,
        grid: TileGrid,
        machine: Machine,
        order: Ints,
        *,
        element_bytes: int = 4,
        add_early: bool = False,
    ) -> Self:
        """Read (n,) an order on one core, or (steps, cores) with ``IDLE`` in it.

        Raises
        ------
        InputError
            Not all products of both gradients, of dW or of Y, once each; a step without any; or
            elements without bytes.
        """
        if element_bytes < 1:
            raise InputError(
                f"layer {grid.layer.name}: elements of {element_bytes} bytes; give at least 1"
            )
        table = order if order.ndim > 1 else order[:, None]
        steps, cores = table.shape
        results = _results(grid, table)
        step, core = np.nonzero(table != IDLE)
        numbers: Ints = table[step, core]
        begin = np.searchsorted(step, np.arange(steps + 1))
        sides = {
            matrix: _elements(grid, matrix)
            for matrix in AXES
            if any(matrix in (name, *INPUTS[name]) for name in results)
        }
        ends = accumulate((side.size for side in sides.values()), initial=0)
        first_tile = dict(zip(sides, ends, strict=False))
        size = np.concatenate(list(sides.values())) * element_bytes
        operands = _operands(grid, numbers, first_tile)
        result = operands[:, 2]
        into, start, partial_tile, partial_core = _sums(result * cores + core, cores, size.size)
        added, parts = np.unique(partial_tile, return_counts=True)
        after = np.full(added.size, steps)
        if add_early:
            last = np.zeros(size.size, np.int64)
            last[result] = step  # of several values put in one place the last one stays
            after = last[added]
        # Of equals the step is first: an addition follows it.
        turns = np.argsort(np.concatenate((np.arange(steps), after)), kind="stable")
        place: Ints = np.empty_like(turns)
        place[turns] = np.arange(turns.size)
        own = product_cycles(grid, machine, cores, results=results)[
            numbers - RESULTS.index(results[0]) * grid.products
        ]
        m, k, n = grid.sides
        macs = (m[:, None, None] * k[:, None] * n).reshape(-1)[numbers % grid.products]
        # Adding partial tiles: one operation an element and part, on all cores.
        sums = _each_once(
            (size[added] // element_bytes * parts)[None],
            lambda amount: compute_cycles(machine, amount, None),
        )
        reader, read = step.repeat(2), operands[:, :2].reshape(-1)
        if cores > 1:
            once = _first_in_step(reader, read)
            reader, read = reader[once], read[once]
        # The first product of a tile writes it blindly, later ones add.
        later, additions = step[start] < step, steps + np.arange(added.size)
        accesses = (
            (reader, read, Access.READ),
            (step[later], into[later], Access.UPDATE),
            (step[~later], into[~later], Access.WRITE),
            (additions, added, Access.UPDATE),
            (additions.repeat(parts), size.size + np.arange(partial_tile.size), Access.READ),
        )
        operation, tensor = (np.concatenate([each[part] for each in accesses]) for part in (0, 1))
        operation = place[operation]
        kind = np.repeat([each[2] for each in accesses], [each[1].size for each in accesses])
        sorting = np.argsort(operation, kind="stable")
        line = _line(
            first=np.append(0, np.cumsum(np.bincount(operation, minlength=place.size))),
            tensor=tensor[sorting],
            kind=kind[sorting],
            size=np.append(size, size[partial_tile]),
            made=range(min(first_tile[name] for name in results), size.size),
            cycles=np.append(np.maximum.reduceat(own, begin[:-1]), sums)[turns],
            macs=np.append(np.add.reduceat(macs, begin[:-1]), np.zeros_like(added))[turns],
        )
        # A pipelined array is filled once, before the first product.
        line.compute_cycles[0] += _fill(machine)
        return cls(
            grid=grid,
            machine=machine,
            element_bytes=element_bytes,
            cores=cores,
            results=results,
            product=numbers,
            into=into,
            begin=begin,
            first_tile=first_tile,
            partial_tile=partial_tile,
            partial_core=partial_core,
            added=added,
            place=place,
            line=_wait_for_banks(machine, line),
        )

    @property
    def tiles(self) -> int:
        """How many tiles there are of all matrices, without partial ones."""
        return self.line.size_bytes.size - self.partial_tile.size


def _line(
    first: Ints, tensor: Ints, kind: Ints, size: Ints, made: range, *, cycles: Ints, macs: Ints
) -> Timeline:
    """Return arrays of the problem in its own order; ``made`` are the tiles of results."""
    number, nothing = np.arange(size.size), np.zeros(macs.size, np.int64)
    keep = (number >= made.start) & (number < made.stop)
    previous, following, first_access, last_access = links(tensor, number.size)
    read, written = (
        np.add.reduceat(np.where(kind == without, 0, size[tensor]), first[:-1])
        for without in (Access.WRITE, Access.READ)
    )
    return Timeline(
        chosen=Steps.listed(nothing),
        compute_cycles=cycles,
        scratch_bytes=nothing,
        macs=macs,
        spm_read_bytes=read,
        spm_write_bytes=written,
        own_picojoules=nothing,
        first=first,
        step=np.repeat(np.arange(macs.size), np.diff(first)),
        tensor=tensor,
        kind=kind,
        fetches=np.ones(tensor.size, np.int64),
        required_resident=np.ones(tensor.size, bool),
        previous=previous,
        next=following,
        live_after=(following >= 0) | keep[tensor],  # only a first access is a blind write
        size_bytes=size,
        in_dram=number < made.start,
        keep=keep,
        moved=MovedBytes(numerator=np.ones_like(size)),
        first_access=first_access,
        last_access=last_access,
    )


def product_cycles(
    grid: TileGrid, machine: Machine, cores: int = 1, *, results: Sequence[str] = RESULTS[:2]
) -> Ints:
    """(2 I K J,) Compute cycles of each tile product on one of ``cores``, by its number.

    Those of a matrix product of the tile's size (:mod:`spmopt.graph.cycles`): on the array, which
    each core has, or else at the core's share of the machine's rate. A pipelined array is filled
    once, before the first product, which is not in them.
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
            own = compute_cycles(machine, cores * 2 * gemm.macs, gemm)
            cycles[number][same] = own - _fill(machine)
    return cycles.reshape(-1)


def _fill(machine: Machine) -> int:
    """Return cycles that a pipelined array is filled for once in a pass; of others 0."""
    array = machine.array
    return fill_cycles(array) if array is not None and array.pipelined else 0


def _elements(grid: TileGrid, matrix: str) -> Ints:
    """(tiles,) Count elements of the tiles of a matrix, by rows."""
    if matrix in ("X", "dX"):
        return grid.map_elements.reshape(-1)
    return np.multiply.outer(*(grid.sides[axis] for axis in AXES[matrix])).reshape(-1)


def _results(grid: TileGrid, table: Ints) -> tuple[str, ...]:
    """Return the results of the products.

    Raise :class:`InputError` unless that is once all of it.
    """
    layer, numbers = f"layer {grid.layer.name}", table[table != IDLE]
    every = len(RESULTS) * grid.products
    results: tuple[str, ...] | None = None
    if numbers.size and numbers.min() >= 0 and numbers.max() < every:
        times = np.bincount(numbers, minlength=every).reshape(len(RESULTS), -1)
        several: tuple[tuple[str, ...], ...] = (("dX", "dW"), ("dW",), ("Y",))
        found = [names for names in several if (times == np.isin(RESULTS, names)[:, None]).all()]
        results = found[0] if found else None
    if results is None:
        raise InputError(
            f"{layer}: the order must name each of the {grid.products} tile "
            "products of dX and of dW once, or those of dW alone, or those of Y alone"
        )
    working = (table != IDLE).any(axis=1)
    if not working.all():
        raise InputError(
            f"{layer}: no core has a product in step {np.argmin(working)}; leave it out"
        )
    return results


def _operands(grid: TileGrid, numbers: Ints, first_tile: Mapping[str, int]) -> Ints:
    """(n, 3) Find tensors of the two tiles multiplied and of the result, for each product."""
    operands: Ints = np.empty((numbers.size, 3), np.int64)
    made = numbers // grid.products
    for result, name in enumerate(RESULTS):
        chosen: Bools = made == result
        if chosen.any():
            place = grid.indices(numbers[chosen])
            for column, matrix in enumerate((*INPUTS[name], name)):
                across, along = AXES[matrix]
                tile = place[across] * grid.shape[along] + place[along]
                operands[chosen, column] = first_tile[matrix] + tile
    return operands


def _sums(pair: Ints, cores: int, tiles: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the partial sums of every core.

    Parameters
    ----------
    pair : (n,)
        Tile of a result that each product is part of, and the core that has it, as one number.

    Returns
    -------
    tuple
        (n,) The tensor that each product is added to, and the first product of that tensor; (p,)
        the tile that each partial tile is for, and its core.
    """
    first: Ints = np.full(tiles * cores, -1, np.int64)
    # Written backwards, so that the first product remains.
    first[pair[::-1]] = np.arange(pair.size)[::-1]  # of several in one place the last one stays
    pairs = np.flatnonzero(first >= 0)
    tile, core = np.divmod(pairs, cores)
    others = np.flatnonzero(tile[1:] == tile[:-1]) + 1
    into = np.empty_like(first)
    into[pairs] = tile
    into[pairs[others]] = tiles + np.arange(others.size)
    return into[pair], first[pair], tile[others], core[others]


def _first_in_step(step: Ints, tensor: Ints) -> Bools:
    """Return whether an access, by step, is the first one of its tensor in its step."""
    pair = step * (tensor.max() + 1) + tensor
    first: Bools = np.zeros(step.size, bool)
    first[np.unique(pair, return_index=True)[1]] = True
    return first


def _each_once(amounts: Ints, cycles: Callable[..., int]) -> Ints:
    """(k,) Compute cycles of each column of amounts, few of which differ."""
    different, back = np.unique(amounts, axis=1, return_inverse=True)
    found = np.array([cycles(*column) for column in different.T.tolist()], np.int64)
    return found[back.reshape(-1)]


def _wait_for_banks(machine: Machine, line: Timeline) -> Timeline:
    """Return a timeline that computes for no fewer cycles than the scratchpad's banks take."""
    if machine.memory is None or machine.memory.rates is None:
        return line
    moved = np.stack((line.spm_read_bytes, line.spm_write_bytes))
    banks = _each_once(moved, lambda *amounts: access_cycles(machine, *amounts))
    return replace(line, compute_cycles=np.maximum(line.compute_cycles, banks))
