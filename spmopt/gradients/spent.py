"""What gradients cost: sums over products, layers and networks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import reduce

import numpy as np

from spmopt.core.instance import Instance
from spmopt.core.result import Totals
from spmopt.core.schedule import Command, Schedule
from spmopt.core.table import Ints

MATRICES = ("dY", "X", "W", "dX", "dW")
_INWARD = (Command.LOAD, Command.STREAM_IN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """Bytes of each of :data:`MATRICES` that were read from DRAM, and written to it."""

    read_bytes: tuple[int, ...]
    written_bytes: tuple[int, ...]

    @classmethod
    def of(cls, instance: Instance, schedule: Schedule) -> Moved:
        """Sort the DMA commands of a schedule by matrix; partial tiles are of the matrix too."""
        names = [_matrix(name) for name in instance.tensor_names]
        matrix = np.array([MATRICES.index(name) for name in names], np.int64)
        commands = schedule.commands
        size: Ints = (commands.end - commands.begin) * commands.passes
        inward = np.isin(commands.kind, _INWARD)
        totals = []
        for some in (inward, ~inward):
            found = np.zeros(len(MATRICES), np.int64)
            np.add.at(found, matrix[commands.tensor[some]], size[some])
            totals.append(tuple(found.tolist()))
        return cls(read_bytes=totals[0], written_bytes=totals[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Exact figures of verified schedules, and what no schedule is below.

    Attributes
    ----------
    products
        Tile products, of dX and dW together.
    compulsory_bytes
        Every input once, every result once.
    traffic_bound_bytes, makespan_bound_cycles
        Of all orders of the same tiles, and all replacements.
    order_bound
        Certified for the order that was run, in the unit of the objective; None: not asked for.
    """

    moved: Moved
    products: int
    compute_cycles: int
    dma_cycles: int
    makespan_cycles: int
    compulsory_bytes: int
    traffic_bound_bytes: int
    makespan_bound_cycles: int
    order_bound: Fraction | None = None

    @property
    def dram_in_bytes(self) -> int:
        """Bytes read."""
        return sum(self.moved.read_bytes)

    @property
    def dram_out_bytes(self) -> int:
        """Bytes written."""
        return sum(self.moved.written_bytes)

    @property
    def traffic_bytes(self) -> int:
        """Bytes both ways."""
        return self.dram_in_bytes + self.dram_out_bytes

    @property
    def compulsory_ratio(self) -> float:
        """Traffic in terms of the compulsory."""
        return self.traffic_bytes / self.compulsory_bytes

    @property
    def gap(self) -> float:
        """Traffic above the bound of all orders."""
        return self.traffic_bytes / self.traffic_bound_bytes - 1

    @property
    def time_gap(self) -> float:
        """Makespan above the bound of all orders."""
        return self.makespan_cycles / self.makespan_bound_cycles - 1

    def order_gap(self, objective: str) -> float | None:
        """Objective (``time`` or ``traffic``) above the certified bound of the order."""
        if not self.order_bound:
            return None
        value = self.makespan_cycles if objective == "time" else self.traffic_bytes
        return float(value / self.order_bound - 1)

    @property
    def bound_by(self) -> str:
        """What takes more cycles: ``compute``, or ``memory``."""
        return "compute" if self.compute_cycles >= self.dma_cycles else "memory"

    def times(self, count: int) -> Spent:
        """Return ``count`` of these, one after another."""
        moved = Moved(
            read_bytes=tuple(count * size for size in self.moved.read_bytes),
            written_bytes=tuple(count * size for size in self.moved.written_bytes),
        )
        bound = None if self.order_bound is None else count * self.order_bound
        counted = {name: count * getattr(self, name) for name in COUNTS}
        return Spent(moved=moved, order_bound=bound, **counted)

    def __add__(self, other: Spent) -> Spent:
        """Both, one after the other."""
        pairs = (
            (self.moved.read_bytes, other.moved.read_bytes),
            (self.moved.written_bytes, other.moved.written_bytes),
        )
        read, written = (tuple(map(sum, zip(*pair, strict=True))) for pair in pairs)
        bounds = (self.order_bound, other.order_bound)
        summed = {name: getattr(self, name) + getattr(other, name) for name in COUNTS}
        known = [bound for bound in bounds if bound is not None]
        return Spent(
            moved=Moved(read_bytes=read, written_bytes=written),
            order_bound=sum(known, Fraction()) if len(known) == len(bounds) else None,
            **summed,
        )


COUNTS = tuple(field.name for field in fields(Spent) if field.name not in ("moved", "order_bound"))
"""Figures that are numbers of their own."""


def total(spent: Iterable[Spent]) -> Spent:
    """Sum of at least one."""
    return reduce(Spent.__add__, spent)


def spent(
    instance: Instance,
    schedule: Schedule,
    totals: Totals,
    *,
    products: int,
    compulsory_bytes: int,
    traffic_bound_bytes: int,
    makespan_bound_cycles: int,
    order_bound: Fraction | None,
) -> Spent:
    """Figures of one verified schedule."""
    return Spent(
        moved=Moved.of(instance, schedule),
        products=products,
        compute_cycles=totals.compute_cycles,
        dma_cycles=totals.dma_cycles,
        makespan_cycles=totals.makespan_cycles,
        compulsory_bytes=compulsory_bytes,
        traffic_bound_bytes=traffic_bound_bytes,
        makespan_bound_cycles=makespan_bound_cycles,
        order_bound=order_bound,
    )


def _matrix(tile: str) -> str:
    """``dW`` of ``dW[0,1]`` and of ``dW@1[0,1]``."""
    return tile.partition("[")[0].partition("@")[0]
