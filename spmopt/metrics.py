"""Figures of a result in physical units; tables, files and plots all show these."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from spmopt.core.machine import Machine
from spmopt.core.objective import Objective
from spmopt.core.problem import Problem
from spmopt.core.result import Totals
from spmopt.core.schedule import Command, Schedule
from spmopt.hardware.energy import EnergyReport, energy_report
from spmopt.verifier.durations import command_cycles


@dataclass(frozen=True, kw_only=True)
class Metrics:
    """What a verified schedule spends.

    Attributes
    ----------
    time_s, replay_s
        Makespan, and the time of the replay, which has no barrier between steps.
    energy
        By its parts, with the machine's figures; power, area and their products with time.
    compute_busy, dma_busy
        Part of the makespan in which the engine computes, in which the DMA channel moves data
        (of a duplex machine, the mean of both directions).
    spm_peak
        Largest part of the scratchpad in use.
    """

    time_s: float
    replay_s: float
    energy: EnergyReport
    compute_busy: float
    dma_busy: float
    spm_peak: float

    @property
    def energy_j(self) -> float:
        """All energy (PROBLEM.md, section 3)."""
        return self.energy.energy_j


def metrics(machine: Machine, totals: Totals) -> Metrics:
    """Figures of ``totals`` on ``machine``."""
    makespan = max(1, totals.makespan_cycles)
    return Metrics(
        time_s=totals.makespan_cycles / machine.clock_hz,
        replay_s=totals.replay_cycles / machine.clock_hz,
        energy=energy_report(totals, machine),
        compute_busy=totals.compute_cycles / makespan,
        dma_busy=totals.dma_cycles / (makespan * (2 if machine.duplex else 1)),
        spm_peak=totals.peak_spm_bytes / machine.spm_bytes,
    )


def directions_busy(problem: Problem, schedule: Schedule, totals: Totals) -> tuple[float, float]:
    """Parts of the makespan in which the DMA channel moves data in, and out.

    They add up to ``dma_busy``; of a duplex machine, to twice that.
    """
    commands = schedule.commands
    named = (commands.end - commands.begin) * commands.fetches
    cycles = command_cycles(problem.machine, problem.moved.of(commands.tensor, named))
    inward = np.isin(commands.kind, (Command.LOAD, Command.STREAM_IN))
    makespan = max(1, totals.makespan_cycles)
    return int(cycles[inward].sum()) / makespan, int(cycles[~inward].sum()) / makespan


def in_unit(objective: Objective, machine: Machine, value: Fraction) -> tuple[float, str]:
    """A value of ``objective`` as people read it, and the unit: cycles of time become seconds."""
    if objective.unit == "cycles" and objective.weighted <= {"cycle"}:
        return float(value / machine.clock_hz), "s"
    short = {"bytes": "B", "joules": "J"}
    unit = "" if objective.is_weighed else objective.unit  # a sum of two units has none
    return float(value), short.get(unit, unit)


def tensor_bytes(problem: Problem) -> int:
    """Bytes of all tensors, each once."""
    return sum(tensor.size_bytes for tensor in problem.tensors)
