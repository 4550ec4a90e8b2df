"""Verified figures of what is no case of gradients: the forward pass, and a dY that is free."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from functools import cache, reduce

from spmopt.core.errors import ScheduleError
from spmopt.core.instance import Instance, Operation
from spmopt.core.machine import Machine
from spmopt.core.objective import MAKESPAN
from spmopt.core.result import Totals
from spmopt.core.schedule import Schedule
from spmopt.core.scheduler import Request
from spmopt.schedulers.registry import find
from spmopt.studies.gradients.technique import LIMIT_S, TOLERANCE
from spmopt.tiles.case import Case, instance_of
from spmopt.tiles.layer import Grid, Layer, Tile
from spmopt.tiles.order import Order, Walk
from spmopt.tiles.partition import Partition, on_cores
from spmopt.tiles.passes import BY_ROWS, forward, forward_on_cores, forward_order, mirrored_layer
from spmopt.tiles.run import Moved, Row, solved
from spmopt.tiles.tiling import choose_tile

_DY = 0
_MIRRORED = Order(dx=BY_ROWS, dw=Walk(loops="kji"), alternate=False)
"""The walk of the forward pass, in the mirrored grid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Cycles and bytes; ``dy_bytes`` of ``read_bytes`` are of dY."""

    cycles: int
    traffic_bytes: int
    read_bytes: int
    dy_bytes: int = 0
    compulsory_bytes: int = 0
    bound_bytes: int = 0

    def times(self, count: int) -> Cost:
        """Return ``count`` of these, one after another."""
        return Cost(**{field.name: count * getattr(self, field.name) for field in fields(self)})

    def __add__(self, other: Cost) -> Cost:
        """Both, one after the other."""
        names = [field.name for field in fields(self)]
        return Cost(**{name: getattr(self, name) + getattr(other, name) for name in names})


def total(costs: Iterable[Cost]) -> Cost:
    """Sum of any number."""
    return reduce(Cost.__add__, costs, Cost(cycles=0, traffic_bytes=0, read_bytes=0))


def of_row(row: Row) -> Cost:
    """What a verified backward pass costs."""
    spent = row.spent
    return Cost(
        cycles=spent.makespan_cycles,
        traffic_bytes=spent.traffic_bytes,
        read_bytes=spent.dram_in_bytes,
        dy_bytes=spent.moved.read_bytes[_DY],
        compulsory_bytes=spent.compulsory_bytes,
        bound_bytes=spent.traffic_bound_bytes,
    )


def forward_pass(
    layer: Layer, machine: Machine, cores: int, replacement: str, element_bytes: int
) -> Cost:
    """Y of all groups of a layer, its tile chosen under double buffering; verified."""
    grid = Grid(layer=layer, tile=_forward_tile(layer, machine, cores, element_bytes))
    order = forward_order(grid) if cores == 1 else forward_on_cores(grid, cores)
    instance = forward(grid, machine, order, element_bytes=element_bytes)
    _, totals = verified(instance, replacement)
    return _of_totals(totals).times(layer.groups)


def second_read_free(ran: Case) -> Cost:
    """The case of a sequential order, but that dW has dY for nothing (section 3.3).

    dX reads dY as ever; a product of dW then has two operands, X and dW. What is measured is the
    backward pass of all groups.
    """
    instance = instance_of(ran)
    schedule, totals = verified(without_second_read(instance), ran.replacement)
    cost = replace(_of_totals(totals), dy_bytes=Moved.of(instance, schedule).read_bytes[_DY])
    return cost.times(ran.layer.groups)


def without_second_read(instance: Instance) -> Instance:
    """Return a backward pass on one core in which products of dW have no operand dY."""
    names = instance.tensor_names

    def free(operation: Operation) -> Operation:
        reads = tuple(t for t in operation.reads if not names[t].startswith("dY["))
        mode = operation.modes[0]
        left = len({*reads, *operation.writes})
        return replace(
            operation, reads=reads, modes=(replace(mode, operands=mode.operands[:left]),)
        )

    return replace(
        instance,
        operations=tuple(free(op) if op.kind == "dW" else op for op in instance.operations),
    )


def verified(instance: Instance, replacement: str) -> tuple[Schedule, Totals]:
    """Schedule for time.

    Raises
    ------
    ScheduleError
        An illegal schedule, or none.
    """
    request = Request(objective=MAKESPAN, tolerance=TOLERANCE, time_limit_s=LIMIT_S, threads=1)
    found = solved(instance, find(replacement), request)
    if found is None:
        raise ScheduleError(f"{instance.name}: {replacement} found no schedule")
    return found.schedule, found.totals


@cache
def _forward_tile(layer: Layer, machine: Machine, cores: int, element_bytes: int) -> Tile:
    """Tile by double buffering, the same for every replacement."""
    cut = Partition(axis="k", parts=cores)
    found = choose_tile(
        mirrored_layer(layer),
        machine,
        order=lambda grid: (
            _MIRRORED.through(grid, input_gradient=False)
            if cores == 1
            else on_cores(grid, cut, _MIRRORED, cores, input_gradient=False)
        ),
        element_bytes=element_bytes,
        cores=cores,
    ).tile
    return Tile(m=found.k, k=found.m, n=found.n)


def _of_totals(totals: Totals) -> Cost:
    return Cost(
        cycles=totals.makespan_cycles,
        traffic_bytes=totals.dram_in_bytes + totals.dram_out_bytes,
        read_bytes=totals.dram_in_bytes,
    )
