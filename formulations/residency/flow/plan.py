"""From the bytes kept in each interval, and transfers at other times, to a residency plan."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.residency.flow.savings import SavingIntervals
from formulations.reuse_intervals import residency_of, stores_of
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.table import Ints, Table


@dataclass(frozen=True, kw_only=True, eq=False)
class ShiftedTransfers(Table):
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


NOTHING = ShiftedTransfers.empty()


def keep_residency_plan(
    intervals: SavingIntervals,
    kept_bytes: Ints,
    early: ShiftedTransfers = NOTHING,
    late: ShiftedTransfers = NOTHING,
) -> ResidencyPlan:
    """Make the plan that keeps ``kept_bytes`` (k,) of each interval, and nothing of others.

    Loads are in the step that needs them, but for ``early`` ones; stores in the step that writes
    departing bytes, but for ``late`` ones.
    """
    line, own = intervals.reuse.line, store(intervals, kept_bytes)
    np.subtract.at(own, late.access, late.size_bytes)
    here = np.flatnonzero(own)
    pieces = (
        (line.tensor, line.step, line.step + 1, line.size_bytes[line.tensor]),
        (line.tensor[intervals.access], intervals.begin, intervals.end, kept_bytes),
        (line.tensor[early.access], early.step, line.step[early.access], early.size_bytes),
        (line.tensor[late.access], late.step, late.step + 1, late.size_bytes),
    )
    return ResidencyPlan(
        steps=line.chosen,
        residency=residency_of(line.steps, *map(np.concatenate, zip(*pieces, strict=True))),
        stores=stores_of(
            np.concatenate((line.step[here], late.step)),
            line.tensor[np.concatenate((here, late.access))],
            np.concatenate((own[here], late.size_bytes)),
        ),
    )


def store(intervals: SavingIntervals, kept_bytes: Ints) -> Ints:
    """Count bytes (a,) that each write must store: that leave before the next one, or are kept."""
    reuse = intervals.reuse
    # One more, for what no operation wrote.
    # A version is stored once, whichever interval its bytes leave in: the most of all.
    result = np.zeros(reuse.step.size + 1, np.int64)
    version = reuse.version[reuse.previous[intervals.access]]
    np.maximum.at(result, version, intervals.size_bytes - kept_bytes)
    result[reuse.version[reuse.last]] = reuse.size_bytes[reuse.last]
    return result[:-1]
