"""A case to execute: an order, its schedules, and whether they compute the exact gradients."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from spmopt.assemble import assemble
from spmopt.core.objective import Objective
from spmopt.core.problem import Problem
from spmopt.core.schedule import Command, Schedule
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints
from spmopt.schedulers.registry import find
from spmopt.tiles.fetches import backward
from spmopt.tiles.layer import TileGrid
from spmopt.verifier import require_legal
from tests.policies.owed import residency_plan_of
from tests.tiles.cases import machine
from tests.tiles.maps import convolved, sizes
from tests.tiles.simulate import Matrix, simulate


def numbers(cells: TileGrid) -> dict[str, Matrix]:
    """Small integers, so that every sum is exact."""
    draw, layer = np.random.default_rng(1), cells.layer
    shapes: dict[str, tuple[int, ...]] = {
        "dY": (layer.m, layer.n),
        "X": (layer.m, layer.k),
        "W": (layer.k, layer.n),
    }
    if layer.window is not None:
        shapes["X"] = sizes(layer)
    return {name: draw.integers(-9, 10, shape).astype(np.int32) for name, shape in shapes.items()}


def matrix_of(cells: TileGrid, x: Matrix) -> Matrix:
    """X as products see it: the im2col matrix of a feature map."""
    return x if cells.layer.window is None else convolved(cells.layer, x)


def gradient_of(cells: TileGrid, dx: Matrix) -> Matrix:
    """dX of the im2col matrix as the layer before needs it: each element is the sum of its places.

    The transpose of im2col, found by sending each element through it alone.
    """
    if cells.layer.window is None:
        return dx
    found: Matrix = np.zeros(sizes(cells.layer), np.int32)
    for place in np.ndindex(*found.shape):
        one: Matrix = np.zeros_like(found)
        one[place] = 1
        found[place] = (convolved(cells.layer, one) * dx).sum()
    return found


@dataclass(frozen=True)
class Case:
    """A layer in tiles, an order on any number of cores, and what schedulers are asked for."""

    cells: TileGrid
    order: Ints
    spm_bytes: int
    resident: bool
    objective: Objective
    schedulers: tuple[str, ...] = ("belady", "residency")
    add_early: bool = False

    @cached_property
    def problem(self) -> Problem:
        small = machine(self.spm_bytes, page_bytes=16)
        return backward(
            self.cells, small, self.order, resident=self.resident, add_early=self.add_early
        )

    @cached_property
    def given(self) -> dict[str, Matrix]:
        return numbers(self.cells)

    def schedules(self) -> list[Schedule]:
        """Legal ones, each scheduler asked alone: no test here reads a bound or needs the best."""
        request = Request(objective=self.objective, tolerance=0.3, threads=1)
        residency_plans = [
            residency_plan_of(find(name).load()(self.problem, request)) for name in self.schedulers
        ]
        found = [assemble(self.problem, residency_plan) for residency_plan in residency_plans]
        for schedule in found:
            require_legal(self.problem, schedule)
        return found

    def check(self, schedule: Schedule) -> None:
        """Every product once, and the gradients exact."""
        computed = simulate(self.cells, self.problem, schedule, self.given)
        both = bool(((self.order >= 0) & (self.order < self.cells.products)).any())
        expected = [
            f"{gradient}({i},{k},{j})"
            for gradient in (("dX", "dW") if both else ("dW",))
            for i, k, j in np.ndindex(self.cells.shape)
        ]
        ran = [name for step in computed.ran for name in step.split("+")]
        assert sorted(name for name in ran if not name.startswith("sum")) == sorted(expected)
        x, w, dy = (self.given[name] for name in ("X", "W", "dY"))
        assert np.array_equal(computed.dw, matrix_of(self.cells, x).T @ dy)
        assert not both or np.array_equal(computed.dx, gradient_of(self.cells, dy @ w.T))

    def partial_sums_return(self, schedule: Schedule) -> bool:
        """Whether a tile of dX or dW is brought in from DRAM."""
        commands = schedule.commands
        inward = np.isin(commands.kind, (Command.LOAD, Command.STREAM_IN))
        names = [self.problem.tensors[t].name for t in commands.tensor[inward].tolist()]
        return any(name.startswith(("dX", "dW")) for name in names)
