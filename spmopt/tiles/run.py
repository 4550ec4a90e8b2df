"""Run a case: instance, schedule, verifier, figures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import reduce
from importlib import import_module
from time import monotonic
from typing import Protocol, cast

import numpy as np

from spmopt.assemble import assemble
from spmopt.core.errors import InputError, ScheduleError
from spmopt.core.instance import Instance
from spmopt.core.result import Status, Totals
from spmopt.core.schedule import Command, Schedule
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints
from spmopt.schedulers.registry import Kind, SchedulerEntry, find
from spmopt.solve import solve
from spmopt.tiles.bounds import makespan_bound, traffic_bound
from spmopt.tiles.case import (
    DOUBLE_BUFFER,
    OPTIMAL,
    SEARCHED,
    Case,
    Chosen,
    choose,
    finalists,
    instance_of,
)
from spmopt.tiles.order import format_order
from spmopt.tiles.order_search import good_order
from spmopt.tiles.partition import parse_partition
from spmopt.tiles.program import product_cycles
from spmopt.verify import require_legal


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What was asked, what was run for it, and what that costs.

    Attributes
    ----------
    case
        As asked.
    ran
        The same with tile, order and partition, this in as many parts as were made;
        ``algorithm-1`` as it chose, but for partitions, in which it chooses for every piece.
    spent
        Of all groups of the layer.
    status
        ``optimal``: the certificate of the order proves it; for the order, that is.
    solve_s
        Seconds of the replacement for one group.
    notes
        Of the replacement, and of the search for an order.
    """

    case: Case
    ran: Case
    spent: Spent
    status: Status
    solve_s: float
    notes: tuple[str, ...] = ()

    @property
    def value(self) -> tuple[int, int]:
        """The objective; then the other one."""
        time, traffic = self.spent.makespan_cycles, self.spent.traffic_bytes
        return (time, traffic) if self.case.objective == "time" else (traffic, time)

    @property
    def time_s(self) -> float:
        """Makespan."""
        return self.spent.makespan_cycles / self.case.machine.clock_hz


def run(case: Case) -> Row:
    """Choose what the case leaves open, schedule, verify.

    Raises
    ------
    InputError
        Tiles that do not fit, or no schedule within the time limit.
    ScheduleError
        An illegal schedule, which is an error in the replacement.
    """
    return best(finish(case, each) for each in finalists(case, map(choose, case.candidates())))


def best(rows: Iterable[Row]) -> Row:
    """Return the best one; the first of equals."""
    return min(rows, key=lambda each: each.value)


def finish(case: Case, chosen: Chosen) -> Row:
    """Schedule one of the finalists of ``case``, and in what was searched for if that is better."""
    named = replace(chosen.case, replacement=case.replacement)
    row = _row(case, named)
    if not case.is_searched:
        return row
    other, notes = searched(case.order, named)
    found = row if other == named else best((row, _row(case, other)))
    return replace(found, notes=(*notes, *found.notes))


def _row(case: Case, ran: Case) -> Row:
    grid, instance = ran.grid, instance_of(ran)
    scheduled = _solved(instance, ran)
    bytes_bound = traffic_bound(
        grid,
        ran.machine,
        element_bytes=ran.element_bytes,
        input_gradient=ran.input_gradient,
    )
    # The proof cuts a schedule after any tile product; cores compute several at once.
    least = bytes_bound.size_bytes if ran.cores == 1 else bytes_bound.compulsory_bytes
    found = spent(
        instance,
        scheduled.schedule,
        scheduled.totals,
        products=grid.products * (1 + ran.input_gradient),
        compulsory_bytes=bytes_bound.compulsory_bytes,
        traffic_bound_bytes=least,
        makespan_bound_cycles=_least_cycles(ran, instance, least),
        order_bound=scheduled.order_bound,
    )
    if found.traffic_bytes < least or found.makespan_cycles < found.makespan_bound_cycles:
        raise ScheduleError(
            f"layer {case.layer.name}: the schedule is below the bound of all orders"
        )
    return Row(
        case=case,
        ran=ran,
        spent=found.times(case.layer.groups),
        status=scheduled.status,
        solve_s=scheduled.solve_s,
        notes=(*_idle(ran), *scheduled.notes),
    )


def _idle(ran: Case) -> tuple[str, ...]:
    """What is to be said of cores that have no part of the layer."""
    idle = ran.cores - parse_partition(ran.partition).parts if ran.cores > 1 else 0
    return (f"cut into {ran.partition}, {idle} of {ran.cores} cores stay idle",) if idle > 0 else ()


def _solved(instance: Instance, case: Case) -> Solved:
    request = Request(
        objective=case.aim, tolerance=case.tolerance, time_limit_s=case.time_limit_s, threads=1
    )
    found = solved(instance, case.entry, request)
    if found is None:
        raise InputError(
            f"layer {case.layer.name}: {case.replacement} found no schedule within "
            f"{case.time_limit_s:g} s; give a higher --time-limit"
        )
    return found


def _least_cycles(case: Case, instance: Instance, traffic_bytes: int) -> int:
    """Cycles of any order; on several cores, that share the computing as evenly as can be."""
    grid, machine = case.grid, case.machine
    # What banks take depends on the order: the first product of a tile reads no sum.
    if case.cores == 1 and (machine.memory is None or machine.memory.rates is None):
        return makespan_bound(instance, traffic_bytes)
    own = product_cycles(grid, machine, case.cores)
    total = int(own.sum() if case.input_gradient else own[grid.products :].sum())
    channel = -(-traffic_bytes // 2) if machine.duplex else traffic_bytes
    moving = -(-channel * machine.clock_hz // machine.dram_bytes_per_s)
    return max(-(-total // case.cores), moving)


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """A legal schedule and its figures; ``order_bound`` where the replacement proves one."""

    schedule: Schedule
    totals: Totals
    status: Status
    solve_s: float
    order_bound: Fraction | None = None
    notes: tuple[str, ...] = ()


def solved(instance: Instance, replacement: SchedulerEntry, request: Request) -> Solved | None:
    """By a policy without a bound, which would take longer; by an optimiser with its own.

    An optimiser that stops above its tolerance is held against double buffering, which is none of
    the policies that it starts from, and is never worse.

    Returns
    -------
    None where no schedule is found.

    Raises
    ------
    ScheduleError
        An illegal schedule, which is an error in the replacement.
    """
    if replacement.kind is Kind.POLICY:
        return _by_policy(instance, replacement, request)
    result = solve(instance, replacement.name, request)
    if result.schedule is None or result.totals is None:
        return None
    found = Solved(
        schedule=result.schedule,
        totals=result.totals,
        status=result.status,
        solve_s=result.solve_s,
        order_bound=result.bound,
        notes=result.notes,
    )
    if result.status is Status.OPTIMAL or replacement.granularity == "contiguous":
        return found  # double buffering uses any pages
    return _against_double_buffering(found, instance, request)


def _against_double_buffering(found: Solved, instance: Instance, request: Request) -> Solved:
    other = _by_policy(instance, find(DOUBLE_BUFFER), request)
    if other is None:
        return found
    value, bound = other.totals.value(request.objective), found.order_bound
    if value >= found.totals.value(request.objective):
        return found
    proved = bound is not None and value <= bound * (1 + Fraction(request.tolerance))
    return replace(
        other,
        status=Status.OPTIMAL if proved else Status.FEASIBLE,
        solve_s=found.solve_s + other.solve_s,
        order_bound=bound,
        notes=(*found.notes, f"nothing better found than {DOUBLE_BUFFER}, whose schedule this is"),
    )


def _by_policy(instance: Instance, policy: SchedulerEntry, request: Request) -> Solved | None:
    begin = monotonic()
    outcome = policy.load()(instance, request)
    taken = monotonic() - begin
    schedule = outcome.schedule
    if schedule is None:
        if outcome.plan is None:
            return None
        schedule = assemble(instance, outcome.plan)
    totals = require_legal(instance, schedule).totals
    if totals is None:
        raise ScheduleError(f"{instance.name}: {policy.name}: the verifier gave no totals")
    return Solved(schedule=schedule, totals=totals, status=Status.FEASIBLE, solve_s=taken)


_FORMULATION = "formulations.orders"  # by name: the program imports no formulation
_PRODUCTS = 2_000_000
"""Tile products that a local search may go through, about 20 s."""
_SEARCHES = (60, 1500)
_OPERANDS = 3


class _Found(Protocol):
    @property
    def order(self) -> Ints: ...
    @property
    def traffic_tiles(self) -> int: ...
    @property
    def bound_tiles(self) -> int: ...
    @property
    def optimal(self) -> bool: ...


class _Search(Protocol):
    def __call__(
        self,
        shape: tuple[int, int, int],
        spm_tiles: int,
        *,
        input_gradient: bool,
        time_limit_s: float,
    ) -> _Found: ...


class _Require(Protocol):
    def __call__(self, shape: tuple[int, int, int], *, input_gradient: bool) -> None: ...


def searched(asked: str, case: Case) -> tuple[Case, tuple[str, ...]]:
    """Return ``case``, which has a tile, in an order found now, and what is known of it.

    Both searches count tiles as if all had the same size, in all of the scratchpad, or in half of
    it for double buffering: ``searched`` walks under Belady's rule, ``optimal`` any order under
    any residency. A grid too large to search all orders keeps the order that it has, with a note.
    """
    if asked == SEARCHED:
        return _walks(case), ()
    if asked != OPTIMAL:
        raise InputError(f"order {asked}: is not searched for")
    try:
        require_small(case)
    except InputError as error:
        return case, (f"{error}; shown is the best named order under double buffering",)
    search = cast("_Search", _formulation("optimal_order"))
    found = search(
        case.grid.shape,
        _spm_tiles(case),
        input_gradient=case.input_gradient,
        time_limit_s=case.time_limit_s,
    )
    return replace(case, order=OPTIMAL, listed=tuple(found.order.tolist())), (_note(case, found),)


def require_small(case: Case) -> None:
    """Raise :class:`InputError` where the grid of ``case`` is too large to search all orders."""
    require = cast("_Require", _formulation("require_small"))
    try:
        require(case.grid.shape, input_gradient=case.input_gradient)
    except InputError as error:
        raise InputError(f"order {OPTIMAL}: {error}") from None


def _formulation(name: str) -> object:
    found: object = getattr(import_module(_FORMULATION), name)
    return found


def _note(case: Case, found: _Found) -> str:
    """What is proved of the order, and of what it is not: other replacements keep other tiles."""
    part = " (half of it)" if case.is_double_buffered else ""
    least = "the least of any order" if found.optimal else f"any order at least {found.bound_tiles}"
    note = (
        f"of equal tiles the order found moves {found.traffic_tiles} in an SPM of "
        f"{_spm_tiles(case)}{part}, {least} under optimal residency"
    )
    if case.entry.kind is Kind.FORMULATION:
        return note
    return f"{note}; under {case.entry.name} another order may move less"


def _walks(case: Case) -> Case:
    grid = case.grid
    fewest, most = _SEARCHES
    order = good_order(
        grid,
        _spm_tiles(case),
        input_gradient=case.input_gradient,
        evaluations=min(most, max(fewest, _PRODUCTS // (2 * grid.products))),
        time_limit_s=float("inf"),
    ).order
    return replace(case, order=format_order(order))


def _spm_tiles(case: Case) -> int:
    """Tiles that the scratchpad holds, of the largest ones; at least those of a product."""
    machine, tile = case.machine, case.grid.tile
    largest = max(tile.m * tile.k, tile.k * tile.n, tile.m * tile.n) * case.element_bytes
    pages = machine.spm_pages // (2 if case.is_double_buffered else 1)
    return max(_OPERANDS, pages // -(-largest // machine.page_bytes))


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
