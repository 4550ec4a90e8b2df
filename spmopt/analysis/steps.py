"""Time, traffic and work of every step of a schedule, and the roof of the machine.

Equations are those of Tsai (2021), sections 3.4 and 5.2. Operational intensity is that of Williams,
Waterman, Patterson (Roofline, CACM 52(4), 2009): FLOP per byte that crosses the DRAM boundary.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spmopt.analysis.layers import StepLayers, layers
from spmopt.analysis.stalls import StallShares, bytes_moved, inward, stalls
from spmopt.core.machine import Machine
from spmopt.core.operation import Operation
from spmopt.core.problem import Problem
from spmopt.core.table import Ints
from spmopt.core.timeline import Timeline
from spmopt.verifier import ScheduleArrays
from spmopt.verifier.bank_use import port_cycles
from spmopt.verifier.durations import durations, per_step
from spmopt.verifier.rules.steps import pages_occupied

Reals = NDArray[np.float64]


def dram_peak(machine: Machine) -> int:
    """Return the bytes per second that cross the DRAM boundary at most, both ways together."""
    return machine.dram_bytes_per_s * (2 if machine.duplex else 1)


def product_rate(machine: Machine, operation: Operation) -> int:
    """Return the operations a second of a product: of its element type, where that is known."""
    return machine.rate(operation.element_type) if operation.element_type else machine.fastest


def compute_peak(problem: Problem) -> int:
    """Return the operations a second of the fastest unit that computes any of a problem."""
    machine = problem.machine
    return max(
        product_rate(machine, each)
        if any(own.macs for own in each.mappings)
        else machine.vector_operations_per_s
        for each in problem.operations
    )


def ridge_point(machine: Machine, peak: float) -> float:
    """Return the FLOP per byte at which computing takes as long as moving (Eq. 3.2)."""
    return peak / dram_peak(machine)


def attainable(machine: Machine, peak: float, intensity: Reals) -> Reals:
    """Return the roof: the most FLOP/s at each operational intensity (Eq. 5.1)."""
    return np.minimum(intensity * float(dram_peak(machine)), float(peak))


def operations(machine: Machine, line: Timeline) -> Ints:
    """Return (n,) multiplications, additions and the like of every step.

    A problem has multiply-accumulates, which are two operations each, and of all other work
    the cycles only: those are taken at the full rate of the vector unit, so that a division counts
    as what it costs, and all is too much by less than the work of one cycle. Parts of an operation
    do not count.
    """
    rate = machine.vector_operations_per_s / machine.clock_hz
    others = np.floor(line.compute_cycles * rate).astype(np.int64)
    found: Ints = np.where(line.macs > 0, 2 * line.macs, others)
    return found


def sums(values: Reals, group: Ints, count: int) -> Reals:
    """Sum up ``values`` by group, (count,)."""
    return np.bincount(group, values, count).astype(float)


@dataclass(frozen=True, kw_only=True, eq=False)
class Spending:
    """Totals of steps, or of groups of them: an entry each.

    Attributes
    ----------
    cycles, compute_cycles, dma_cycles
        Duration ``d``, computation ``c``, and the time of all DMA commands.
    dram_in_bytes, dram_out_bytes
        Over the DRAM boundary.
    flop, macs
        Work; see :func:`operations`.
    """

    cycles: Ints
    compute_cycles: Ints
    dma_cycles: Ints
    dram_in_bytes: Ints
    dram_out_bytes: Ints
    flop: Ints
    macs: Ints

    @property
    def stall_cycles(self) -> Ints:
        """Time beyond the computation: ``d - c``."""
        return self.cycles - self.compute_cycles


@dataclass(frozen=True, kw_only=True, eq=False)
class StepFigures(Spending):
    """Figures of every step, (n,) each.

    Attributes
    ----------
    operation_cycles
        Engine cycles: computing, or the busiest port of a bank.
    port_cycles : (n, banks)
        How long each port of a bank is busy; none without banks.
    occupied_bytes
        Pages of the scratchpad in use.
    stalls
        Why ``d`` is more than ``c``.
    """

    view: ScheduleArrays
    layers: StepLayers
    operation_cycles: Ints
    port_cycles: Ints
    occupied_bytes: Ints
    stalls: StallShares


def step_figures(view: ScheduleArrays) -> StepFigures:
    """Measure every step of a legal schedule."""
    line, commands = view.timeline, view.schedule.commands
    time, size_bytes, into = durations(view), bytes_moved(view), inward(view)
    ports = np.zeros((line.steps, 0), np.int64)
    if time.banks is not None:
        ports = port_cycles(view, time.banks)
    return StepFigures(
        view=view,
        layers=layers(view.problem, line),
        cycles=time.step,
        compute_cycles=line.compute_cycles,
        operation_cycles=time.operation,
        port_cycles=ports,
        dma_cycles=per_step(time.command, commands.step, line.steps),
        dram_in_bytes=per_step(size_bytes[into], commands.step[into], line.steps),
        dram_out_bytes=per_step(size_bytes[~into], commands.step[~into], line.steps),
        occupied_bytes=pages_occupied(view) * view.page_bytes,
        flop=operations(view.problem.machine, line),
        macs=line.macs,
        stalls=stalls(view, time),
    )
