"""Gaps in which bytes may stay, and what each byte saves that does."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

import numpy as np

from spmopt.core.objective import Objective
from spmopt.core.table import Ints
from spmopt.core.timeline import Access, Timeline

_LARGEST = 2**31  # worth, so that sums of them stay within 64 bits


@dataclass(frozen=True, kw_only=True, eq=False)
class Stays:
    """Gaps (k,) of live tensors with untouched steps, in which any number of bytes may stay.

    Attributes
    ----------
    access : (k,)
        The access that ends the gap.
    begin, end : (k,)
        Its untouched steps are [begin, end).
    size_bytes : (k,)
        Of the tensor: so many bytes at most.
    worth : (k,)
        What a byte saves that stays, in ``unit``; at least 1.
    unit
        Of the objective.
    """

    access: Ints
    begin: Ints
    end: Ints
    size_bytes: Ints
    worth: Ints
    unit: Fraction

    @staticmethod
    def of(line: Timeline, objective: Objective) -> Stays | None:
        """Gaps of a timeline; None where bytes of different gaps depend on each other.

        They do where time has a price, where an operand need not be resident, and where a
        version that DRAM does not need in the end could leave in more than one gap: it is stored
        once, whichever it leaves in. (Offline caching with costs of writing back is NP-hard:
        Beckmann et al., "Writeback-Aware Caching", APOCS 2020.)
        """
        if objective.cycle or not line.step.size or not line.stationary.all():
            return None
        into, out, unit = _prices(objective)
        if into + out > _LARGEST:
            return None
        version, stored_once = _versions(line)
        access = np.flatnonzero((line.previous >= 0) & (line.kind != Access.WRITE))
        before = line.previous[access]
        begin, end = line.step[before] + 1, line.step[access]
        worth = into + out * stored_once[version[before]]
        some = (end > begin) & (worth > 0)
        several = np.bincount(version[before[end > begin]], minlength=stored_once.size) > 1
        if out and (several & stored_once).any():
            return None
        return Stays(
            access=access[some],
            begin=begin[some],
            end=end[some],
            size_bytes=line.size_bytes[line.tensor[access[some]]],
            worth=worth[some],
            unit=unit,
        )


def _prices(objective: Objective) -> tuple[int, int, Fraction]:
    """Of a byte in and a byte out, as whole numbers of the largest unit possible."""
    into, out = objective.dram_in_byte, objective.dram_out_byte
    common = lcm(into.denominator, out.denominator)
    whole_in, whole_out = int(into * common), int(out * common)
    step = max(gcd(whole_in, whole_out), 1)
    return whole_in // step, whole_out // step, Fraction(step, common)


def _versions(line: Timeline) -> tuple[Ints, Ints]:
    """Number of the version that each access (a,) leaves; per version, 1 if leaving costs a store.

    A write begins a version. The one from the start needs no store, and the last one, if kept,
    is stored in any case.
    """
    order = np.argsort(line.tensor, kind="stable")
    written, first = line.kind != Access.READ, line.previous < 0
    version = np.empty_like(order)
    version[order] = np.cumsum((written | first)[order]) - 1
    stored_once = np.zeros(int(version.max(initial=-1)) + 1, np.int64)
    stored_once[version[written]] = 1
    last = line.next < 0
    stored_once[version[last & line.keep[line.tensor]]] = 0
    return version, stored_once
