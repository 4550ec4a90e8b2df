"""R0, the format: tables whose numbers mean something, before any rule looks at them."""

from __future__ import annotations

import numpy as np

from spmopt.core.instance import Instance
from spmopt.core.schedule import Command, Schedule
from spmopt.core.table import Bools, Ints, Table
from spmopt.verify.violation import Violation, found


def rule_r0(instance: Instance, schedule: Schedule) -> list[Violation]:
    """Indices exist, ranges lie inside their tensor, tables are sorted.

    The order is a permutation of the operations; a residency is some pages or the whole
    tensor (class ``page``), and the rows of one tensor do not overlap.
    """
    size = np.array([tensor.size_bytes for tensor in instance.tensors], np.int64)
    return (
        _steps(instance, schedule)
        + _residency(instance, schedule, size)
        + _commands(instance, schedule, size)
        + _placements(instance, schedule, size)
        + _moves(instance, schedule, size)
    )


def _bad(what: str, table: Table, bad: Bools) -> list[Violation]:
    """Violations that quote the whole row."""
    columns = {name: getattr(table, name) for name in table.__dataclass_fields__}

    def message(row: int) -> str:
        quoted = ", ".join(f"{name} {column[row]}" for name, column in columns.items())
        return f"{type(table).__name__} row {row} ({quoted}): {what}"

    return found("R0", bad, columns.get("step"), columns.get("tensor"), message)


def _outside(values: Ints, low: int, high: int | Ints) -> Bools:
    """Not in [low, high)."""
    return (values < low) | (values >= high)


def _steps(instance: Instance, schedule: Schedule) -> list[Violation]:
    steps, count = schedule.steps, len(instance.operations)
    if len(steps) != count:
        text = f"Steps has {len(steps)} rows; the instance has {count} operations"
        return [Violation(rule="R0", step=None, tensor=None, message=text)]
    unknown = _outside(steps.operation, 0, count)
    if unknown.any():
        return _bad("no such operation", steps, unknown)
    times = np.bincount(steps.operation, minlength=count)
    modes = np.array([len(operation.modes) for operation in instance.operations], np.int64)
    return _bad("operation runs more than once", steps, times[steps.operation] > 1) + _bad(
        "no such mode", steps, _outside(steps.mode, 0, modes[steps.operation])
    )


def _residency(instance: Instance, schedule: Schedule, size: Ints) -> list[Violation]:
    table, steps = schedule.residency, len(instance.operations)
    unknown = _outside(table.tensor, 0, size.size)
    if unknown.any():
        return _bad("no such tensor", table, unknown)
    whole, page = size[table.tensor], instance.machine.page_bytes
    partial = (table.size_bytes % page != 0) & (table.size_bytes != whole)
    tensor, begin, end = table.tensor, table.begin, table.end
    unsorted = np.zeros(len(table), bool)
    unsorted[1:] = (tensor[1:] < tensor[:-1]) | (
        (tensor[1:] == tensor[:-1]) & (begin[1:] < end[:-1])
    )
    return (
        _bad("steps are not in range", table, (begin < 0) | (begin >= end) | (end > steps))
        + _bad("size is not in 1..size of tensor", table, _outside(table.size_bytes, 1, whole + 1))
        + _bad(f"size is neither pages of {page} bytes nor the whole tensor", table, partial)
        + _bad("rows are not sorted by (tensor, begin), or overlap", table, unsorted)
    )


def _commands(instance: Instance, schedule: Schedule, size: Ints) -> list[Violation]:
    table, steps = schedule.commands, len(instance.operations)
    unknown = _outside(table.tensor, 0, size.size)
    if unknown.any():
        return _bad("no such tensor", table, unknown)
    ranges = (table.begin < 0) | (table.begin >= table.end) | (table.end > size[table.tensor])
    once = (table.kind == Command.LOAD) | (table.kind == Command.STORE)
    unsorted = np.zeros(len(table), bool)
    unsorted[1:] = table.step[1:] < table.step[:-1]
    return (
        _bad("no such step", table, _outside(table.step, 0, steps))
        + _bad("no such kind of command", table, _outside(table.kind, 0, len(Command)))
        + _bad("bytes are empty or outside the tensor", table, ranges)
        + _bad("passes is below 1", table, table.passes < 1)
        + _bad("a load or store has one pass", table, once & (table.passes > 1))
        + _bad("steps are not sorted", table, unsorted)
    )


def _placements(instance: Instance, schedule: Schedule, size: Ints) -> list[Violation]:
    table, steps = schedule.placements, len(instance.operations)
    unknown = _outside(table.tensor, -1, size.size)
    if unknown.any():
        return _bad("no such tensor", table, unknown)
    scratch = table.tensor == -1
    limit = np.append(-(-size // instance.machine.page_bytes), instance.machine.spm_pages)
    pages = limit[table.tensor]
    outside = (
        (table.tensor_page < 0)
        | (table.pages < 1)
        | (table.pages > pages)
        | (table.tensor_page > pages - table.pages)
    )
    when = (table.begin < 0) | (table.begin >= table.end) | (table.end > steps)
    return (
        _bad("steps are not in range", table, when)
        + _bad("pages are outside the tensor", table, outside)
        + _bad("scratch lasts one step", table, scratch & (table.end - table.begin != 1))
    )


def _moves(instance: Instance, schedule: Schedule, size: Ints) -> list[Violation]:
    """Whole pages, the last one of a tensor maybe short; only a machine with banks moves."""
    table, steps, page = schedule.moves, len(instance.operations), instance.machine.page_bytes
    if len(table) and not instance.machine.banks:
        return _bad("the machine has no banks to move between", table, np.ones(len(table), bool))
    unknown = _outside(table.tensor, 0, size.size)
    if unknown.any():
        return _bad("no such tensor", table, unknown)
    whole = size[table.tensor]
    ranges = (table.begin < 0) | (table.begin >= table.end) | (table.end > whole)
    cut = (table.begin % page != 0) | ((table.end % page != 0) & (table.end != whole))
    unsorted = np.zeros(len(table), bool)
    unsorted[1:] = (table.step[1:] < table.step[:-1]) | (
        (table.step[1:] == table.step[:-1])
        & (
            (table.tensor[1:] < table.tensor[:-1])
            | ((table.tensor[1:] == table.tensor[:-1]) & (table.begin[1:] < table.end[:-1]))
        )
    )
    return (
        _bad("nothing is resident before step 0", table, _outside(table.step, 1, steps))
        + _bad("bytes are empty or outside the tensor", table, ranges)
        + _bad(f"bytes are not whole pages of {page}", table, cut)
        + _bad("rows are not sorted by (step, tensor, begin), or overlap", table, unsorted)
    )
