"""Reuse intervals in which bytes may stay, what each byte saves that does, and room for them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

import numpy as np

from formulations.reuse_intervals import ReuseIntervals
from spmopt.assemble.cost import summed
from spmopt.core.machine import Machine
from spmopt.core.objective import Objective
from spmopt.core.table import Ints
from spmopt.core.timeline import Timeline

_LARGEST = 2**31  # saving, so that sums of them stay within 64 bits


@dataclass(frozen=True, kw_only=True, eq=False)
class SavingIntervals:
    """Intervals (k,) of live tensors with untouched steps, in which any number of bytes may stay.

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
    saving : (k,)
        What a byte saves that stays, in ``unit``; at least 1.
    unit
        Of the objective.
    """

    reuse: ReuseIntervals
    access: Ints
    begin: Ints
    end: Ints
    size_bytes: Ints
    saving: Ints
    unit: Fraction

    @staticmethod
    def of(line: Timeline, objective: Objective) -> SavingIntervals | None:
        """Intervals of a timeline; None where bytes of different ones depend on each other.

        They do where time has a price, where an operand need not be resident, and where a
        version that DRAM does not need in the end could leave in more than one interval: it is
        stored once, whichever it leaves in. (Offline caching with costs of writing back is NP-hard:
        Beckmann et al., "Writeback-Aware Caching", APOCS 2020.)
        """
        if objective.cycle or not line.step.size or not line.stationary.all():
            return None
        into, out, unit = _prices(objective)
        if into + out > _LARGEST:
            return None
        reuse = ReuseIntervals(line, np.arange(line.step.size))
        access = np.flatnonzero(reuse.crossed)
        begin, end = reuse.begin[access], reuse.step[access]
        # The version from the start needs no store, and the last one, if kept, has one anyway.
        version = reuse.version[reuse.previous[access]]
        stored_once = (version >= 0) & ~np.isin(version, reuse.version[reuse.final])
        saving = into + out * stored_once
        leaving = version[(end > begin) & stored_once]
        if out and leaving.size > np.unique(leaving).size:
            return None
        some = (end > begin) & (saving > 0)
        return SavingIntervals(
            reuse=reuse,
            access=access[some],
            begin=begin[some],
            end=end[some],
            size_bytes=reuse.size_bytes[access[some]],
            saving=saving[some],
            unit=unit,
        )


def _prices(objective: Objective) -> tuple[int, int, Fraction]:
    """Of a byte in and a byte out, as whole numbers of the largest unit possible."""
    into, out = objective.dram_in_byte, objective.dram_out_byte
    common = lcm(into.denominator, out.denominator)
    whole_in, whole_out = int(into * common), int(out * common)
    step = max(gcd(whole_in, whole_out), 1)
    return whole_in // step, whole_out // step, Fraction(step, common)


def spare_units(machine: Machine, line: Timeline, unit_bytes: int) -> Ints:
    """(n,) Units of SPM beside the scratch and what the step's operation uses."""
    free = machine.spm_pages - machine.pages(line.scratch_bytes)
    units = -(-line.size_bytes // unit_bytes)
    used = summed(line.steps, line.step, units[line.tensor])
    result: Ints = free * (machine.page_bytes // unit_bytes) - used
    return result
