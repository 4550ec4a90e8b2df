"""The compact program over a set of columns (README, constraints C1 to C6).

Variables are bytes, in units of ``Master.unit_bytes``: one per column, the occupancy of each
step, and (if time counts) the duration of each step in bytes that its DMA time could move.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from formulations.residency.bound.prices import CostCoefficients, Multipliers
from formulations.residency.bound.ranked import RankedIntervals
from formulations.residency.program.columns import (
    ARRIVING,
    DIRTY,
    ColumnKind,
    PathColumns,
    Usage,
    usage,
)
from formulations.solver.program import Floats, Program, ProgramBuilder, SolverResult
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access


@dataclass(frozen=True, kw_only=True, eq=False)
class Master:
    """A compact program, and how to read its solution.

    Attributes
    ----------
    builder
        A formulation that is more than this one adds to it.
    occupancy : (n,)
        Columns of bytes in use.
    channels
        Rows (n,) of the transfers in, and of those out; the same on one channel, none where
        time does not count.
    """

    intervals: RankedIntervals
    coefficients: CostCoefficients
    columns: PathColumns
    builder: ProgramBuilder
    occupancy: Ints
    channels: tuple[Ints, ...]
    unit_bytes: float
    price_unit: float

    @cached_property
    def program(self) -> Program:
        """The program as an array, without what is added to the builder later."""
        return self.builder.program()

    def multipliers(self, result: SolverResult) -> Multipliers:
        """Prices from the duals of capacity and DMA time."""
        if result.column_dual is None or result.row_dual is None:
            raise ValueError("the solver returned no duals")
        spm = -result.column_dual[self.occupancy] * self.price_unit
        dma = [result.row_dual[rows] * self.price_unit for rows in self.channels]
        dma = dma or [np.zeros_like(spm)]
        return Multipliers.legal(self.coefficients, spm, dma[0], dma[-1])

    def value(self, objective: float) -> float:
        """Objective of a solution in objective units, ties included."""
        return objective * self.unit_bytes * self.price_unit + self.coefficients.constant

    def amounts(self, result: SolverResult) -> Floats:
        """Bytes of each column (c,)."""
        if result.primal is None:
            raise ValueError("the solver returned no solution")
        return np.maximum(result.primal[: len(self.columns)], 0.0) * self.unit_bytes


def master(
    intervals: RankedIntervals,
    coefficients: CostCoefficients,
    columns: PathColumns,
    *,
    page_bytes: int,
    margin: float = 0.0,
    tie: float = 0.0,
) -> Master:
    """Build the program over ``columns``.

    ``page_bytes`` pads each tensor's occupancy to pages, so that rounding down to pages never
    raises it; ``margin`` (a fraction) is left free of the capacity. ``tie`` is what moving a
    byte costs beside the objective, in prices of a byte that nothing hides: of plans that
    cost about the same it prefers those that move less.
    """
    use, steps = usage(intervals, columns), intervals.steps
    unit = max(float(coefficients.capacity_bytes.max()) / 64, 1.0)
    price_unit = coefficients.dearest_byte or 1.0
    padding = _padding(intervals, page_bytes)
    capacity = _capacity(intervals, coefficients, padding, margin)
    computing = coefficients.compute_cycles * coefficients.bytes_per_cycle / unit
    moved = coefficients.in_byte * use.moved_in + coefficients.out_byte * use.moved_out

    build = ProgramBuilder()
    amount = build.columns(
        len(columns), cost=moved / price_unit + tie * (use.moved_in + use.moved_out)
    )
    occupancy = build.columns(steps, upper=capacity / unit)
    _split(build, intervals, columns, amount, unit)
    _carry_dirty(build, intervals, columns, amount)
    _carry_clean(build, intervals, columns, amount)
    _occupy(build, use, padding[columns.access], amount, occupancy)
    channels: tuple[Ints, ...] = ()
    if coefficients.cycle > 0:
        cost = coefficients.byte_time / price_unit
        duration = build.columns(steps, cost=cost, lower=computing)
        channels = _channels(build, use, amount, duration, duplex=coefficients.duplex)
        _serial(build, use, amount, duration, computing)
    return Master(
        intervals=intervals,
        coefficients=coefficients,
        columns=columns,
        builder=build,
        occupancy=occupancy,
        channels=channels,
        unit_bytes=unit,
        price_unit=price_unit,
    )


def _padding(intervals: RankedIntervals, page_bytes: int) -> Floats:
    """(a,) Bytes of whole pages per byte of the tensor."""
    padded = -(-intervals.size_bytes // page_bytes) * page_bytes
    return padded / intervals.size_bytes


def _capacity(
    intervals: RankedIntervals, coefficients: CostCoefficients, padding: Floats, margin: float
) -> Floats:
    """(n,) Bytes for columns: all but the margin, and at least what is stationary."""
    pages, fixed = intervals.size_bytes * padding, intervals.stationary
    # Such a result has no column.
    dead = intervals.dead & (intervals.kind == Access.WRITE)
    needed = np.bincount(intervals.step, pages * fixed, intervals.steps)
    hidden = np.bincount(intervals.step, pages * (fixed & dead), intervals.steps)
    result: Floats = np.maximum(coefficients.capacity_bytes * (1 - margin), needed) - hidden
    return result


def _source(intervals: RankedIntervals, columns: PathColumns) -> Ints:
    """Access at whose end the bytes of a dirty or held column were resident."""
    final = columns.kind == ColumnKind.FINAL
    return np.where(final, columns.access, intervals.previous[columns.access])


def _split(
    build: ProgramBuilder,
    intervals: RankedIntervals,
    columns: PathColumns,
    amount: Ints,
    unit: float,
) -> None:
    """(C1) At an access: resident (arriving or written) + streamed = size."""
    kind, access = columns.kind, columns.access
    write = intervals.kind == Access.WRITE
    size = intervals.size_bytes / unit
    row = build.rows(~(write & intervals.dead), size, size)
    here = np.isin(kind, (*ARRIVING, ColumnKind.STREAM))
    here |= (kind == ColumnKind.WRITE_THROUGH) & write[access]
    build.add(row[access[here]], amount[here], 1.0)
    # What a blind write leaves dirty is what the columns after it take up.
    dirty = np.isin(kind, DIRTY)
    source = _source(intervals, columns)[dirty]
    build.add(np.where(write[source], row[source], -1), amount[dirty], 1.0)


def _carry_dirty(
    build: ProgramBuilder, intervals: RankedIntervals, columns: PathColumns, amount: Ints
) -> None:
    """(C2) Dirty after an access = dirty columns of the next interval."""
    kind, access, of_access = columns.kind, columns.access, intervals.kind
    read, write = of_access == Access.READ, of_access == Access.WRITE
    holds = np.where(read, intervals.dirty, ~write) & ~intervals.dead
    row = build.rows(holds & (_leads(intervals) | intervals.final), 0.0, 0.0)
    dirty = np.isin(kind, DIRTY)
    source = _source(intervals, columns)[dirty]
    build.add(np.where(write[source], -1, row[source]), amount[dirty], -1.0)
    update = of_access[access] == Access.UPDATE
    stays = np.where(update, np.isin(kind, ARRIVING), kind == ColumnKind.HOLD_DIRTY)
    build.add(row[access[stays]], amount[stays], 1.0)
    through = update & (kind == ColumnKind.WRITE_THROUGH)
    build.add(row[access[through]], amount[through], -1.0)


def _carry_clean(
    build: ProgramBuilder, intervals: RankedIntervals, columns: PathColumns, amount: Ints
) -> None:
    """(C3) Held clean through the next interval <= clean after an access."""
    kind, access = columns.kind, columns.access
    row = build.rows(_leads(intervals), 0.0)
    held = kind == ColumnKind.HOLD_CLEAN
    build.add(row[intervals.previous[access[held]]], amount[held], -1.0)
    read = intervals.kind[access] == Access.READ
    enters = np.isin(
        kind, (ColumnKind.HOLD_CLEAN, ColumnKind.LOAD, ColumnKind.LOAD_HERE, ColumnKind.CLEAN)
    )
    clean = np.where(read, enters, kind == ColumnKind.WRITE_THROUGH)
    build.add(row[access[clean]], amount[clean], 1.0)


def _leads(intervals: RankedIntervals) -> Bools:
    """(a,) Accesses whose contents the next one needs."""
    result: Bools = (intervals.next >= 0) & intervals.live[intervals.next]
    return result


def _occupy(
    build: ProgramBuilder, use: Usage, padding: Floats, amount: Ints, occupancy: Ints
) -> None:
    """(C4) Occupancy of a step = of the step before + columns that begin - that ended."""
    row = build.rows(occupancy.size, 0.0, 0.0)
    build.add(row, occupancy, 1.0)
    build.add(row[1:], occupancy[:-1], -1.0)
    held = use.end > use.begin
    build.add(row[use.begin[held]], amount[held], -padding[held])
    ended = held & (use.end < row.size)
    build.add(row[use.end[ended]], amount[ended], padding[ended])


def _channels(
    build: ProgramBuilder, use: Usage, amount: Ints, duration: Ints, *, duplex: bool
) -> tuple[Ints, Ints]:
    """(C5) Duration >= DMA time of each channel; what is serial takes the time of both."""
    moved = (use.moved_in, use.moved_out) if duplex else (use.moved_in + use.moved_out,)
    channels = [build.rows(duration.size, 0.0) for _ in moved]
    for row, taken in zip(channels, moved, strict=True):
        build.add(row, duration, 1.0)
        busy = np.where(use.serial, 1.0, taken) if duplex else taken
        some = use.at >= 0
        build.add(row[use.at[some]], amount[some], -busy[some])
    return channels[0], channels[-1]


def _serial(
    build: ProgramBuilder, use: Usage, amount: Ints, duration: Ints, computing: Floats
) -> None:
    """(C6) Duration >= computing + what must wait for it, or it for that."""
    serial = use.serial
    # Elsewhere the least duration, a bound of the variable, says the same.
    waits = np.bincount(use.at[serial], minlength=duration.size) > 0
    row = build.rows(waits, computing)
    build.add(row, duration, 1.0)
    build.add(row[use.at[serial]], amount[serial], -1.0)
