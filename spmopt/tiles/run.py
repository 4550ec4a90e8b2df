"""Run a case: problem, schedule, verifier, figures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from time import monotonic

import numpy as np

from spmopt.assemble import assemble
from spmopt.core.errors import InputError, ScheduleError
from spmopt.core.problem import Problem
from spmopt.core.result import Result, Status
from spmopt.core.schedule import Command, Schedule
from spmopt.core.scheduler import Request
from spmopt.schedulers.registry import Kind, SchedulerEntry, find
from spmopt.solving import solve
from spmopt.tiles.bounds import makespan_bound, traffic_bound
from spmopt.tiles.case import (
    DOUBLE_BUFFER,
    ChosenCase,
    LayerCase,
    choose,
    finalists,
    problem_of,
)
from spmopt.tiles.partition import parse_partition
from spmopt.tiles.program import product_cycles
from spmopt.verifier import require_legal

MATRICES = ("dY", "X", "W", "dX", "dW")
_INWARD = (Command.LOAD, Command.STREAM_IN)
_OPERANDS = 3


def matrix_traffic(problem: Problem, schedule: Schedule) -> tuple[tuple[int, ...], ...]:
    """Sum the bytes that DMA commands read of each of :data:`MATRICES`, and those that they write.

    Those of partial tiles are of the matrix too.
    """
    # ``dW`` of ``dW[0,1]`` and of ``dW@1[0,1]``.
    names = [name.partition("[")[0].partition("@")[0] for name in problem.tensor_names]
    matrix = np.array([MATRICES.index(name) for name in names], np.int64)
    commands = schedule.commands
    found = np.zeros((2, len(MATRICES)), np.int64)
    outward = (~np.isin(commands.kind, _INWARD)).astype(np.int64)
    size = (commands.end - commands.begin) * commands.fetches
    np.add.at(found, (outward, matrix[commands.tensor]), size)
    return tuple(map(tuple, found.tolist()))


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerCost:
    """Exact figures of verified schedules, and lower bounds.

    Attributes
    ----------
    read_bytes, written_bytes
        Of each of :data:`MATRICES`, from and to DRAM.
    products
        Tile products, of dX and dW together.
    compulsory_bytes
        Every tile of an input and of a result once.
    traffic_bound_bytes, makespan_bound_cycles
        Of all orders of the same tiles, and all replacements.
    order_bound
        Certified for the order that was run, in the unit of the objective; None: not asked for.
    """

    read_bytes: tuple[int, ...]
    written_bytes: tuple[int, ...]
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
        return sum(self.read_bytes)

    @property
    def dram_out_bytes(self) -> int:
        """Bytes written."""
        return sum(self.written_bytes)

    @property
    def traffic_bytes(self) -> int:
        """Bytes both ways."""
        return self.dram_in_bytes + self.dram_out_bytes

    @property
    def gap(self) -> float:
        """Traffic above the bound of all orders."""
        return self.traffic_bytes / self.traffic_bound_bytes - 1

    @property
    def time_gap(self) -> float:
        """Makespan above the bound of all orders."""
        return self.makespan_cycles / self.makespan_bound_cycles - 1

    @property
    def bound_by(self) -> str:
        """The larger of: ``compute``, or ``memory``."""
        return "compute" if self.compute_cycles >= self.dma_cycles else "memory"

    def value(self, objective: str) -> int:
        """Return the makespan for ``time``, or the traffic."""
        return self.makespan_cycles if objective == "time" else self.traffic_bytes

    def order_gap(self, objective: str) -> float | None:
        """Return the objective above the certified bound of the order."""
        return float(self.value(objective) / self.order_bound - 1) if self.order_bound else None


_OTHERS = ("read_bytes", "written_bytes", "order_bound")
COUNTS = tuple(field.name for field in fields(LayerCost) if field.name not in _OTHERS)
"""Figures that are numbers of their own."""


def total(counted: Iterable[tuple[int, LayerCost]]) -> LayerCost:
    """Sum figures, each so many times: of at least one."""
    pairs = list(counted)

    def total_of(values: Iterable[int]) -> int:
        return sum(count * value for (count, _), value in zip(pairs, values, strict=True))

    costs = [cost for _, cost in pairs]
    bounds = [count * cost.order_bound for count, cost in pairs if cost.order_bound is not None]
    return LayerCost(
        read_bytes=tuple(map(total_of, zip(*(cost.read_bytes for cost in costs), strict=True))),
        written_bytes=tuple(
            map(total_of, zip(*(cost.written_bytes for cost in costs), strict=True))
        ),
        order_bound=sum(bounds, Fraction()) if len(bounds) == len(pairs) else None,
        **{name: total_of(getattr(cost, name) for cost in costs) for name in COUNTS},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerResult:
    """A case, its runs, and their costs.

    Attributes
    ----------
    case
        As asked.
    ran
        The same with tile, order and partition, this in as many parts as were made;
        ``algorithm-1`` as it chose, but for partitions, in which it chooses for every piece.
    cost
        Of all groups of the layer.
    status
        ``optimal``: the certificate of the order proves it; for the order, that is.
    solve_s
        Seconds of the replacement for one group.
    notes
        Of the replacement, and of the search for an order.
    """

    case: LayerCase
    ran: LayerCase
    cost: LayerCost
    status: Status
    solve_s: float
    notes: tuple[str, ...] = ()

    @property
    def value(self) -> tuple[int, int]:
        """The objective; then the other one."""
        other = "traffic" if self.case.objective == "time" else "time"
        return self.cost.value(self.case.objective), self.cost.value(other)

    @property
    def time_s(self) -> float:
        """Makespan."""
        return self.cost.makespan_cycles / self.case.machine.clock_hz


def run(case: LayerCase) -> LayerResult:
    """Make the open choices of the case, schedule, verify.

    Raises
    ------
    InputError
        Tiles that do not fit, or no schedule within the time limit.
    ScheduleError
        An illegal schedule, which is an error in the replacement.
    """
    return best(finish(case, each) for each in finalists(case, map(choose, case.candidates())))


def best(rows: Iterable[LayerResult]) -> LayerResult:
    """Return the best one; the first of equals."""
    return min(rows, key=lambda each: each.value)


def finish(case: LayerCase, chosen: ChosenCase) -> LayerResult:
    """Schedule one of the finalists of ``case``."""
    return _row(case, replace(chosen.case, replacement=case.replacement))


def _row(case: LayerCase, ran: LayerCase) -> LayerResult:
    grid, problem = ran.grid, problem_of(ran)
    request = Request(
        objective=ran.goal, tolerance=ran.tolerance, time_limit_s=ran.time_limit_s, threads=1
    )
    result = solve_layer(problem, ran.entry, request)
    if result.schedule is None or result.totals is None:
        raise InputError(
            f"layer {ran.layer.name}: {ran.replacement} found no schedule within "
            f"{ran.time_limit_s:g} s; give a higher --time-limit"
        )
    bound = traffic_bound(
        grid, ran.machine, element_bytes=ran.element_bytes, input_gradient=ran.input_gradient
    )
    # The proof cuts a schedule after any tile product; cores compute several at once.
    least = bound.size_bytes if ran.cores == 1 else bound.compulsory_bytes
    read, written = matrix_traffic(problem, result.schedule)
    found = LayerCost(
        read_bytes=read,
        written_bytes=written,
        products=grid.products * (1 + ran.input_gradient),
        compute_cycles=result.totals.compute_cycles,
        dma_cycles=result.totals.dma_cycles,
        makespan_cycles=result.totals.makespan_cycles,
        compulsory_bytes=bound.compulsory_bytes,
        traffic_bound_bytes=least,
        makespan_bound_cycles=_least_cycles(ran, problem, least),
        order_bound=result.bound,
    )
    if found.traffic_bytes < least or found.makespan_cycles < found.makespan_bound_cycles:
        raise ScheduleError(
            f"layer {case.layer.name}: the schedule is below the bound of all orders"
        )
    idle = ran.cores - parse_partition(ran.partition).parts if ran.cores > 1 else 0
    return LayerResult(
        case=case,
        ran=ran,
        cost=total([(case.layer.groups, found)]),
        status=result.status,
        solve_s=result.solve_s,
        notes=(
            *([f"cut into {ran.partition}, {idle} of {ran.cores} cores stay idle"] * (idle > 0)),
            *result.notes,
        ),
    )


def _least_cycles(case: LayerCase, problem: Problem, traffic_bytes: int) -> int:
    """Bound cycles of any order; several cores share the computing as evenly as can be."""
    grid, machine = case.grid, case.machine
    # What banks take depends on the order: the first product of a tile reads no sum.
    if case.cores == 1 and (machine.memory is None or machine.memory.rates is None):
        computing = sum(operation.mappings[0].compute_cycles for operation in problem.operations)
    else:
        own = product_cycles(grid, machine, case.cores)
        computing = int(own.sum() if case.input_gradient else own[grid.products :].sum())
    return makespan_bound(machine, -(-computing // case.cores), traffic_bytes)


def solve_layer(problem: Problem, replacement: SchedulerEntry, request: Request) -> Result:
    """Schedule and verify: by a policy without a bound, which would take longer, or an optimizer.

    An optimizer that stops above its tolerance is compared with double buffering, which is none of
    the policies that it starts from, and is never worse.

    Raises
    ------
    ScheduleError
        An illegal schedule, which is an error in the replacement.
    """
    if replacement.kind is Kind.POLICY:
        return _by_policy(problem, replacement, request)
    found = solve(problem, replacement.name, request)
    if (
        found.totals is None
        or found.status is Status.OPTIMAL
        or replacement.granularity == "contiguous"  # double buffering uses any pages
    ):
        return found
    other = _by_policy(problem, find(DOUBLE_BUFFER), request)
    if other.totals is None:
        return found
    value, bound = other.totals.value(request.objective), found.bound
    if value >= found.totals.value(request.objective):
        return found
    # The bound is of the problem, so it judges this schedule too.
    proved = bound is not None and value <= bound * (1 + Fraction(request.tolerance))
    return replace(
        other,
        status=Status.OPTIMAL if proved else Status.FEASIBLE,
        solve_s=found.solve_s + other.solve_s,
        bound=bound,
        notes=(*found.notes, f"nothing better found than {DOUBLE_BUFFER}, whose schedule this is"),
    )


def _by_policy(problem: Problem, policy: SchedulerEntry, request: Request) -> Result:
    begin = monotonic()
    outcome = policy.load()(problem, request)
    found = Result(
        scheduler=policy.name,
        objective=request.objective,
        status=Status.UNKNOWN,
        solve_s=monotonic() - begin,
    )
    schedule = outcome.schedule
    if schedule is None:
        if outcome.residency_plan is None:
            return found
        schedule = assemble(problem, outcome.residency_plan)
    totals = require_legal(problem, schedule).totals
    if totals is None:
        raise ScheduleError(f"{problem.name}: {policy.name}: the verifier gave no totals")
    return replace(found, status=Status.FEASIBLE, schedule=schedule, totals=totals, verified=True)
