"""Figures of groups of steps: of each operation, layer or type, and of the whole network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spmopt.analysis.stalls import Cause
from spmopt.analysis.steps import Reals, StepFigures, attainable, ridge_point, sums
from spmopt.core.machine import Machine
from spmopt.core.table import Ints
from spmopt.verifier.durations import per_step


@dataclass(frozen=True, kw_only=True, eq=False)
class Breakdown:
    """Sums over the steps of each group, (g,) each; files and tables bear the same names.

    Attributes
    ----------
    names, labels
        Of each group; what a label says depends on the grouping.
    steps
        Number of steps.
    flop, macs
        Work; see :func:`~spmopt.analysis.steps.operations`.
    operand_bytes
        Bytes of all tensors that the group touches, each once.
    peak_spm_bytes, mean_spm_bytes
        Pages in use: the most, and the mean over time.
    stall_by_cause : (causes, g)
        Cycles, by :class:`~spmopt.analysis.stalls.Cause`.
    """

    machine: Machine
    names: tuple[str, ...]
    labels: tuple[str, ...]
    steps: Ints
    cycles: Ints
    compute_cycles: Ints
    dma_cycles: Ints
    dram_in_bytes: Ints
    dram_out_bytes: Ints
    flop: Ints
    macs: Ints
    operand_bytes: Ints
    peak_spm_bytes: Ints
    mean_spm_bytes: Reals
    stall_by_cause: Ints

    @property
    def time_s(self) -> Reals:
        """Sum of the durations."""
        return self.cycles / self.machine.clock_hz

    @property
    def traffic_bytes(self) -> Ints:
        """In and out."""
        return self.dram_in_bytes + self.dram_out_bytes

    @property
    def stall_cycles(self) -> Ints:
        """Time beyond the computation."""
        return self.cycles - self.compute_cycles

    @property
    def stall_s(self) -> Reals:
        """The same in seconds."""
        return self.stall_cycles / self.machine.clock_hz

    @property
    def stall_part(self) -> Reals:
        """The same as a part of the time."""
        return self.stall_cycles / np.maximum(self.cycles, 1)

    @property
    def stall_cause(self) -> list[str]:
        """What most of the stall is due to."""
        most = np.where(self.stall_cycles > 0, self.stall_by_cause.argmax(0), Cause.NONE)
        return [Cause(cause).words for cause in most.tolist()]

    @property
    def bandwidth_bytes_per_s(self) -> Reals:
        """Average (Eq. 4.1)."""
        return _ratio(self.traffic_bytes, self.time_s)

    @property
    def active_time(self) -> Reals:
        """Average bandwidth over peak (Eq. 4.2), on a duplex machine that of both directions."""
        directions = 2 if self.machine.duplex else 1
        return self.bandwidth_bytes_per_s / (self.machine.dram_bytes_per_s * directions)

    @property
    def compute_utilization(self) -> Reals:
        """Operations over what the machine could do in the time (Eq. 4.3)."""
        return _ratio(self.flop, self.time_s) / self.machine.operations_per_s

    @property
    def flop_per_byte(self) -> Reals:
        """Reuse frequency: operations per byte of the tensors touched (Eq. 3.4)."""
        return _ratio(self.flop, self.operand_bytes)

    @property
    def attainable_flop_per_s(self) -> Reals:
        """Operations per second, at most, at that reuse frequency (Eq. 5.1)."""
        return attainable(self.machine, self.flop_per_byte)

    @property
    def roofline(self) -> list[str]:
        """``compute`` where the reuse frequency is above the ridge point, else ``memory``."""
        above = self.flop_per_byte > ridge_point(self.machine)
        return ["compute" if each else "memory" for each in above.tolist()]


def break_down(
    figures: StepFigures, group: Ints, names: tuple[str, ...], labels: tuple[str, ...]
) -> Breakdown:
    """Sum ``figures`` over groups; ``group`` numbers the group of every step."""
    count = len(names)

    def total(values: Ints) -> Ints:
        return per_step(values, group, count)

    peak = np.zeros(count, np.int64)
    np.maximum.at(peak, group, figures.occupied_bytes)
    cycles = total(figures.cycles)
    occupied = sums(figures.occupied_bytes.astype(float) * figures.cycles, group, count)
    return Breakdown(
        machine=figures.view.instance.machine,
        names=names,
        labels=labels,
        steps=total(np.ones_like(group)),
        cycles=cycles,
        compute_cycles=total(figures.compute_cycles),
        dma_cycles=total(figures.dma_cycles),
        dram_in_bytes=total(figures.in_bytes),
        dram_out_bytes=total(figures.out_bytes),
        flop=total(figures.operations),
        macs=total(figures.macs),
        operand_bytes=_operand_bytes(figures, group, count),
        peak_spm_bytes=peak,
        mean_spm_bytes=_ratio(occupied, cycles),
        stall_by_cause=np.stack([total(stall) for stall in figures.stalls.by_cause]),
    )


def _operand_bytes(figures: StepFigures, group: Ints, count: int) -> Ints:
    line = figures.view.timeline
    tensors = line.size_bytes.size
    pairs = np.unique(group[line.step] * tensors + line.tensor)
    return per_step(line.size_bytes[pairs % tensors], pairs // tensors, count)


def _ratio(above: Ints | Reals, below: Ints | Reals) -> Reals:
    """The quotient; 0 where both are 0, and where nothing is below something, infinity."""
    result = np.where(np.asarray(above) > 0, np.inf, 0.0)
    return np.divide(above, below, out=result, where=np.asarray(below) > 0)
