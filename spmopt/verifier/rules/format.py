"""R0, the format: tables whose numbers mean something, before any rule looks at them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from spmopt.core.problem import Problem
from spmopt.core.schedule import Command, Commands, Moves, Placements, Residency, Schedule
from spmopt.core.table import Bools, Ints, Table
from spmopt.verifier.violation import Violation, find

Checks = Iterator[tuple[str, Bools]]
"""Possible faults of rows of a table, with the rows at fault."""


def rule_r0(problem: Problem, schedule: Schedule) -> list[Violation]:
    """Indices exist, ranges lie inside their tensor, tables are sorted.

    The order is a permutation of the operations; a residency is some pages or the whole
    tensor (class ``page``), and the rows of one tensor do not overlap.
    """
    size = np.array([tensor.size_bytes for tensor in problem.tensors], np.int64)
    return (
        _steps(problem, schedule)
        + _check(schedule.residency, _residency(problem, schedule.residency, size))
        + _check(schedule.commands, _commands(problem, schedule.commands, size))
        + _check(schedule.placements, _placements(problem, schedule.placements, size))
        + _check(schedule.moves, _moves(problem, schedule.moves, size))
    )


def _check(table: Table, checks: Checks) -> list[Violation]:
    """Findings of the checks of a table; the later ones use the indices that the first checks."""
    # Indices first: later checks look up sizes by them.
    what, unknown = next(checks)
    if unknown.any():
        return _bad(what, table, unknown)
    return [violation for what, bad in checks for violation in _bad(what, table, bad)]


def _bad(what: str, table: Table, bad: Bools) -> list[Violation]:
    """Return the violations that quote the whole row."""
    columns = {name: getattr(table, name) for name in table.__dataclass_fields__}

    def message(row: int) -> str:
        quoted = ", ".join(f"{name} {column[row]}" for name, column in columns.items())
        return f"{type(table).__name__} row {row} ({quoted}): {what}"

    return find("R0", bad, columns.get("step"), columns.get("tensor"), message)


def _outside(values: Ints, low: int, high: int | Ints) -> Bools:
    """Return the not in [low, high)."""
    return (values < low) | (values >= high)


def _steps(problem: Problem, schedule: Schedule) -> list[Violation]:
    steps, count = schedule.steps, len(problem.operations)
    if len(steps) != count:
        text = f"Steps has {len(steps)} rows; the problem has {count} operations"
        return [Violation(rule="R0", step=None, tensor=None, message=text)]
    unknown = _outside(steps.operation, 0, count)
    if unknown.any():
        return _bad("no such operation", steps, unknown)
    # As many rows as operations, each once: a permutation.
    times = np.bincount(steps.operation, minlength=count)
    mappings = np.array([len(operation.mappings) for operation in problem.operations], np.int64)
    return _bad("operation runs more than once", steps, times[steps.operation] > 1) + _bad(
        "no such mapping", steps, _outside(steps.mapping, 0, mappings[steps.operation])
    )


def _residency(problem: Problem, table: Residency, size: Ints) -> Checks:
    yield "no such tensor", _outside(table.tensor, 0, size.size)
    whole = size[table.tensor]
    page = problem.machine.page_bytes
    begin = table.begin
    end = table.end
    partial = (table.size_bytes % page != 0) & (table.size_bytes != whole)
    steps = len(problem.operations)
    yield "steps are not in range", (begin < 0) | (begin >= end) | (end > steps)
    yield "size is not in 1..size of tensor", _outside(table.size_bytes, 1, whole + 1)
    yield f"size is neither pages of {page} bytes nor the whole tensor", partial
    unsorted = _find_unsorted(begin, end, table.tensor)
    yield "rows are not sorted by (tensor, begin), or overlap", unsorted


def _commands(problem: Problem, table: Commands, size: Ints) -> Checks:
    yield "no such tensor", _outside(table.tensor, 0, size.size)
    ranges = (table.begin < 0) | (table.begin >= table.end) | (table.end > size[table.tensor])
    once = (table.kind == Command.LOAD) | (table.kind == Command.STORE)
    yield "no such step", _outside(table.step, 0, len(problem.operations))
    yield "no such kind of command", _outside(table.kind, 0, len(Command))
    yield "bytes are empty or outside the tensor", ranges
    yield "passes is below 1", table.fetches < 1
    yield "a load or store has one fetch", once & (table.fetches > 1)
    yield "steps are not sorted", _find_unsorted(table.step, table.step)


def _placements(problem: Problem, table: Placements, size: Ints) -> Checks:
    yield "no such tensor", _outside(table.tensor, -1, size.size)
    scratch = table.tensor == -1
    # The last entry is of the scratch, tensor -1.
    limit = np.append(-(-size // problem.machine.page_bytes), problem.machine.spm_pages)
    pages = limit[table.tensor]
    outside = (
        (table.tensor_page < 0)
        | (table.pages < 1)
        | (table.pages > pages)
        | (table.tensor_page > pages - table.pages)
    )
    steps = len(problem.operations)
    when = (table.begin < 0) | (table.begin >= table.end) | (table.end > steps)
    yield "steps are not in range", when
    yield "pages are outside the tensor", outside
    yield "scratch lasts one step", scratch & (table.end - table.begin != 1)


def _moves(problem: Problem, table: Moves, size: Ints) -> Checks:
    """Check for whole pages, the last of a tensor maybe short; only a machine with banks moves."""
    if not problem.machine.banks:
        yield "the machine has no banks to move between", np.ones(len(table), bool)
        return
    yield "no such tensor", _outside(table.tensor, 0, size.size)
    whole, page = size[table.tensor], problem.machine.page_bytes
    ranges = (table.begin < 0) | (table.begin >= table.end) | (table.end > whole)
    cut = (table.begin % page != 0) | ((table.end % page != 0) & (table.end != whole))
    steps = len(problem.operations)
    yield "nothing is resident before step 0", _outside(table.step, 1, steps)
    yield "bytes are empty or outside the tensor", ranges
    yield f"bytes are not whole pages of {page}", cut
    unsorted = _find_unsorted(table.begin, table.end, table.step, table.tensor)
    yield "rows are not sorted by (step, tensor, begin), or overlap", unsorted


def _find_unsorted(begin: Ints, end: Ints, *keys: Ints) -> Bools:
    """Return rows that do not come after the one above: by the ``keys``, and from its end on."""
    # From the last key to the first: lexicographic order in one pass.
    late = begin[1:] < end[:-1]
    for key in reversed(keys):
        late = (key[1:] < key[:-1]) | ((key[1:] == key[:-1]) & late)
    return np.append(False, late)[: begin.size]
