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
    Stores,
)
from spmopt.core.table import Bools
from spmopt.core.timeline import Timeline, timeline


def assemble(instance: Instance, plan: Plan) -> Schedule:
    """Schedule that ``plan`` describes (problem statement, section 3).

    The result is legal when the plan is; nothing is repaired here. Pages for which the
    scratchpad has no room get addresses beyond its end.

    Raises
    ------
    ScheduleError
        A table of the plan is malformed, so that no schedule expresses it.
    """
    check_plan(instance, plan)
    machine = instance.machine
    arrays = timeline(instance, plan.operation, plan.mode)
    if plan.banks is not None:
        placements = place_in_banks(machine, plan.banks)
        moves = moves_between(machine, arrays, plan.banks)
    else:
        placements, moves = _places(machine, arrays, plan), Moves.empty()
    return Schedule(
        steps=Steps(operation=plan.operation, mode=plan.mode),
        residency=plan.residency,
        commands=derive_commands(arrays, plan),
        placements=placements,
        moves=moves,
    )


def _places(machine: Machine, arrays: Timeline, plan: Plan) -> Placements:
    """Addresses anywhere, or in the plan's ranges."""
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
    _check_steps(instance, plan)
    sizes = np.array([tensor.size_bytes for tensor in instance.tensors], np.int64)
    _check_residency(plan.residency, int(plan.operation.size), sizes.size)
    _check_stores(plan.stores, int(plan.operation.size), sizes.size)
    for name, table in (("residency", plan.residency), ("stores", plan.stores)):
        _refuse(
            (table.size_bytes < 1) | (table.size_bytes > sizes[table.tensor]),
            f"{name}: size_bytes must be from 1 to the tensor's size",
        )
    if plan.banks is not None:
        _check_banks(plan.banks, len(instance.machine.banks), int(plan.operation.size), sizes.size)


def _check_steps(instance: Instance, plan: Plan) -> None:
    if plan.operation.shape != plan.mode.shape or plan.operation.ndim != 1:
        raise ScheduleError("plan: operation and mode must have one entry a step")
    count = len(instance.operations)
    _refuse((plan.operation < 0) | (plan.operation >= count), "plan: no such operation")
    modes = np.array([len(operation.modes) for operation in instance.operations], np.int64)
    _refuse((plan.mode < 0) | (plan.mode >= modes[plan.operation]), "plan: no such mode")


def _check_residency(rows: Residency, steps: int, tensors: int) -> None:
    _refuse((rows.tensor < 0) | (rows.tensor >= tensors), "residency: no such tensor")
    outside = (rows.begin < 0) | (rows.end > steps) | (rows.begin >= rows.end)
    _refuse(outside, f"residency: steps must be a non-empty range within [0, {steps})")
    change = np.diff(rows.tensor)
    late = (change < 0) | ((change == 0) & (rows.begin[1:] < rows.end[:-1]))
    _refuse(np.append(False, late), "residency: rows out of order or overlapping")


def _check_stores(rows: Stores, steps: int, tensors: int) -> None:
    _refuse((rows.tensor < 0) | (rows.tensor >= tensors), "stores: no such tensor")
    _refuse((rows.step < 0) | (rows.step >= steps), "stores: no such step")
    late = np.diff(rows.step * tensors + rows.tensor) <= 0
    _refuse(np.append(False, late), "stores: rows out of order or twice the same")


def _check_banks(rows: BankRows, banks: int, steps: int, tensors: int) -> None:
    _refuse((rows.tensor < -1) | (rows.tensor >= tensors), "banks: no such tensor")
    _refuse((rows.bank < 0) | (rows.bank >= banks), "banks: no such bank")
    outside = (rows.begin < 0) | (rows.end > steps) | (rows.begin >= rows.end)
    _refuse(outside, f"banks: steps must be a non-empty range within [0, {steps})")
    _refuse((rows.tensor_page < 0) | (rows.pages < 1), "banks: no such pages")


def _refuse(bad: Bools, message: str) -> None:
    if bad.any():
        raise ScheduleError(f"{message} (row {int(np.flatnonzero(bad)[0])})")
