"""Reuse intervals by tensor, in pages: a tensor is kept through one in full, or given up.

With the savings of residency, in bytes over the channel at their dual values, and the accesses at
which a tensor can only stream.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.residency.byte_duals import ByteDuals
from formulations.reuse_intervals import ReuseIntervals, pages_in_steps
from formulations.solver.program import Floats
from spmopt.assemble.cost import sum_up
from spmopt.core.machine import Machine
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Timeline


class PagedIntervals(ReuseIntervals):
    """Reuse intervals by tensor, then by step: the access before ``j`` of a tensor is ``j - 1``.

    Attributes
    ----------
    pages : (a,)
        Of the tensor, rounded up.
    capacity_pages : (n,)
        Pages for tensors in each step (the scratch is taken off).
    """

    def __init__(self, machine: Machine, line: Timeline) -> None:
        """Arrange the accesses of a timeline."""
        super().__init__(line, np.lexsort((line.step, line.tensor)))
        self.pages = machine.pages(self.size_bytes)
        self.capacity_pages = machine.spm_pages - machine.pages(line.scratch_bytes)

    def pages_of(self, kept: Bools, resident: Bools) -> Ints:
        """Count pages (n,) if the accesses' tensors are ``kept`` and ``resident`` (a,)."""
        gap, here = np.flatnonzero(kept), np.flatnonzero(resident)
        held = pages_in_steps(self.steps, self.begin[gap], self.step[gap], self.pages[gap])
        return held + sum_up(self.steps, self.step[here], self.pages[here])


@dataclass(frozen=True, kw_only=True, eq=False)
class Savings:
    """Roughly: ``keep`` (a,) of each interval per page and step, ``enter`` (a,) per page.

    ``enter`` is the saving of residency at an access beside kept intervals.
    """

    keep: Floats
    enter: Floats


def byte_duals(uses: PagedIntervals, duals: ByteDuals) -> tuple[Ints, Ints, Ints]:
    """Dual value (a,) not to be resident, to come back after an interval, and to be stored.

    With ``p`` fetches a reader pays ``p s`` streamed, ``s`` loaded and nothing kept: being
    absent costs ``(p - 1) s`` on top of coming back. A result that is streamed pays ``p s`` out
    and ``(p - 1) s`` in, against one store.
    """
    written = ~uses.read & uses.live_after
    needed = uses.live | uses.live_after
    # R3, R4: the first fetch is paid by coming back; the others only by streaming.
    extra = (uses.fetches - 1) * uses.size_bytes
    absent = extra * (duals.into * needed + duals.out * written)
    back = uses.live * uses.size_bytes * duals.into
    return np.where(uses.required_resident, 0, absent), back, written * uses.size_bytes * duals.out


def savings(uses: PagedIntervals, duals: ByteDuals) -> Savings:
    """Rank intervals and accesses; a version's intervals share the dual value of its store."""
    absent, back, store_dual = byte_duals(uses, duals)
    version = np.concatenate(([-1], uses.version))[:-1]
    mine = uses.between_uses & (version >= 0)
    intervals = np.bincount(version[mine], minlength=uses.step.size)
    final = np.zeros(uses.step.size, bool)
    final[uses.version[uses.final]] = True
    # A version is stored once: its intervals share that cost, and a kept one pays it anyway.
    shared = np.where(final, 0, store_dual / np.maximum(intervals, 1))
    saved = np.where(uses.between_uses, back, 0) + np.where(mine, shared[version], 0)
    length = uses.step - np.concatenate(([0], uses.step[:-1]))
    return Savings(keep=saved / (uses.pages * np.maximum(length, 1)), enter=absent / uses.pages)


def never_resident(machine: Machine, line: Timeline) -> Bools:
    """Return (a,) the accesses at which not all of the tensor fits beside the step's needs.

    That is its scratch and its required-resident operands, in whole pages. In a relaxed timeline
    these are the least of all mappings, so that a tensor that does not fit there fits in no
    mapping.
    """
    pages = machine.pages(line.size_bytes)[line.tensor]
    fixed = sum_up(line.steps, line.step, np.where(line.required_resident, pages, 0))
    # R1, R3: scratch and required-resident operands, each in whole pages.
    needed = fixed + machine.pages(line.scratch_bytes)
    result: Bools = ~line.required_resident & (pages + needed[line.step] > machine.spm_pages)
    return result
