"""Savings of residency, in bytes over the channel at their dual values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.residency.byte_duals import ByteDuals
from formulations.residency.whole.intervals import PagedIntervals
from formulations.solver.program import Floats
from spmopt.core.table import Ints


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
    extra = (uses.fetches - 1) * uses.size_bytes
    absent = extra * (duals.into * needed + duals.out * written)
    back = uses.live * uses.size_bytes * duals.into
    return np.where(uses.required_resident, 0, absent), back, written * uses.size_bytes * duals.out


def savings(uses: PagedIntervals, duals: ByteDuals) -> Savings:
    """Rank intervals and accesses; a version's intervals share the dual value of its store."""
    absent, back, store_dual = byte_duals(uses, duals)
    version = np.concatenate(([-1], uses.version))[:-1]
    mine = uses.crossed & (version >= 0)
    intervals = np.bincount(version[mine], minlength=uses.step.size)
    final = np.zeros(uses.step.size, bool)
    final[uses.version[uses.final]] = True
    shared = np.where(final, 0, store_dual / np.maximum(intervals, 1))
    saved = np.where(uses.crossed, back, 0) + np.where(mine, shared[version], 0)
    length = uses.step - np.concatenate(([0], uses.step[:-1]))
    return Savings(keep=saved / (uses.pages * np.maximum(length, 1)), enter=absent / uses.pages)
