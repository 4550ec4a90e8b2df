"""Resident and dirty bytes of every tensor over the steps, added up from columns."""

from __future__ import annotations

import numpy as np

from formulations.residency.bound.ranked import RankedIntervals
from formulations.residency.program.columns import DIRTY, ColumnKind, PathColumns, Usage
from formulations.solver.program import Floats
from spmopt.core.table import Ints


class Profiles:
    """Step functions of all tensors: from ``step`` on, until the next row of the tensor.

    Attributes
    ----------
    tensor, step : (k,)
        Sorted; every access and the step after it have a row.
    resident, dirty : (k,)
        Bytes, as the program gave them.
    version : (k,)
        Grows by one after each write of a tensor.
    fixed : (k,)
        The row is the step of a required-resident operand.
    access : (k,)
        Position of the access in that step, or -1.
    size_bytes : (k,)
    """

    def __init__(
        self,
        intervals: RankedIntervals,
        *,
        tensor: Ints,
        step: Ints,
        access: Ints,
        resident: Floats,
        dirty: Floats,
    ) -> None:
        self.intervals, self.tensor, self.step, self.access = intervals, tensor, step, access
        self.resident, self.dirty = resident, dirty
        self.written = (access >= 0) & ~intervals.read[access]
        self.version = np.concatenate(([0], np.cumsum(self.written)[:-1]))
        self.fixed = (access >= 0) & intervals.required_resident[access]
        self.size_bytes = intervals.line.size_bytes[tensor]


def profiles(intervals: RankedIntervals, columns: PathColumns, amounts: Floats) -> Profiles:
    """Add up the columns."""
    use, access = Usage(intervals, columns), columns.access
    some = (use.end > use.begin) & (amounts > 0)
    tensor = intervals.tensor[access]
    dirty = some & np.isin(columns.kind, DIRTY)
    # Bytes are dirty from the write on until the step of their store, included.
    own_final = columns.kind == ColumnKind.FINAL
    since = np.where(own_final, intervals.step[access] + 1, intervals.begin[access])
    until = (
        np.where(columns.kind == ColumnKind.HOLD_DIRTY, intervals.step[access], columns.step) + 1
    )
    span = intervals.steps + 2
    own = np.arange(intervals.step.size)
    keys = [intervals.tensor * span + intervals.step, intervals.tensor * span + intervals.step + 1]
    keys += [(tensor * span + x)[some] for x in (use.begin, use.end)]
    keys += [(tensor * span + x)[dirty] for x in (since, until)]
    counts = [key.size for key in keys]
    nothing, amount = np.zeros(2 * own.size), amounts[some]
    held = np.concatenate((nothing, amount, -amount, np.zeros(2 * int(dirty.sum()))))
    newer = np.concatenate((np.zeros(sum(counts[:4])), amounts[dirty], -amounts[dirty]))
    unique, inverse = np.unique(np.concatenate(keys), return_inverse=True)
    tensors, steps = unique // span, unique % span
    at = np.full(unique.size, -1, np.int64)
    at[inverse[: own.size]] = own
    return Profiles(
        intervals,
        tensor=tensors,
        step=steps,
        resident=_sum(np.bincount(inverse, held, unique.size).astype(np.float64), tensors),
        dirty=_sum(np.bincount(inverse, newer, unique.size).astype(np.float64), tensors),
        access=at,
    )


def _sum(change: Floats, tensor: Ints) -> Floats:
    """Run sums, from zero for each tensor and back to it, which rounding alone would miss."""
    total: Floats = np.cumsum(change)
    first = np.flatnonzero(np.concatenate(([True], tensor[1:] != tensor[:-1])))
    base = np.concatenate(([0.0], total))[first]
    result: Floats = total - np.repeat(base, np.diff(np.append(first, tensor.size)))
    # Sums of floats return to zero only nearly.
    result[np.flatnonzero(np.diff(tensor, append=-1))] = 0.0
    return result
