"""Variables of cells (tensor, step) and the constraints (P1) to (P3), (P5), (P6) of the README.

Variables, in bytes: ``r`` resident prefix of a tensor in a step, ``D`` dirty bytes after it
(``s - Z`` of the next step), ``load`` and ``store`` in it; ``e = beta d``, the bytes that the
channel moves in the step's duration. Streamed bytes follow from ``r``, p (s - r).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from formulations.residency.cells import Cells
from formulations.solver.program import Floats, ProgramBuilder
from spmopt.assemble.commands import stream_fetches
from spmopt.core.machine import Machine
from spmopt.core.objective import TRAFFIC, Objective
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Timeline

_FINE = 1024
"""The scratchpad has about this many byte units: coefficients and sides of moderate size."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CellContext:
    """Problem data that all row families read."""

    machine: Machine
    line: Timeline
    cells: Cells

    @property
    def size(self) -> Ints:
        """(k,) Size of each cell's tensor."""
        return self.line.size_bytes[self.cells.tensor]

    @property
    def required_resident(self) -> Bools:
        """(k,) The step keeps the tensor resident in full."""
        result: Bools = (self.cells.access >= 0) & self.line.required_resident[self.cells.access]
        return result

    @property
    def byte_unit(self) -> int:
        """Bytes of a unit of the variables, a power of two."""
        return 1 << max(0, self.machine.spm_bytes.bit_length() - _FINE.bit_length())

    def streams(self) -> tuple[Ints, Ints]:
        """(k,) Bytes streamed in and out per byte that is not resident (R3, R4)."""
        used = (self.cells.access >= 0) & ~self.required_resident
        into, out = (
            np.where(used, fetches[self.cells.access], 0) for fetches in stream_fetches(self.line)
        )
        return into, out


@dataclass(frozen=True, kw_only=True, eq=False)
class Variables:
    """Columns, (k,) by cell and (n,) by step; -1 where there is none."""

    resident: Ints
    load: Ints
    dirty: Ints
    store: Ints
    duration: Ints

    @staticmethod
    def of(
        build: ProgramBuilder, c: CellContext, objective: Objective, *, absent: Bools, tie: float
    ) -> Variables:
        """Add the columns; the cost of moving a byte is more by ``tie`` of the dearest byte.

        Nothing is resident in the cells ``absent`` (k,).
        """
        cells, size = c.cells, c.size / c.byte_unit
        resident, load, store, cycle = _costs(c, objective, tie)
        return Variables(
            resident=build.columns(
                len(cells),
                cost=resident,
                lower=np.where(c.required_resident, size, 0.0),
                upper=np.where(absent, 0.0, size),
            ),
            load=build.columns(cells.loads, cost=load, upper=size),
            # A tensor to be kept has nothing dirty in the end (R7).
            dirty=build.columns(cells.dirty, upper=np.where(cells.last, 0.0, size)),
            store=build.columns(cells.dirty, cost=store, upper=size),
            duration=build.columns(np.full(c.line.steps, objective.cycle > 0), cost=cycle),
        )


def _costs(c: CellContext, objective: Objective, tie: float) -> tuple[Floats, float, float, float]:
    """Of a byte resident (k,), loaded, stored, and of time, in dual values of the dearest byte."""
    byte_time = objective.cycle / c.machine.bytes_per_cycle
    # Costs near 1 suit the solver's absolute tolerances.
    dearest = max(byte_time, objective.dram_in_byte, objective.dram_out_byte) or Fraction(1)
    moving = replace(TRAFFIC, dram_in_byte=dearest, dram_out_byte=dearest)
    streamed_in, streamed_out = c.streams()
    costs = []
    for one in (objective, moving):
        into, out = float(one.dram_in_byte / dearest), float(one.dram_out_byte / dearest)
        # Residency saves the streams.
        costs.append((-into * streamed_in - out * streamed_out, into, out))
    resident, load, store = (a + tie * b if tie else a for a, b in zip(*costs, strict=True))
    return resident, load, store, float(byte_time / dearest)


def grow(build: ProgramBuilder, c: CellContext, x: Variables) -> None:
    """(P1) ``r(i) <= r(i-1) + load(i)`` unless ``i`` overwrites the tensor blindly (R2).

    That loaded bytes are valid in DRAM, ``r(i-1) >= s - Z(i) = D(i-1)``, needs no row: (P3) of
    the step before says so, or (P2) where that step has written the tensor.
    """
    # A blind write makes bytes resident without a load.
    k = np.flatnonzero(~c.cells.blind)
    row = build.rows(k.size, upper=0.0)
    build.add(row, x.resident[k], 1.0)
    build.add(row, before(x.resident, c.cells)[k], -1.0)
    build.add(row, x.load[k], -1.0)


def carry_dirty(build: ProgramBuilder, c: CellContext, x: Variables) -> None:
    """(P2) ``D(i) = D(i-1) - store(i)``; ``D(i) = r(i) - store(i)`` if ``i`` writes (R5)."""
    k = np.flatnonzero(c.cells.dirty)
    row = build.rows(k.size, 0.0, 0.0)
    # After a write all resident bytes are dirty, whatever was before.
    source = np.where(c.cells.written, x.resident, before(x.dirty, c.cells))
    build.add(row, x.dirty[k], 1.0)
    build.add(row, x.store[k], 1.0)
    build.add(row, source[k], -1.0)


def lose_nothing(build: ProgramBuilder, c: CellContext, x: Variables) -> None:
    """(P3) ``r(i) >= D(i-1)`` while the old contents are needed (R5)."""
    dirty = before(x.dirty, c.cells)
    k = np.flatnonzero(dirty >= 0)
    row = build.rows(k.size, 0.0)
    build.add(row, x.resident[k], 1.0)
    build.add(row, dirty[k], -1.0)


def fill_channels(build: ProgramBuilder, c: CellContext, x: Variables) -> None:
    """(P5) ``e >= load + store + streams`` (R6: d >= X).

    With ``duplex`` two rows: ``e >= in + stores of required_resident results`` and
    ``e >= loads of required_resident operands + out``.
    """
    into, out = c.streams()
    if not c.machine.duplex:
        _last(build, c, x, fetches=into + out, load=x.load, store=x.store)
        return
    first, last = _serial(c, x)
    _last(build, c, x, fetches=into, load=x.load, store=last)
    _last(build, c, x, fetches=out, load=first, store=x.store)


def wait(build: ProgramBuilder, c: CellContext, x: Variables) -> None:
    """(P6) ``e >= loads of required_resident operands + beta c + stores.

    Of required_resident results`` (R6).
    """
    compute: Floats = c.line.compute_cycles.astype(np.float64) * float(c.machine.bytes_per_cycle)
    first, last = _serial(c, x)
    nothing = np.zeros(len(c.cells), np.int64)
    _last(build, c, x, fetches=nothing, load=first, store=last, least=compute)


def _serial(c: CellContext, x: Variables) -> tuple[Ints, Ints]:
    """Columns of the loads before the computation and of the stores after it, else -1."""
    fixed = c.required_resident
    return np.where(fixed, x.load, -1), np.where(fixed & c.cells.written, x.store, -1)


def _last(
    build: ProgramBuilder,
    c: CellContext,
    x: Variables,
    *,
    fetches: Ints,
    load: Ints,
    store: Ints,
    least: Floats | float = 0.0,
) -> None:
    """``e - load - store + fetches r >= fetches s + least`` in every step."""
    step, steps = c.cells.step, c.line.steps
    streams = np.bincount(step, (fetches * c.size).astype(np.float64), steps)
    row = build.rows(steps, (streams + least) / c.byte_unit)
    build.add(row, x.duration, 1.0)
    build.add(row[step], load, -1.0)
    build.add(row[step], store, -1.0)
    build.add(row[step], x.resident, fetches)


def before(column: Ints, cells: Cells) -> Ints:
    """(k,) The column of the same tensor in the step before, or -1."""
    return np.where(cells.previous >= 0, column[cells.previous], -1)
