"""Run a case: instance, schedule, verifier, figures."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from spmopt.core.errors import InputError, ScheduleError
from spmopt.core.instance import Instance
from spmopt.core.result import Status
from spmopt.core.scheduler import Request
from spmopt.gradients.case import Case
from spmopt.gradients.choice import Chosen, choose, finalists, instance_of
from spmopt.gradients.searched import searched
from spmopt.gradients.solved import Solved, solved
from spmopt.gradients.spent import Spent, spent
from spmopt.tiles.matrices import product_cycles
from spmopt.tiles.optimum.io_bound import makespan_bound, traffic_bound
from spmopt.tiles.partition import parse_partition


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
