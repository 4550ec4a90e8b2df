"""What columns use: scratchpad over some steps, and DMA in one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.residency.bound.ranked import RankedIntervals
from formulations.residency.program.columns import ColumnKind, PathColumns
from formulations.solver.program import Floats
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access


@dataclass(frozen=True, kw_only=True, eq=False)
class Usage:
    """What one byte of each column uses (c,).

    SPM during steps [begin, end), and DMA ``moved_in`` and ``moved_out`` bytes in step
    ``at``; ``serial`` marks transfers that cannot overlap the step's computing.
    """

    begin: Ints
    end: Ints
    at: Ints
    moved_in: Floats
    moved_out: Floats
    serial: Bools


def usage(intervals: RankedIntervals, columns: PathColumns) -> Usage:
    """Read off each column's use of SPM and DMA."""
    kind, access = columns.kind, columns.access
    step, before = intervals.step[access], intervals.previous[access]
    own_kind, passes = intervals.kind[access], intervals.passes[access].astype(np.float64)
    written = np.where(before >= 0, intervals.kind[before] == Access.WRITE, False)
    final = kind == ColumnKind.FINAL
    written = np.where(final, own_kind == Access.WRITE, written)
    # Dirty bytes that a blind write leaves count from the writing step on.
    start = np.where(final, step + 1, intervals.begin[access])
    dirty_start = start - written
    loads = (kind == ColumnKind.LOAD) | (kind == ColumnKind.LOAD_HERE)
    from_dirty = np.isin(
        kind, (ColumnKind.HOLD_DIRTY, ColumnKind.DROP, ColumnKind.CLEAN, ColumnKind.FINAL)
    )
    own_step = np.isin(kind, (ColumnKind.STREAM, ColumnKind.LOAD_HERE, ColumnKind.WRITE_THROUGH))
    at = np.where(own_step, step, columns.step)
    begin = np.where(from_dirty, dirty_start, np.where(loads | own_step, at, start))
    end = np.where((kind == ColumnKind.DROP) | final, columns.step, step) + 1
    nothing = (kind == ColumnKind.STREAM) | (
        (kind == ColumnKind.WRITE_THROUGH) & (own_kind != Access.WRITE)
    )
    end = np.where(nothing, begin, end)
    stream = kind == ColumnKind.STREAM
    write, dead = own_kind == Access.WRITE, intervals.dead[access]
    streamed_in = np.where(write, passes - 1, passes)
    streamed_out = np.where((own_kind == Access.READ) | dead, 0.0, passes)
    stores = np.isin(
        kind, (ColumnKind.WRITE_THROUGH, ColumnKind.DROP, ColumnKind.CLEAN, ColumnKind.FINAL)
    )
    fixed = intervals.stationary[access]
    return Usage(
        begin=begin,
        end=end,
        at=at,
        moved_in=np.where(stream, streamed_in, loads.astype(np.float64)),
        moved_out=np.where(stream, streamed_out, stores.astype(np.float64)),
        serial=fixed & np.isin(kind, (ColumnKind.LOAD_HERE, ColumnKind.WRITE_THROUGH)),
    )
