"""Columns, costs and rows of the plain model as the arrays of a program."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import accumulate

import numpy as np

from formulations.solver.program import Floats, Matrix, Program
from spmopt.core.objective import Objective
from spmopt.core.table import Bools
from spmopt.core.timeline import Timeline
from tests.formulations.plain import rows
from tests.formulations.plain.cells import Cells

_FINE = 1024
"""The scratchpad has about this many byte units: coefficients and sides of moderate size."""


def number_columns(line: Timeline, cells: Cells, *, timed: bool, pages: bool) -> rows.Columns:
    """Number the variables, family by family."""
    everywhere = np.ones(len(cells), bool)
    paged = everywhere & pages
    steps = np.full(line.steps, timed)
    present = [everywhere, cells.loads, cells.dirty, cells.dirty, paged, paged, steps]
    numbers, count = [], 0
    for there in present:
        numbers.append(np.where(there, count + np.cumsum(there) - 1, -1))
        count += int(there.sum())
    resident, load, dirty, store, whole, full, duration = numbers
    return rows.Columns(
        resident=resident,
        load=load,
        dirty=dirty,
        store=store,
        pages=whole,
        full=full,
        duration=duration,
        count=count,
    )


def byte_unit(spm_bytes: int) -> int:
    """Return a power of two, in bytes."""
    return 1 << max(0, spm_bytes.bit_length() - _FINE.bit_length())


def byte_value(c: rows.Context, objective: Objective) -> Fraction:
    """Return the most that one DMA byte can cost, a unit for costs; 1 if nothing costs."""
    time = objective.cycle / c.machine.bytes_per_cycle
    return max(time, objective.dram_in_byte, objective.dram_out_byte) or Fraction(1)


def constant(c: rows.Context, objective: Objective) -> Fraction:
    """Return the part of the objective that no schedule changes, and that of streaming all."""
    streamed_in = int(c.streams.into @ c.size)
    streamed_out = int(c.streams.out @ c.size)
    return (
        objective.spm_read_byte * int(c.line.spm_read_bytes.sum())
        + objective.spm_write_byte * int(c.line.spm_write_bytes.sum())
        + objective.mac * int(c.line.macs.sum())
        + objective.dram_in_byte * streamed_in
        + objective.dram_out_byte * streamed_out
    )


def cost(c: rows.Context, objective: Objective, value: Fraction) -> Floats:
    """Cost of each column in units of ``value``; residency saves what would be streamed."""
    columns, streams = c.columns, c.streams
    cost = np.zeros(columns.count)
    into = float(objective.dram_in_byte / value)
    out = float(objective.dram_out_byte / value)
    cost[columns.resident] = -into * streams.into - out * streams.out
    cost[columns.load[columns.load >= 0]] = into
    cost[columns.store[columns.store >= 0]] = out
    if objective.cycle > 0:
        cost[columns.duration] = float(objective.cycle / c.machine.bytes_per_cycle / value)
    return cost


def program(
    c: rows.Context,
    families: list[rows.Rows],
    cost: Floats,
    unit: int,
    *,
    absent: Bools | None = None,
) -> Program:
    """Stack the families; sides and bounds in ``unit`` bytes.

    Nothing is resident in the cells ``absent`` (k,). Costs beyond the model's columns are of
    further columns, which are at least 0.
    """
    columns, size = c.columns, c.size / unit
    upper = np.full(cost.size, np.inf)
    lower = np.zeros(cost.size)
    for column in (columns.resident, columns.load, columns.dirty, columns.store):
        upper[column[column >= 0]] = size[column >= 0]
    lower[columns.resident] = np.where(c.required_resident, size, 0.0)
    if absent is not None:
        upper[columns.resident[absent]] = 0.0
    # A tensor to be kept has nothing dirty in the end (R7).
    upper[columns.dirty[c.cells.last & c.cells.dirty]] = 0.0
    return Program(
        cost=cost,
        lower=lower,
        upper=upper,
        row_lower=np.concatenate([family.lower for family in families]) / unit,
        row_upper=np.concatenate([family.upper for family in families]) / unit,
        matrix=_stacked(families),
    )


def in_whole_pages(c: rows.Context, fluid: Program) -> Program:
    """``fluid`` with the bounds of the columns that whole pages add, and integers."""
    columns, upper = c.columns, fluid.upper.copy()
    paged = columns.pages >= 0
    upper[columns.pages[paged]] = rows.ceil_div(c.size[paged], c.machine.page_bytes)
    upper[columns.full[paged]] = 1.0
    integer = np.zeros(upper.size, bool)
    for column in (columns.pages[paged], columns.full[paged], columns.store[columns.store >= 0]):
        integer[column] = True
    return replace(fluid, upper=upper, integer=integer)


def _stacked(families: list[rows.Rows]) -> Matrix:
    first = [0, *accumulate(family.lower.size for family in families)]
    row = np.concatenate([start + f.row for start, f in zip(first, families, strict=False)])
    order = np.argsort(row, kind="stable")
    return Matrix(
        start=np.concatenate(([0], np.cumsum(np.bincount(row, minlength=first[-1])))),
        index=np.concatenate([family.column for family in families])[order],
        value=np.concatenate([family.value for family in families])[order],
        by_rows=True,
    )
