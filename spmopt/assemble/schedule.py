"""A residency plan becomes a schedule: facts only, nothing left to infer."""

from __future__ import annotations

import numpy as np

from spmopt.assemble.addresses import allocate_in_time, in_ranges, place
from spmopt.assemble.commands import derive_commands
from spmopt.core.errors import ScheduleError
from spmopt.core.machine import Machine
from spmopt.core.problem import Problem
from spmopt.core.schedule import (
    BankRows,
    Moves,
    Placements,
    Residency,
    ResidencyPlan,
    Schedule,
    Steps,
)
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Timeline, timeline


def assemble(problem: Problem, residency_plan: ResidencyPlan, *, in_time: bool = False) -> Schedule:
    """Schedule that ``residency_plan`` describes (PROBLEM.md, section 3).

    The result is legal when the residency plan is; nothing is repaired here. Pages for which the
    scratchpad has no room get addresses beyond its end. With ``in_time`` few operations wait for
    a store, where there are no barriers between steps.

    Raises
    ------
    ScheduleError
        A table of the residency plan is malformed, so that no schedule expresses it.
    """
    check_residency_plan(problem, residency_plan)
    machine = problem.machine
    arrays = timeline(problem, residency_plan.steps)
    if residency_plan.banks is not None:
        from spmopt.assemble.banks import allocate_in_banks, moves_between

        placements = allocate_in_banks(machine, residency_plan.banks)
        moves = moves_between(machine, arrays, residency_plan.banks)
    else:
        placements = _places(machine, arrays, residency_plan, in_time=in_time)
        moves = Moves.empty()
    return Schedule(
        steps=residency_plan.steps,
        residency=residency_plan.residency,
        commands=derive_commands(arrays, residency_plan),
        placements=placements,
        moves=moves,
    )


def _places(
    machine: Machine, arrays: Timeline, residency_plan: ResidencyPlan, *, in_time: bool
) -> Placements:
    """Return the addresses anywhere, or in the residency plan's ranges."""
    rows = residency_plan.residency
    if residency_plan.ranges is not None:
        return in_ranges(machine, arrays, rows, residency_plan.ranges)
    if in_time:
        return allocate_in_time(machine, arrays, rows, residency_plan.stores)
    return place(machine, arrays, rows)


def check_residency_plan(problem: Problem, residency_plan: ResidencyPlan) -> None:
    """Refuse a residency plan whose tables are malformed.

    Raises
    ------
    ScheduleError
        An index out of range, rows out of order or overlapping, a size outside its tensor.
    """
    tensors, steps = len(problem.tensors), len(residency_plan.steps)
    sizes = problem.size_bytes
    _check_steps(problem, residency_plan.steps)
    rows, stores = residency_plan.residency, residency_plan.stores
    _check_rows("residency", rows, range(tensors), steps)
    # Sorted by (tensor, begin): only neighbors can be out of order or overlap.
    change = np.diff(rows.tensor)
    late = (change < 0) | ((change == 0) & (rows.begin[1:] < rows.end[:-1]))
    _refuse(np.append(False, late), "residency: rows out of order or overlapping")
    _refuse(_outside(stores.tensor, range(tensors)), "stores: no such tensor")
    _refuse(_outside(stores.step, range(steps)), "stores: no such step")
    # One key per (step, tensor); it grows strictly where rows are sorted and single.
    late = np.diff(stores.step * tensors + stores.tensor) <= 0
    _refuse(np.append(False, late), "stores: rows out of order or twice the same")
    for name, table in (("residency", rows), ("stores", stores)):
        _refuse(
            (table.size_bytes < 1) | (table.size_bytes > sizes[table.tensor]),
            f"{name}: size_bytes must be from 1 to the tensor's size",
        )
    if residency_plan.banks is not None:
        banks = range(len(problem.machine.banks))
        # Tensor -1 is the scratch of a step.
        _check_rows("banks", residency_plan.banks, range(-1, tensors), steps)
        _refuse(_outside(residency_plan.banks.bank, banks), "banks: no such bank")
        _refuse(
            (residency_plan.banks.tensor_page < 0) | (residency_plan.banks.pages < 1),
            "banks: no such pages",
        )


def _check_steps(problem: Problem, steps: Steps) -> None:
    operations = range(len(problem.operations))
    _refuse(_outside(steps.operation, operations), "plan: no such operation")
    mappings = np.array([len(operation.mappings) for operation in problem.operations], np.int64)
    _refuse(
        (steps.mapping < 0) | (steps.mapping >= mappings[steps.operation]), "plan: no such mapping"
    )


def _check_rows(name: str, rows: Residency | BankRows, tensors: range, steps: int) -> None:
    _refuse(_outside(rows.tensor, tensors), f"{name}: no such tensor")
    outside = (rows.begin < 0) | (rows.end > steps) | (rows.begin >= rows.end)
    _refuse(outside, f"{name}: steps must be a non-empty range within [0, {steps})")


def _outside(values: Ints, allowed: range) -> Bools:
    return (values < allowed.start) | (values >= allowed.stop)


def _refuse(bad: Bools, message: str) -> None:
    if bad.any():
        raise ScheduleError(f"{message} (row {int(np.flatnonzero(bad)[0])})")
