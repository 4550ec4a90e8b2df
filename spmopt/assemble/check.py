"""Tables that no schedule can express; whether a schedule is legal is the verifier's job."""

from __future__ import annotations

import numpy as np

from spmopt.core.errors import ScheduleError
from spmopt.core.instance import Instance
from spmopt.core.schedule import BankRows, Plan, Residency, Stores
from spmopt.core.table import Bools


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
