"""The compact program over a set of columns (README, constraints C1 to C6).

Variables are bytes, in units of ``Master.unit_bytes``: one per column, the occupancy of each
step, and (if time counts) the duration of each step in bytes that its DMA time could move.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from formulations.residency.bound.duals import CostCoefficients, Multipliers
from formulations.residency.program.columns import (
    ARRIVING,
    DIRTY,
    ColumnKind,
    PathColumns,
    Usage,
)
from formulations.reuse_intervals import ReuseIntervals
from formulations.solver.program import Floats, Program, ProgramBuilder, SolverResult
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access

Bounds = tuple[Bools, Floats, Floats]
"""Which members of a set have a row, and the two sides of it."""


def padding(size_bytes: Ints, page_bytes: int) -> Floats:
    """Return bytes of whole pages per byte of tensors of these sizes."""
    result: Floats = -(-size_bytes // page_bytes) * page_bytes / size_bytes
    return result


def room(
    intervals: ReuseIntervals, coefficients: CostCoefficients, page_bytes: int, margin: float
) -> Floats:
    """Return (n,) bytes for columns: all but the margin, and at least the resident operands."""
    fixed = intervals.required_resident
    pages = intervals.size_bytes * padding(intervals.size_bytes, page_bytes)
    # Such a result has no column.
    dead = intervals.dead & intervals.write
    needed = np.bincount(intervals.step, pages * fixed, intervals.steps)
    hidden = np.bincount(intervals.step, pages * (fixed & dead), intervals.steps)
    left = coefficients.capacity_bytes * (1 - margin)
    # Required-resident operands fit in whole pages, whatever the margin.
    result: Floats = np.maximum(left, needed) - hidden
    return result


class Master:
    """The compact program over ``columns``, and how to read its solution.

    Parameters
    ----------
    page_bytes
        Pads each tensor's occupancy to pages, so that rounding down to pages never raises it.
    margin
        Share of the capacity that is left free.
    tie
        Extra cost of moving a byte, in dual values of a byte that nothing hides: of
        plans that cost about the same it prefers those that move less.

    Attributes
    ----------
    builder
        A formulation that is more than this one adds to it.
    amount : (c,)
        Columns of the bytes of each of ``columns``.
    occupancy : (n,)
        Columns of bytes in use.
    channels
        Rows (n,) of the transfers in, and of those out; the same on one channel, none where
        time does not count.
    """

    def __init__(
        self,
        intervals: ReuseIntervals,
        coefficients: CostCoefficients,
        columns: PathColumns,
        *,
        page_bytes: int,
        margin: float = 0.0,
        tie: float = 0.0,
    ) -> None:
        self.intervals, self.coefficients, self.columns = intervals, coefficients, columns
        self.use, self.builder = self._usage(), ProgramBuilder()
        # Amounts near 1: the solver's tolerances are absolute.
        self.unit_bytes = max(float(coefficients.capacity_bytes.max()) / 64, 1.0)
        # In joules a byte's cost is below the tolerance.
        self.dual_unit = coefficients.dearest_byte or 1.0
        self.page_bytes, self.margin, steps = page_bytes, margin, intervals.steps
        self.amount = self.builder.columns(
            len(columns), cost=self._costs(tie), upper=self._limits()
        )
        self.occupancy = self.builder.columns(steps, upper=self._room() / self.unit_bytes)
        self._split()
        self._carry_dirty()
        self._carry_clean()
        self._occupy(padding(intervals.size_bytes, page_bytes)[columns.access])
        self.channels: tuple[Ints, ...] = ()
        if coefficients.cycle > 0:
            computing = coefficients.compute_cycles * coefficients.bytes_per_cycle / self.unit_bytes
            byte_time = coefficients.byte_time / self.dual_unit
            duration = self.builder.columns(steps, cost=byte_time, lower=computing)
            self.channels = self._channels(duration)
            self._serial(duration, computing)

    @cached_property
    def program(self) -> Program:
        """The program as arrays, without later additions to the builder."""
        return self.builder.program()

    def multipliers(self, result: SolverResult) -> Multipliers:
        """Return the dual values from the duals of capacity and DMA time."""
        if result.column_dual is None or result.row_dual is None:
            raise ValueError("the solver returned no duals")
        # The dual of an upper bound is the reduced cost of its column, with the other sign.
        spm = -result.column_dual[self.occupancy] * self.dual_unit
        dma = [result.row_dual[rows] * self.dual_unit for rows in self.channels]
        dma = dma or [np.zeros_like(spm)]
        return Multipliers.legal(self.coefficients, spm, dma[0], dma[-1])

    def value(self, objective: float) -> float:
        """Return the objective of a solution in objective units, ties included."""
        return objective * self.unit_bytes * self.dual_unit + self.coefficients.constant

    def amounts(self, result: SolverResult) -> Floats:
        """Return the bytes of each column (c,)."""
        if result.primal is None:
            raise ValueError("the solver returned no solution")
        return np.maximum(result.primal[self.amount], 0.0) * self.unit_bytes

    def _usage(self) -> Usage:
        """Return the resources of a byte of each column."""
        return Usage(self.intervals, self.columns)

    def _costs(self, tie: float) -> Floats:
        """Return (c,) the cost of a byte of each column, in dual values of a byte."""
        inward, outward, coefficients = self.use.moved_in, self.use.moved_out, self.coefficients
        cost = coefficients.in_byte * inward + coefficients.out_byte * outward
        # Bytes on chip beyond those that move.
        beyond = 1 / self.intervals.ratio[self.columns.access] - 1
        cost += beyond * (coefficients.unpacked * inward + coefficients.packed * outward)
        result: Floats = cost / self.dual_unit + tie * (inward + outward)
        return result

    def _limits(self) -> Floats:
        """Return (c,) the most that each column may be: here no row says it better."""
        return np.full(len(self.columns), np.inf)

    def _room(self) -> Floats:
        """Return (n,) bytes for columns."""
        return room(self.intervals, self.coefficients, self.page_bytes, self.margin)

    def _split_rows(self) -> Bounds:
        """Return the accesses (a,) with a row (C1), and its sides in bytes."""
        intervals = self.intervals
        size = intervals.size_bytes.astype(np.float64)
        return ~(intervals.write & intervals.dead), size, size

    def _dirty_rows(self) -> Bounds:
        """Return the accesses (a,) with a row (C2), and its sides in bytes."""
        intervals = self.intervals
        # Elsewhere nothing is dirty, or nothing follows: the row would say 0 = 0.
        holds = np.where(intervals.read, intervals.dirty, ~intervals.write) & ~intervals.dead
        nothing = np.zeros(holds.size)
        return holds & (intervals.before_use | intervals.final), nothing, nothing

    def _clean_rows(self) -> Bools:
        """Return the accesses (a,) with a row (C3)."""
        return self.intervals.before_use

    def _rows(self, bounds: Bounds) -> Ints:
        where, lower, upper = bounds
        return self.builder.rows(where, lower / self.unit_bytes, upper / self.unit_bytes)

    def _is(self, *kinds: ColumnKind) -> Bools:
        """Return (c,) the columns of these kinds."""
        return np.isin(self.columns.kind, kinds)

    def _dirty(self) -> tuple[Ints, Ints]:
        """Return dirty columns (d,), and (d,) the access at whose end their bytes were resident."""
        dirty = np.flatnonzero(self._is(*DIRTY))
        access, final = self.columns.access[dirty], self.columns.kind[dirty] == ColumnKind.FINAL
        return self.amount[dirty], np.where(final, access, self.intervals.previous[access])

    def _split(self) -> None:
        """(C1) At an access: resident (arriving or written) + streamed = size."""
        intervals, access = self.intervals, self.columns.access
        row = self._rows(self._split_rows())
        here = self._is(*ARRIVING, ColumnKind.STREAM)
        here |= self._is(ColumnKind.WRITE_THROUGH) & intervals.write[access]
        self.builder.add(row[access[here]], self.amount[here], 1.0)
        # The columns after a blind write take up the bytes that it leaves dirty.
        dirty, source = self._dirty()
        self.builder.add(np.where(intervals.write[source], row[source], -1), dirty, 1.0)

    def _carry_dirty(self) -> None:
        """(C2) Dirty after an access = dirty columns of the next interval."""
        intervals, access = self.intervals, self.columns.access
        row = self._rows(self._dirty_rows())
        dirty, source = self._dirty()
        self.builder.add(np.where(intervals.write[source], -1, row[source]), dirty, -1.0)
        update = intervals.kind[access] == Access.UPDATE
        stays = np.where(update, self._is(*ARRIVING), self._is(ColumnKind.HOLD_DIRTY))
        self.builder.add(row[access[stays]], self.amount[stays], 1.0)
        through = update & self._is(ColumnKind.WRITE_THROUGH)
        self.builder.add(row[access[through]], self.amount[through], -1.0)

    def _carry_clean(self) -> None:
        """(C3) Held clean through the next interval <= clean after an access."""
        intervals, access = self.intervals, self.columns.access
        row = self.builder.rows(self._clean_rows(), 0.0)
        held = self._is(ColumnKind.HOLD_CLEAN)
        self.builder.add(row[intervals.previous[access[held]]], self.amount[held], -1.0)
        enters = self._is(*ARRIVING) & ~self._is(ColumnKind.HOLD_DIRTY)
        clean = np.where(intervals.read[access], enters, self._is(ColumnKind.WRITE_THROUGH))
        self.builder.add(row[access[clean]], self.amount[clean], 1.0)

    def _occupy(self, padding: Floats) -> None:
        """(C4) Occupancy of a step = of the step before + columns that begin - that ended."""
        use = self.use
        row = self.builder.rows(self.occupancy.size, 0.0, 0.0)
        self.builder.add(row, self.occupancy, 1.0)
        # Differences keep two entries a column, however long it holds.
        self.builder.add(row[1:], self.occupancy[:-1], -1.0)
        held = use.end > use.begin
        self.builder.add(row[use.begin[held]], self.amount[held], -padding[held])
        ended = held & (use.end < row.size)
        self.builder.add(row[use.end[ended]], self.amount[ended], padding[ended])

    def _channels(self, duration: Ints) -> tuple[Ints, Ints]:
        """(C5) Duration >= DMA time of each channel; serial parts take the time of both."""
        use, duplex = self.use, self.coefficients.duplex
        moved = (use.moved_in, use.moved_out) if duplex else (use.moved_in + use.moved_out,)
        channels = [self.builder.rows(duration.size, 0.0) for _ in moved]
        for row, taken in zip(channels, moved, strict=True):
            self.builder.add(row, duration, 1.0)
            # R6: a serial transfer keeps both channels.
            busy = np.where(use.serial, use.moved_in + use.moved_out, taken)
            some = use.at >= 0
            self.builder.add(row[use.at[some]], self.amount[some], -busy[some])
        return channels[0], channels[-1]

    def _serial(self, duration: Ints, computing: Floats) -> None:
        """(C6) Duration >= computing + transfers that must wait for it, or it for them."""
        serial, at = self.use.serial, self.use.at
        # Elsewhere the least duration, a bound of the variable, says the same.
        waits = np.bincount(at[serial], minlength=duration.size) > 0
        row = self.builder.rows(waits, computing)
        self.builder.add(row, duration, 1.0)
        moved = self.use.moved_in + self.use.moved_out
        self.builder.add(row[at[serial]], self.amount[serial], -moved[serial])
