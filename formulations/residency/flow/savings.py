"""Reuse intervals in which bytes may remain, the saving of each byte, and room for them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from formulations.residency.byte_duals import ByteDuals
from formulations.reuse_intervals import ReuseIntervals
from spmopt.assemble.cost import sum_up
from spmopt.core.machine import Machine
from spmopt.core.objective import Objective
from spmopt.core.table import Ints
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
        duals = ByteDuals.of(objective, _LARGEST)
        if not duals.exact:
            return None
        reuse = ReuseIntervals(line, np.arange(line.step.size))
        access = np.flatnonzero(reuse.crossed)
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
