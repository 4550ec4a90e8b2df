"""A plan becomes a schedule: facts only, nothing left to infer."""

from __future__ import annotations

import numpy as np

from spmopt.assemble.addresses import in_ranges, place
from spmopt.assemble.banks import moves_between, place_in_banks
from spmopt.assemble.commands import derive_commands
from spmopt.core.errors import ScheduleError
from spmopt.core.instance import Instance
from spmopt.core.machine import Machine
from spmopt.core.schedule import (
    BankRows,
    Moves,
    Placements,
    Plan,
    Residency,
    Schedule,
    Steps,
)
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Timeline, timeline


def assemble(instance: Instance, plan: Plan) -> Schedule:
    """Schedule that ``plan`` describes (PROBLEM.md, section 3).

    The result is legal when the plan is; nothing is repaired here. Pages for which the
    scratchpad has no room get addresses beyond its end.

    Raises
    ------
    ScheduleError
        A table of the plan is malformed, so that no schedule expresses it.
    """
    check_plan(instance, plan)
    machine = instance.machine
    arrays = timeline(instance, plan.steps)
    if plan.banks is not None:
        placements = place_in_banks(machine, plan.banks)
        moves = moves_between(machine, arrays, plan.banks)
    else:
        placements, moves = _places(machine, arrays, plan), Moves.empty()
    return Schedule(
        steps=plan.steps,
        residency=plan.residency,
        commands=derive_commands(arrays, plan),
        placements=placements,
        moves=moves,
    )


def _places(machine: Machine, arrays: Timeline, plan: Plan) -> Placements:
    """Return the addresses anywhere, or in the plan's ranges."""
    if plan.ranges is None:
        return place(machine, arrays, plan.residency)
    return in_ranges(machine, arrays, plan.residency, plan.ranges)


def check_plan(instance: Instance, plan: Plan) -> None:
    """Refuse a plan whose tables are malformed.

    Raises
    ------
    ScheduleError
        An index out of range, rows out of order or overlapping, a size outside its tensor.
    """
    tensors, steps = len(instance.tensors), len(plan.steps)
    sizes = instance.size_bytes
    _check_steps(instance, plan.steps)
    rows, stores = plan.residency, plan.stores
    _check_rows("residency", rows, range(tensors), steps)
    change = np.diff(rows.tensor)
    late = (change < 0) | ((change == 0) & (rows.begin[1:] < rows.end[:-1]))
    _refuse(np.append(False, late), "residency: rows out of order or overlapping")
    _refuse(_outside(stores.tensor, range(tensors)), "stores: no such tensor")
    _refuse(_outside(stores.step, range(steps)), "stores: no such step")
    late = np.diff(stores.step * tensors + stores.tensor) <= 0
    _refuse(np.append(False, late), "stores: rows out of order or twice the same")
    for name, table in (("residency", rows), ("stores", stores)):
        _refuse(
            (table.size_bytes < 1) | (table.size_bytes > sizes[table.tensor]),
            f"{name}: size_bytes must be from 1 to the tensor's size",
        )
    if plan.banks is not None:
        banks = range(len(instance.machine.banks))
        _check_rows("banks", plan.banks, range(-1, tensors), steps)
        _refuse(_outside(plan.banks.bank, banks), "banks: no such bank")
        _refuse((plan.banks.tensor_page < 0) | (plan.banks.pages < 1), "banks: no such pages")


def _check_steps(instance: Instance, steps: Steps) -> None:
    operations = range(len(instance.operations))
    _refuse(_outside(steps.operation, operations), "plan: no such operation")
    modes = np.array([len(operation.modes) for operation in instance.operations], np.int64)
    _refuse((steps.mode < 0) | (steps.mode >= modes[steps.operation]), "plan: no such mode")


def _check_rows(name: str, rows: Residency | BankRows, tensors: range, steps: int) -> None:
    _refuse(_outside(rows.tensor, tensors), f"{name}: no such tensor")
    outside = (rows.begin < 0) | (rows.end > steps) | (rows.begin >= rows.end)
    _refuse(outside, f"{name}: steps must be a non-empty range within [0, {steps})")


def _outside(values: Ints, allowed: range) -> Bools:
    return (values < allowed.start) | (values >= allowed.stop)


def _refuse(bad: Bools, message: str) -> None:
    if bad.any():
        raise ScheduleError(f"{message} (row {int(np.flatnonzero(bad)[0])})")
