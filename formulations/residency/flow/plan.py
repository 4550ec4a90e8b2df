"""From the bytes that stay in each interval, and transfers at other times, to a plan."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.residency.flow.savings import SavingIntervals
from spmopt.core.schedule import Plan, Residency, Stores
from spmopt.core.table import Ints
from spmopt.core.timeline import Timeline


@dataclass(frozen=True, kw_only=True, eq=False)
class ShiftedTransfers:
    """Transfers (m,) that do not wait for the step of their access.

    Attributes
    ----------
    access : (m,)
        Loads: that they are for. Stores: that wrote the bytes.
    step : (m,)
        In which they are: before that of the access, or one after it.
    size_bytes : (m,)
    """

    access: Ints
    step: Ints
    size_bytes: Ints

    @staticmethod
    def of(rows: list[tuple[int, int, int]]) -> ShiftedTransfers:
        """Rows of access, step and bytes."""
        columns = np.array(rows, np.int64).reshape(-1, 3)
        return ShiftedTransfers(access=columns[:, 0], step=columns[:, 1], size_bytes=columns[:, 2])


NOTHING = ShiftedTransfers.of([])


def kept_plan(
    line: Timeline,
    intervals: SavingIntervals,
    kept_bytes: Ints,
    early: ShiftedTransfers = NOTHING,
    late: ShiftedTransfers = NOTHING,
) -> Plan:
    """Plan in which ``kept_bytes`` (k,) of each stay are resident, and of other intervals nothing.

    Loads are in the step that needs them, but for ``early`` ones; stores in the step that writes
    what is to leave, but for ``late`` ones.
    """
    return Plan(
        operation=line.operation,
        mode=line.mode,
        residency=_residency(line, intervals, kept_bytes, early, late),
        stores=_stores(line, stored(line, intervals, kept_bytes), late),
    )


def stored(line: Timeline, intervals: SavingIntervals, kept_bytes: Ints) -> Ints:
    """(a,) Bytes that each write has to store: that leave before the next one, or are kept."""
    reuse = intervals.reuse
    # One more, for what no operation wrote.
    result = np.zeros(line.step.size + 1, np.int64)
    version = reuse.version[reuse.previous[intervals.access]]
    np.maximum.at(result, version, intervals.size_bytes - kept_bytes)
    result[reuse.version[reuse.last]] = reuse.size_bytes[reuse.last]
    return result[:-1]


def _residency(
    line: Timeline,
    intervals: SavingIntervals,
    kept_bytes: Ints,
    early: ShiftedTransfers,
    late: ShiftedTransfers,
) -> Residency:
    pieces = (
        (line.tensor, line.step, line.step + 1, line.size_bytes[line.tensor]),
        (line.tensor[intervals.access], intervals.begin, intervals.end, kept_bytes),
        (line.tensor[early.access], early.step, line.step[early.access], early.size_bytes),
        (line.tensor[late.access], late.step, late.step + 1, late.size_bytes),
    )
    tensor, begin, end, size = (np.concatenate(column) for column in zip(*pieces, strict=True))
    span = line.steps + 1
    keys = np.concatenate((tensor * span + begin, tensor * span + end))
    unique, place = np.unique(keys, return_inverse=True)
    change = np.zeros(unique.size, np.int64)
    np.add.at(change, place, np.concatenate((size, -size)))
    # A tensor's changes add up to nothing, so one running sum serves all of them.
    level = np.cumsum(change)
    rows = np.flatnonzero(change)
    held = rows[level[rows] > 0]
    following = rows[np.searchsorted(rows, held) + 1]
    return Residency(
        tensor=unique[held] // span,
        begin=unique[held] % span,
        end=unique[following] % span,
        size_bytes=level[held],
    )


def _stores(line: Timeline, own: Ints, late: ShiftedTransfers) -> Stores:
    rest = own.copy()
    np.subtract.at(rest, late.access, late.size_bytes)
    some = np.flatnonzero(rest)
    step = np.concatenate((line.step[some], late.step))
    tensor = np.concatenate((line.tensor[some], line.tensor[late.access]))
    size = np.concatenate((rest[some], late.size_bytes))
    order = np.lexsort((tensor, step))
    return Stores(step=step[order], tensor=tensor[order], size_bytes=size[order])
