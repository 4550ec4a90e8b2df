"""Reuse intervals in which bytes may remain, their savings, and the plan that keeps some."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from formulations.residency.byte_duals import ByteDuals
from formulations.reuse_intervals import ReuseIntervals, residency_of, stores_of
from spmopt.assemble.cost import sum_up
from spmopt.core.machine import Machine
from spmopt.core.objective import Objective
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.table import Ints, Table
from spmopt.core.timeline import Timeline

_LARGEST = 2**31  # saving, so that sums of them stay within 64 bits


class SavingIntervals:
    """Intervals (k,) of live tensors with untouched steps, in which any number of bytes may remain.

    Attributes
    ----------
    reuse
        All reuse intervals, in the timeline's order of accesses.
    access : (k,)
        The access that ends the interval.
    begin, end : (k,)
        Its untouched steps are [begin, end).
    size_bytes : (k,)
        Of the tensor: so many bytes at most.
    saving : (k,) Saving of a byte that remains, in ``unit``; at least 1.
    unit
        Of the objective.
    """

    def __init__(self, reuse: ReuseIntervals, access: Ints, saving: Ints, unit: Fraction) -> None:
        self.reuse, self.access, self.saving, self.unit = reuse, access, saving, unit
        self.begin, self.end = reuse.begin[access], reuse.step[access]
        self.size_bytes = reuse.size_bytes[access]

    @staticmethod
    def of(line: Timeline, objective: Objective) -> SavingIntervals | None:
        """Return intervals of a timeline; None where bytes of different ones depend on each other.

        They do where time has a dual value, where an operand need not be resident, and where a
        version that DRAM does not need in the end could leave in more than one interval: it is
        stored once, whichever it leaves in. (Offline caching with costs of writing back is NP-hard:
        Beckmann et al., "Writeback-Aware Caching", APOCS 2020.)
        """
        if objective.cycle or not line.step.size or not line.required_resident.all():
            return None
        # Commands of compressed tensors round up to whole bytes, which no flow counts.
        if not line.moved.plain:
            return None
        duals = ByteDuals.of(objective, _LARGEST)
        if not duals.exact:
            return None
        reuse = ReuseIntervals(line, np.arange(line.step.size))
        access = np.flatnonzero(reuse.between_uses)
        # The version from the start needs no store, and the last one, if kept, has one anyway.
        version = reuse.version[reuse.previous[access]]
        # A kept last version is stored anyway, so that keeping it on chip saves no store.
        stored_once = (version >= 0) & ~np.isin(version, reuse.version[reuse.final])
        saving = duals.into + duals.out * stored_once
        untouched = reuse.step[access] > reuse.begin[access]
        leaving = version[untouched & stored_once]
        if duals.out and leaving.size > np.unique(leaving).size:
            return None
        some = untouched & (saving > 0)
        return SavingIntervals(reuse, access[some], saving[some], duals.unit)


def spare_units(machine: Machine, line: Timeline, unit_bytes: int) -> Ints:
    """Return (n,) the units of SPM beside the scratch and the operands of the step."""
    free = machine.spm_pages - machine.pages(line.scratch_bytes)
    units = -(-line.size_bytes // unit_bytes)
    used = sum_up(line.steps, line.step, units[line.tensor])
    result: Ints = free * (machine.page_bytes // unit_bytes) - used
    return result


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
    # One more, for bytes that no operation wrote.
    # A version is stored once, whichever interval its bytes leave in: the most of all.
    result = np.zeros(reuse.step.size + 1, np.int64)
    version = reuse.version[reuse.previous[intervals.access]]
    np.maximum.at(result, version, intervals.size_bytes - kept_bytes)
    result[reuse.version[reuse.last]] = reuse.size_bytes[reuse.last]
    return result[:-1]
