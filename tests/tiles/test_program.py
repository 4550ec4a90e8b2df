"""Passes in arrays: against plain loops, and against the arrays of their problems."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from results.shared.forward import forward_on_cores, forward_order
from spmopt.core.machine import Machine, SystolicArray
from spmopt.core.problem import Problem
from spmopt.core.table import Ints
from spmopt.core.timeline import Timeline, timeline_in_order
from spmopt.graph.cycles import compute_cycles
from spmopt.graph.operators.spec import Gemm
from spmopt.tiles.fetches import backward, forward
from spmopt.tiles.layer import TileGrid
from spmopt.tiles.order import Order, Walk
from spmopt.tiles.partition import Partition, on_cores
from spmopt.tiles.program import AXES, IDLE, INPUTS, RESULTS, PassProgram
from tests.thorough import share
from tests.tiles.cases import ANY_ORDER, ANY_WALK, grid, machine

GRIDS = st.builds(grid, st.tuples(*[st.integers(1, 9)] * 3), st.tuples(*[st.integers(1, 4)] * 3))
MACHINES = st.builds(
    lambda array: replace(machine(10**6), array=array),
    st.sampled_from(
        [None, *(SystolicArray(rows=2, columns=3, dataflow=flow) for flow in ("os", "ws", "is"))]
    ),
)


Place = tuple[int, int, int]
Tile = tuple[str, int, int]
"""Matrix, row and column."""


@dataclass(frozen=True)
class Told:
    """One operation, by names."""

    name: str
    reads: list[str]
    writes: list[str]
    after: list[str]
    cycles: int
    macs: int


class Plain:
    """Operations of steps and cores, product by product."""

    def __init__(self, cells: TileGrid, spm: Machine, table: Ints) -> None:
        self._cells, self._spm, self._cores = cells, spm, table.shape[1]
        self._steps = [
            [(core, *self._product(number)) for core, number in enumerate(row) if number != IDLE]
            for row in table.tolist()
        ]
        self._summing: dict[Tile, set[int]] = {}
        self._last: dict[Tile, int] = {}
        for number, step in enumerate(self._steps):
            for core, result, place in step:
                self._summing.setdefault(_tile(result, place), set()).add(core)
                self._last[_tile(result, place)] = number
        self._began: dict[str, str] = {}
        self._parts: dict[Tile, list[str]] = {}

    def run(self, *, add_early: bool) -> Iterator[Told]:
        """All operations; additions tile by tile at the end, or after the step of the last part."""
        summed = sorted(
            (tile for tile, cores in self._summing.items() if len(cores) > 1),
            key=lambda tile: (RESULTS.index(tile[0]), tile),
        )
        for number, step in enumerate(self._steps):
            yield self._step(step)
            if add_early:
                yield from (self._addition(tile) for tile in summed if self._last[tile] == number)
        if not add_early:
            yield from map(self._addition, summed)

    def _product(self, number: int) -> tuple[str, Place]:
        _, inner, columns = self._cells.shape
        result, number = divmod(number, self._cells.products)
        row, number = divmod(number, inner * columns)
        return RESULTS[result], (row, *divmod(number, columns))

    def _step(self, step: list[tuple[int, str, Place]]) -> Told:
        names = [f"{result}({i},{k},{j})" for _, result, (i, k, j) in step]
        name = "+".join(names)
        inputs = [_named(_tile(matrix, at)) for _, made, at in step for matrix in INPUTS[made]]
        reads = list(dict.fromkeys(inputs))
        writes, after, cycles, macs = [], set(), [], 0
        for core, result, place in step:
            tile = _tile(result, place)
            own = _named(tile, core if core > min(self._summing[tile]) else None)
            writes.append(own)
            if own in self._began:
                reads.append(own)
                after.add(self._began[own])
            self._began.setdefault(own, name)
            self._parts.setdefault(tile, []).append(name)
            m, k, n = self._lengths(place)
            rows, summed, columns = {"dX": (m, n, k), "dW": (k, m, n), "Y": (m, k, n)}[result]
            product = Gemm(m=rows, k=summed, n=columns)
            cycles.append(compute_cycles(self._spm, self._cores * 2 * m * k * n, product))
            macs += m * k * n
        return Told(name, reads, writes, sorted(after), max(cycles), macs)

    def _addition(self, tile: Tile) -> Told:
        _, *others = sorted(self._summing[tile])
        matrix, *place = tile
        sides = (self._cells.sides[axis] for axis in AXES[matrix])
        rows, columns = (int(side[at]) for side, at in zip(sides, place, strict=True))
        return Told(
            name=f"sum {_named(tile)}",
            reads=[_named(tile), *(_named(tile, core) for core in others)],
            writes=[_named(tile)],
            after=sorted(set(self._parts[tile])),
            cycles=compute_cycles(self._spm, rows * columns * len(others), None),
            macs=0,
        )

    def _lengths(self, place: Place) -> tuple[int, int, int]:
        m, k, n = (int(side[at]) for side, at in zip(self._cells.sides, place, strict=True))
        return m, k, n


def _tile(matrix: str, place: Place) -> Tile:
    row, column = (place[axis] for axis in AXES[matrix])
    return matrix, row, column


def _named(tile: Tile, core: int | None = None) -> str:
    matrix, row, column = tile
    return f"{matrix}{'' if core is None else f'@{core}'}[{row},{column}]"


def told(problem: Problem) -> list[Told]:
    """The operations of a problem, likewise."""
    names, operations = problem.tensor_names, problem.operations
    return [
        Told(
            name=operation.name,
            reads=[names[t] for t in operation.reads],
            writes=[names[t] for t in operation.writes],
            after=sorted(operations[before].name for before in operation.predecessors),
            cycles=operation.mappings[0].compute_cycles,
            macs=operation.mappings[0].macs,
        )
        for operation in operations
    ]


def require_same(found: Timeline, problem: Problem) -> None:
    """Check that every array is that of the problem."""
    wanted = timeline_in_order(problem)
    assert found.chosen == wanted.chosen
    assert found.moved.plain
    assert np.array_equal(found.moved.ratio, wanted.moved.ratio)
    for field in (each for each in fields(Timeline)[1:] if each.name != "moved"):
        ours, theirs = getattr(found, field.name), getattr(wanted, field.name)
        assert ours.dtype == theirs.dtype, field.name
        assert np.array_equal(ours, theirs), field.name


@settings(max_examples=share(150), deadline=None)
@given(
    cells=GRIDS,
    order=ANY_ORDER,
    spm=MACHINES,
    cut=st.builds(Partition, axis=st.sampled_from("mkn"), parts=st.integers(1, 9)),
    cores=st.integers(1, 8),
    input_gradient=st.booleans(),
    add_early=st.booleans(),
    element_bytes=st.sampled_from([1, 2, 4]),
)
def test_gradients(
    *,
    cells: TileGrid,
    order: Order,
    spm: Machine,
    cut: Partition,
    cores: int,
    input_gradient: bool,
    add_early: bool,
    element_bytes: int,
) -> None:
    for products in (
        order.through(cells, input_gradient=input_gradient),
        on_cores(cells, cut, order, cores, input_gradient=input_gradient),
    ):
        problem = backward(cells, spm, products, element_bytes=element_bytes, add_early=add_early)
        table = products.reshape(products.shape[0], -1)
        assert told(problem) == list(Plain(cells, spm, table).run(add_early=add_early))
        program = PassProgram.of(
            cells, spm, products, element_bytes=element_bytes, add_early=add_early
        )
        require_same(program.line, problem)


@settings(max_examples=share(50), deadline=None)
@given(cells=GRIDS, walk=ANY_WALK, spm=MACHINES, cores=st.integers(1, 8))
def test_forward(*, cells: TileGrid, walk: Walk, spm: Machine, cores: int) -> None:
    for products in (forward_order(cells, walk), forward_on_cores(cells, cores, walk)):
        problem = forward(cells, spm, products)
        table = products.reshape(products.shape[0], -1)
        assert told(problem) == list(Plain(cells, spm, table).run(add_early=False))
        require_same(PassProgram.of(cells, spm, products).line, problem)
