"""Reuse intervals by tensor, in pages: a tensor is kept through one in full, or given up."""

from __future__ import annotations

import numpy as np

from formulations.reuse_intervals import ReuseIntervals, pages_in_steps
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
