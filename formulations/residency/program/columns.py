"""Columns of the compact program: events of a byte in an interval or at an access.

A column is a kind, the access that ends its interval, and, for transfers inside it, a step.
Few are needed: pricing finds those whose best path costs little more than the best path.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from formulations.residency.bound.duals import MoveDuals
from formulations.residency.bound.rangemin import RangeMinimum, StepRanges
from formulations.reuse_intervals import ReuseIntervals, steps_of
from formulations.solver.program import Floats
from spmopt.core.table import Bools, Ints, Table, distinct


class ColumnKind(IntEnum):
    """Events of the bytes of a column."""

    HOLD_DIRTY = 0  # through the interval and the access, newer than DRAM
    HOLD_CLEAN = 1  # through the interval and the access, valid in DRAM
    STREAM = 2  # pass by the SPM at the access
    LOAD_HERE = 3  # enter in the access's step
    WRITE_THROUGH = 4  # written, and stored in the same step
    LOAD = 5  # enter within the interval, at a step
    DROP = 6  # store within the interval, at a step, and leave
    CLEAN = 7  # store within the interval or at the reading access, and stay
    FINAL = 8  # store after the last access, at a step, and leave


DIRTY = (ColumnKind.HOLD_DIRTY, ColumnKind.DROP, ColumnKind.CLEAN, ColumnKind.FINAL)
"""Of bytes that are newer than DRAM as the interval begins."""
ARRIVING = (
    ColumnKind.HOLD_DIRTY,
    ColumnKind.HOLD_CLEAN,
    ColumnKind.LOAD,
    ColumnKind.LOAD_HERE,
    ColumnKind.CLEAN,
)
"""Of bytes that are resident at the access, and have been or are loaded."""
_LOADED = (ColumnKind.LOAD, ColumnKind.LOAD_HERE)
_STORED = (ColumnKind.WRITE_THROUGH, ColumnKind.DROP, ColumnKind.CLEAN, ColumnKind.FINAL)
_SERIAL = (ColumnKind.LOAD_HERE, ColumnKind.WRITE_THROUGH)
_ALONE = (ColumnKind.STREAM, ColumnKind.FINAL, ColumnKind.DROP, ColumnKind.WRITE_THROUGH)
_TRAITS = np.array(
    [
        [kind in kinds for kind in ColumnKind]
        for kinds in (DIRTY, _SERIAL, _LOADED, _STORED, *((kind,) for kind in _ALONE))
    ]
)
"""(8, kinds) Which kinds are of each group, and which is each of ``_ALONE``."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PathColumns(Table):
    """A set of columns: kind, position of the access in ``ReuseIntervals``, and step (-1 if none).

    For ``FINAL`` the access is the last one of the tensor.
    """

    kind: Ints
    access: Ints
    step: Ints

    def key(self, steps: int) -> Ints:
        """Return one integer per column, for set operations."""
        return (self.access * len(ColumnKind) + self.kind) * (steps + 1) + self.step + 1

    def union(self, other: PathColumns, steps: int) -> PathColumns:
        """Return both sets, without duplicates."""
        return of_keys([self.key(steps), other.key(steps)], steps)


def of_keys(keys: list[Ints], steps: int) -> PathColumns:
    """Return the columns with these keys, without duplicates."""
    both = distinct(np.concatenate(keys))
    who, step = both // (steps + 1), both % (steps + 1) - 1
    return PathColumns(kind=who % len(ColumnKind), access=who // len(ColumnKind), step=step)


def of_kind(kind: ColumnKind, access: Ints, step: Ints | int = -1) -> PathColumns:
    """Return the columns of one kind."""
    return PathColumns(
        kind=np.full(access.size, kind, np.int64),
        access=access,
        step=np.broadcast_to(np.asarray(step, np.int64), access.shape),
    )


def existing(intervals: ReuseIntervals) -> dict[ColumnKind, Bools]:
    """Return (a,) the accesses at which a column of each kind makes sense."""
    inner = intervals.begin < intervals.step
    return {
        ColumnKind.HOLD_DIRTY: intervals.dirty,
        ColumnKind.HOLD_CLEAN: intervals.between_uses,
        ColumnKind.STREAM: ~intervals.required_resident & ~(intervals.write & intervals.dead),
        ColumnKind.LOAD_HERE: intervals.live,
        ColumnKind.WRITE_THROUGH: ~intervals.read & ~intervals.dead,
        ColumnKind.LOAD: intervals.live & inner,
        ColumnKind.DROP: intervals.dirty & inner,
        ColumnKind.CLEAN: intervals.dirty & (inner | intervals.read),
        ColumnKind.FINAL: intervals.final,
    }


AT_ACCESS = tuple(kind for kind in ColumnKind if kind < ColumnKind.LOAD)
"""Kinds without a step of their own, one column of each an access."""


def require(intervals: ReuseIntervals) -> PathColumns:
    """Return columns that make the program feasible: stream all, or load and store where fixed."""
    where, fixed = existing(intervals), intervals.required_resident
    streamed = of_kind(ColumnKind.STREAM, np.flatnonzero(where[ColumnKind.STREAM]))
    serial = (of_kind(kind, np.flatnonzero(where[kind] & fixed)) for kind in _SERIAL)
    return PathColumns.together(streamed, *serial)


def all_columns(intervals: ReuseIntervals) -> PathColumns:
    """Return every column: of transfers within an interval, one for each of its steps."""
    where = {kind: np.flatnonzero(there) for kind, there in existing(intervals).items()}
    parts = [of_kind(kind, where[kind]) for kind in AT_ACCESS]
    for kind in (ColumnKind.LOAD, ColumnKind.DROP, ColumnKind.CLEAN, ColumnKind.FINAL):
        at = where[kind]
        owner, step = steps_of(*_steps_within(intervals, kind, at))
        parts.append(of_kind(kind, at[owner], step))
    at = where[ColumnKind.CLEAN]
    at = at[intervals.read[at]]
    parts.append(of_kind(ColumnKind.CLEAN, at, intervals.step[at]))
    return PathColumns.together(*parts)


def _steps_within(intervals: ReuseIntervals, kind: ColumnKind, at: Ints) -> tuple[Ints, Ints]:
    """Return the steps [begin, end) in which the transfer of a column may be."""
    if kind == ColumnKind.FINAL:
        return intervals.step[at] + 1, np.full_like(at, intervals.steps)
    return intervals.begin[at], intervals.step[at]


def candidates(
    intervals: ReuseIntervals,
    duals: MoveDuals,
    depth: int,
    limit: Callable[[ColumnKind, Ints], Floats],
) -> PathColumns:
    """Find columns that cost little: at accesses, and at the cheapest steps of each interval.

    The best step is tried first, then the best to its left and right, down to ``depth`` levels.
    ``limit`` bounds the cost of a step of a kind at each of some accesses; where it is
    negative even a column without a step is too dear.
    """
    parts = []
    where = {kind: np.flatnonzero(there) for kind, there in existing(intervals).items()}
    for kind in AT_ACCESS:
        at = where[kind]
        parts.append(of_kind(kind, at[limit(kind, at) >= 0]))
    tables = {
        ColumnKind.LOAD: duals.loads,
        ColumnKind.DROP: duals.drops,
        ColumnKind.CLEAN: duals.cleans,
        ColumnKind.FINAL: duals.drops,
    }
    for kind, table in tables.items():
        at = where[kind]
        # Steps of dual values, which each ratio has of its own.
        begin, end = (each + intervals.offset[at] for each in _steps_within(intervals, kind, at))
        owner, step = _search(table, begin, end, limit(kind, at), depth)
        parts.append(of_kind(kind, at[owner], step - intervals.offset[at[owner]]))
    # Stored at the reading access itself.
    at = where[ColumnKind.CLEAN]
    at = at[intervals.read[at]]
    at = at[duals.stored[intervals.at[at]] <= limit(ColumnKind.CLEAN, at)]
    parts.append(of_kind(ColumnKind.CLEAN, at, intervals.step[at]))
    return PathColumns.together(*parts)


def _search(
    table: RangeMinimum, begin: Ints, end: Ints, limit: Floats, depth: int
) -> tuple[Ints, Ints]:
    """Return the steps with a value of at most ``limit``, best first, then left and right of it."""
    owner = np.arange(begin.size, dtype=np.int64)
    owners, steps = [owner[:0]], [owner[:0]]
    for _ in range(depth):
        step = table.argmin(StepRanges(begin, end))
        # Left and right of a step that is too dear there is none better.
        good = (begin < end) & (table.at(step) <= limit[owner])
        owner, begin, end, step = owner[good], begin[good], end[good], step[good]
        owners.append(owner)
        steps.append(step)
        owner = np.concatenate((owner, owner))
        begin, end = np.concatenate((begin, step + 1)), np.concatenate((step, end))
    return np.concatenate(owners), np.concatenate(steps)


class Usage:
    """Resources of one byte of each column (c,).

    SPM during steps [begin, end), and DMA ``moved_in`` and ``moved_out`` bytes in step
    ``at``; ``serial`` marks transfers that cannot overlap the step's computing.
    """

    def __init__(self, intervals: ReuseIntervals, columns: PathColumns) -> None:
        kind, access = columns.kind, columns.access
        step, before = intervals.step[access], intervals.previous[access]
        write, fetches = intervals.write[access], intervals.fetches[access].astype(np.float64)
        dirty, serial, loads, stores, stream, final, drop, through = _TRAITS[:, kind]
        # Dirty bytes that a blind write leaves count from the writing step on, or the one before.
        # A result occupies its step from its writer on.
        since = np.where(intervals.write, 1 + intervals.early, 0)
        written = np.where(final, since[access], np.where(before >= 0, since[before], 0))
        start = np.where(final, step + 1, intervals.begin[access])
        self.at = np.where(stream | serial, step, columns.step)
        begin = np.where(loads | stream | serial, self.at, start)
        # A byte written and stored in one step is resident in it (R5).
        begin = np.where(through & write, step + 1 - since[access], begin)
        self.begin = np.where(dirty, start - written, begin)
        end = np.where(drop | final, columns.step, step) + 1
        fetches_by = stream | (through & ~write)
        self.end = np.where(fetches_by, self.begin, end)
        # R4: a result of p parts is read back p - 1 times.
        streamed_in = np.where(write, fetches - 1, fetches)
        streamed_out = np.where((intervals.read | intervals.dead)[access], 0.0, fetches)
        ratio = intervals.ratio[access]
        # A byte of any kind but streams moves at most once.
        self.moved_in: Floats = ratio * np.where(stream, streamed_in, loads.astype(np.float64))
        self.moved_out: Floats = ratio * np.where(stream, streamed_out, stores.astype(np.float64))
        self.serial = intervals.required_resident[access] & serial
