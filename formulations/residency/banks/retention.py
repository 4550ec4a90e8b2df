"""Banks whose contents last for some time only (R12): which pages may not lie in them.

Contents that an operation or a load writes are needed until they are written anew or leave. Where
that takes longer than a bank keeps them, none of its segments may lie in the bank. A move would
write them anew, so that this forbids more than the rule does; never less.
"""

from __future__ import annotations

from math import inf

import numpy as np

from formulations.residency.banks.facts import BankCoefficients
from formulations.residency.banks.network import BankArcs
from formulations.residency.banks.segments import PageSegments
from formulations.solver.program import Floats
from spmopt.core.machine import Machine
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Access, Timeline


class Retention:
    """Limits of the banks of a machine.

    Attributes
    ----------
    limits : (b,)
        Cycles that contents last, infinite where they always do.
    """

    def __init__(self, machine: Machine, part: float = 1.0) -> None:
        """Read the limits of a machine, or a part of them."""
        self._machine = machine
        cycles = machine.retention_cycles
        self.limits = np.array([inf if each is None else part * each for each in cycles])

    @property
    def binds(self) -> bool:
        """Whether any bank forgets."""
        return bool(np.isfinite(self.limits).any())

    @property
    def lasting_pages(self) -> int:
        """Pages of the banks that do not forget."""
        pages = np.array(self._machine.bank_pages)
        return int(pages[~np.isfinite(self.limits)].sum())

    def bar(self, found: PageSegments, line: Timeline, step_cycles: Floats) -> Bools:
        """Return (g, b) where a segment's contents are needed longer than they last.

        ``step_cycles`` (n,): durations of the steps.
        """
        ends = np.concatenate(([0.0], np.cumsum(step_cycles)))
        needed = np.zeros(found.interval.size)
        edges = np.searchsorted(found.interval, np.arange(found.tensor.size + 1)).tolist()
        writes = np.flatnonzero(line.kind != Access.READ)
        for stay, tensor in enumerate(found.tensor.tolist()):
            own = slice(edges[stay], edges[stay + 1])
            begin, end = found.begin[own], found.end[own]
            first, last = int(begin[0]), int(end[-1])
            rows = writes[line.tensor[writes] == tensor]
            rows = rows[(line.step[rows] > first) & (line.step[rows] < last)]
            since = np.concatenate(([first], line.step[rows]))
            until = np.concatenate((line.step[rows] + (line.kind[rows] == Access.UPDATE), [last]))
            for low, high in zip(since.tolist(), until.tolist(), strict=True):
                inside = np.flatnonzero((begin < high) & (end > low)) + own.start
                needed[inside] = np.maximum(needed[inside], ends[high] - ends[low])
        barred: Bools = needed[:, None] > self.limits
        return barred

    def bar_arcs(self, arcs: BankArcs, step_cycles: Floats) -> Bools:
        """Return (c,) arcs in which bytes lie in a bank for longer than it keeps them.

        A use that they wait for counts too.
        """
        ends = np.concatenate(([0.0], np.cumsum(step_cycles)))
        lies = (arcs.bank >= 0) & (arcs.end > arcs.begin)
        # An arc between uses lasts until its next use has read the bytes.
        until = np.minimum(arcs.end + (arcs.state < 0), step_cycles.size)
        barred: Bools = lies & (ends[until] - ends[arcs.begin] > self.limits[arcs.bank])
        return barred

    def room(self, step_cycles: Floats) -> Ints:
        """Return (n,) pages of the banks that keep contents for at least a step."""
        room: Ints = (~self.bar_scratch(step_cycles)) @ np.array(self._machine.bank_pages)
        return room

    def bar_scratch(self, step_cycles: Floats) -> Bools:
        """Return (n, b) where a step is longer than its scratch lasts."""
        barred: Bools = step_cycles[:, None] > self.limits
        return barred


def durations(
    facts: BankCoefficients, step_cycles: Floats, serial_cycles: Floats, busy: Floats
) -> Floats:
    """Return (n,) cycles of the steps, not less than they are.

    ``busy`` (b, n): bytes that DRAM could move while each port is busy.
    """
    longest = busy.max(axis=0, initial=0.0)
    ported = serial_cycles + longest / facts.cycle_bytes
    waits = (longest > 0) & (ported > step_cycles - 1)
    return np.where(waits, np.ceil(np.maximum(step_cycles, ported) * (1 + 1e-9)) + 1, step_cycles)
