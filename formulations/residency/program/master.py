"""The compact program over a set of columns (README, constraints C1 to C6).

Variables are bytes, in units of ``Scale.unit_bytes``: one per column, the occupancy of each
step, and (if time counts) the duration of each step in bytes that its DMA time could move.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.residency.bound.gaps import Gaps
from formulations.residency.bound.prices import Economy, Multipliers
from formulations.residency.bound.rangemin import Floats
from formulations.residency.program.columns import Columns, Kind
from formulations.residency.program.rows import Entries, Rows
from formulations.residency.program.usage import Usage, usage
from formulations.solver.program import Answer, Program, compressed
from spmopt.core.table import Ints
from spmopt.core.timeline import Access


@dataclass(frozen=True, kw_only=True, eq=False)
class Master:
    """A compact program, and how to read its solution."""

    gaps: Gaps
    economy: Economy
    columns: Columns
    rows: Rows
    program: Program
    unit_bytes: float
    price_unit: float

    def multipliers(self, answer: Answer) -> Multipliers:
        """Prices from the duals of capacity and DMA time."""
        if answer.column_dual is None or answer.row_dual is None:
            raise ValueError("the solver returned no duals")
        first, steps = len(self.columns), self.gaps.steps
        spm = -answer.column_dual[first : first + steps] * self.price_unit
        if self.economy.cycle <= 0:
            nothing = np.zeros(steps)
            return Multipliers.legal(self.economy, spm, nothing, nothing)
        rows = self.rows
        load = answer.row_dual[rows.load : rows.load + steps] * self.price_unit
        store = answer.row_dual[rows.store : rows.store + steps] * self.price_unit
        return Multipliers.legal(self.economy, spm, load, store)

    def value(self, objective: float) -> float:
        """Objective of a solution in objective units, ties included."""
        return objective * self.unit_bytes * self.price_unit + self.economy.constant

    def amounts(self, answer: Answer) -> Floats:
        """Bytes of each column (c,)."""
        if answer.primal is None:
            raise ValueError("the solver returned no solution")
        return np.maximum(answer.primal[: len(self.columns)], 0.0) * self.unit_bytes


def master(
    gaps: Gaps,
    economy: Economy,
    columns: Columns,
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
    use = usage(gaps, columns)
    rows = Rows.of(gaps, economy, use)
    count, steps = len(columns), gaps.steps
    unit = max(float(economy.capacity_bytes.max()) / 64, 1.0)
    price_unit = max(economy.byte_time, economy.in_byte, economy.out_byte) or 1.0
    entries = Entries()
    own = np.arange(count)
    _split(gaps, rows, columns, own, entries)
    _carry_dirty(gaps, rows, columns, own, entries)
    _carry_clean(gaps, rows, columns, own, entries)
    pad = _padding(gaps, page_bytes)[columns.access]
    _occupy(rows, use, pad, entries, first=count)
    timed = economy.cycle > 0
    if timed:
        _fill(rows, use, entries, first=count + steps, steps=steps)
    capacity = _capacity(gaps, economy, page_bytes, margin) / unit
    computing = economy.compute_cycles * economy.bytes_per_cycle / unit
    upper = np.concatenate((np.full(count, np.inf), capacity))
    lower = np.zeros(count + steps)
    moved = (economy.in_byte * use.moved_in + economy.out_byte * use.moved_out) / price_unit
    moved = moved + tie * (use.moved_in + use.moved_out)
    cost = np.concatenate((moved, np.zeros(steps)))
    if timed:
        upper = np.concatenate((upper, np.full(steps, np.inf)))
        lower = np.concatenate((lower, computing))
        cost = np.concatenate((cost, np.full(steps, economy.byte_time / price_unit)))
    row_lower, row_upper = _sides(gaps, rows, computing, unit)
    row, column, value = entries.triplets()
    program = Program(
        cost=cost,
        lower=lower,
        upper=upper,
        row_lower=row_lower,
        row_upper=row_upper,
        matrix=compressed(column, row, value, cost.size, by_rows=False),
    )
    return Master(
        gaps=gaps,
        economy=economy,
        columns=columns,
        rows=rows,
        program=program,
        unit_bytes=unit,
        price_unit=price_unit,
    )


def _padding(gaps: Gaps, page_bytes: int) -> Floats:
    """(a,) Bytes of whole pages per byte of the tensor."""
    padded = -(-gaps.size_bytes // page_bytes) * page_bytes
    return padded / gaps.size_bytes


def _capacity(gaps: Gaps, economy: Economy, page_bytes: int, margin: float) -> Floats:
    """(n,) Bytes for columns: all but the margin, and at least what is stationary."""
    pages = gaps.size_bytes * _padding(gaps, page_bytes)
    dead = gaps.dead & (gaps.kind == Access.WRITE)  # such a result has no column
    fixed = np.bincount(gaps.step, pages * gaps.stationary, gaps.steps)
    hidden = np.bincount(gaps.step, pages * (gaps.stationary & dead), gaps.steps)
    result: Floats = np.maximum(economy.capacity_bytes * (1 - margin), fixed) - hidden
    return result


def _sides(gaps: Gaps, rows: Rows, computing: Floats, unit: float) -> tuple[Floats, Floats]:
    lower, upper = np.zeros(rows.count), np.zeros(rows.count)
    whole = rows.whole >= 0
    lower[rows.whole[whole]] = gaps.size_bytes[whole] / unit
    upper[rows.whole[whole]] = gaps.size_bytes[whole] / unit
    clean = rows.clean[rows.clean >= 0]
    upper[clean] = np.inf
    upper[rows.load :] = np.inf
    waits = rows.serial >= 0
    lower[rows.serial[waits]] = computing[waits]
    return lower, upper


def _source(gaps: Gaps, columns: Columns) -> Ints:
    """Access at whose end the bytes of a dirty or held column were resident."""
    final = columns.kind == Kind.FINAL
    return np.where(final, columns.access, gaps.previous[columns.access])


_DIRTY = (Kind.HOLD_DIRTY, Kind.DROP, Kind.CLEAN, Kind.FINAL)
_ARRIVING = (Kind.HOLD_DIRTY, Kind.HOLD_CLEAN, Kind.LOAD, Kind.LOAD_HERE, Kind.CLEAN)


def _split(gaps: Gaps, rows: Rows, columns: Columns, own: Ints, entries: Entries) -> None:
    """(C1) At an access: resident (arriving or written) + streamed = size."""
    kind, access = columns.kind, columns.access
    write = gaps.kind[access] == Access.WRITE
    here = np.isin(kind, (*_ARRIVING, Kind.STREAM)) | ((kind == Kind.WRITE_THROUGH) & write)
    entries.add(rows.whole[access[here]], own[here], 1.0)
    # What a blind write leaves dirty is what the columns after it take up.
    dirty = np.isin(kind, _DIRTY)
    source = _source(gaps, columns)[dirty]
    after_write = gaps.kind[source] == Access.WRITE
    entries.add(np.where(after_write, rows.whole[source], -1), own[dirty], 1.0)


def _carry_dirty(gaps: Gaps, rows: Rows, columns: Columns, own: Ints, entries: Entries) -> None:
    """(C2) Dirty after an access = dirty columns of the next gap."""
    kind, access = columns.kind, columns.access
    dirty = np.isin(kind, _DIRTY)
    source = _source(gaps, columns)[dirty]
    not_write = gaps.kind[source] != Access.WRITE
    entries.add(np.where(not_write, rows.dirty[source], -1), own[dirty], -1.0)
    update = gaps.kind[access] == Access.UPDATE
    stays = np.where(update, np.isin(kind, _ARRIVING), kind == Kind.HOLD_DIRTY)
    entries.add(rows.dirty[access[stays]], own[stays], 1.0)
    through = update & (kind == Kind.WRITE_THROUGH)
    entries.add(rows.dirty[access[through]], own[through], -1.0)


def _carry_clean(gaps: Gaps, rows: Rows, columns: Columns, own: Ints, entries: Entries) -> None:
    """(C3) Held clean through the next gap <= clean after an access."""
    kind, access = columns.kind, columns.access
    held = kind == Kind.HOLD_CLEAN
    entries.add(rows.clean[gaps.previous[access[held]]], own[held], -1.0)
    read = gaps.kind[access] == Access.READ
    enters = np.isin(kind, (Kind.HOLD_CLEAN, Kind.LOAD, Kind.LOAD_HERE, Kind.CLEAN))
    clean = np.where(read, enters, kind == Kind.WRITE_THROUGH)
    entries.add(rows.clean[access[clean]], own[clean], 1.0)


def _occupy(rows: Rows, use: Usage, pad: Floats, entries: Entries, *, first: int) -> None:
    """(C4) Occupancy of a step = of the step before + columns that begin - that ended."""
    steps = rows.load - rows.occupy
    step, own = np.arange(steps), np.arange(pad.size)
    entries.add(rows.occupy + step, first + step, 1.0)
    entries.add(rows.occupy + step[1:], first + step[:-1], -1.0)
    held = use.end > use.begin
    entries.add(rows.occupy + use.begin[held], own[held], -pad[held])
    ended = held & (use.end < steps)
    entries.add(rows.occupy + use.end[ended], own[ended], pad[ended])


def _fill(rows: Rows, use: Usage, entries: Entries, *, first: int, steps: int) -> None:
    """(C5, C6) Duration >= DMA time of each channel; >= computing + what must wait for it."""
    step, own = np.arange(steps), np.arange(use.at.size)
    moves_in, moves_out = use.moved_in > 0, use.moved_out > 0
    if rows.load == rows.store:
        entries.add(rows.load + step, first + step, 1.0)
        moved = use.moved_in + use.moved_out
        some = moved > 0
        entries.add(rows.load + use.at[some], own[some], -moved[some])
    else:
        for row, amount in ((rows.load, use.moved_in), (rows.store, use.moved_out)):
            entries.add(row + step, first + step, 1.0)
            some = (amount > 0) | (use.serial & (moves_in | moves_out))
            taken = np.where(use.serial, 1.0, amount)
            entries.add(row + use.at[some], own[some], -taken[some])
    entries.add(rows.serial, first + step, 1.0)
    entries.add(rows.serial[use.at[use.serial]], own[use.serial], -1.0)
