"""Figures of groups of steps: of each operation, layer or type, and of the whole network."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from spmopt.analysis.layers import bytes_touched
from spmopt.analysis.stalls import Cause
from spmopt.analysis.steps import (
    Reals,
    Spending,
    StepFigures,
    attainable,
    compute_peak,
    dram_peak,
    sums,
)
from spmopt.core.machine import Machine
from spmopt.core.table import Ints
from spmopt.verifier.durations import per_step

# Share of the time that DRAM may stall a group which still counts as compute-bound.
STALLED = 0.01


@dataclass(frozen=True, kw_only=True, eq=False)
class Breakdown(Spending):
    """Sums over the steps of each group, (g,) each; files and tables bear the same names.

    Attributes
    ----------
    compute_peak
        Operations a second of the fastest unit that computes any of the problem.
    names, labels
        Of each group; the meaning of a label depends on the grouping.
    steps
        Number of steps.
    operand_bytes
        Bytes of all tensors that the group touches, each once.
    peak_spm_bytes, mean_spm_bytes
        Pages in use: the most, and the mean over time.
    stall_by_cause : (causes, g)
        Cycles, by :class:`~spmopt.analysis.stalls.Cause`.
    """

    machine: Machine
    compute_peak: int
    names: tuple[str, ...]
    labels: tuple[str, ...]
    steps: Ints
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
    def stall_s(self) -> Reals:
        """Time beyond the computation."""
        return self.stall_cycles / self.machine.clock_hz

    @property
    def stall_part(self) -> Reals:
        """The same as a part of the time."""
        return self.stall_cycles / np.maximum(self.cycles, 1)

    @property
    def stall_cause(self) -> list[str]:
        """Main cause of the stall."""
        most = np.where(self.stall_cycles > 0, self.stall_by_cause.argmax(0), Cause.NONE)
        return [Cause(cause).words for cause in most.tolist()]

    @property
    def bandwidth_bytes_per_s(self) -> Reals:
        """Average (Eq. 4.1)."""
        return _ratio(self.traffic_bytes, self.time_s)

    @property
    def active_time(self) -> Reals:
        """Average bandwidth over peak (Eq. 4.2), on a duplex machine that of both directions."""
        return self.bandwidth_bytes_per_s / dram_peak(self.machine)

    @property
    def compute_utilization(self) -> Reals:
        """Operations over the peak in the time (Eq. 4.3)."""
        return self.flop_per_s / self.compute_peak

    @property
    def flop_per_byte(self) -> Reals:
        """Operational intensity: FLOP per byte that crosses the DRAM boundary meanwhile."""
        return _ratio(self.flop, self.traffic_bytes)

    @property
    def attainable_flop_per_s(self) -> Reals:
        """The roof at that operational intensity, FLOP/s (Tsai, Eq. 5.1)."""
        return attainable(self.machine, self.compute_peak, self.flop_per_byte)

    @property
    def flop_per_s(self) -> Reals:
        """FLOP/s attained; never above the roof."""
        return _ratio(self.flop, self.time_s)

    @property
    def roofline(self) -> NDArray[np.object_]:
        """``memory`` where DRAM stalls the group more than :data:`STALLED`, else ``compute``."""
        # A bank port stalls the engine too, but not because of DRAM.
        waits = self.stall_cycles - self.stall_by_cause[Cause.PORT]
        return np.where(waits > STALLED * self.cycles, "memory", "compute").astype(object)


def break_down(
    figures: StepFigures, group: Ints, names: tuple[str, ...], labels: tuple[str, ...]
) -> Breakdown:
    """Sum ``figures`` over groups; ``group`` numbers the group of every step."""
    count = len(names)
    peak = np.zeros(count, np.int64)
    # A fancy assignment would keep the last step of a group, not the largest.
    np.maximum.at(peak, group, figures.occupied_bytes)
    spent = {f.name: per_step(getattr(figures, f.name), group, count) for f in fields(Spending)}
    # Weighted by time: a full scratchpad counts for as long as its step lasts.
    occupied = sums(figures.occupied_bytes.astype(float) * figures.cycles, group, count)
    line = figures.view.timeline
    return Breakdown(
        machine=figures.view.problem.machine,
        compute_peak=compute_peak(figures.view.problem),
        names=names,
        labels=labels,
        steps=np.bincount(group, minlength=count),
        operand_bytes=bytes_touched(line, group, count),
        peak_spm_bytes=peak,
        mean_spm_bytes=_ratio(occupied, spent["cycles"]),
        stall_by_cause=np.stack(
            [per_step(stall, group, count) for stall in figures.stalls.by_cause]
        ),
        **spent,
    )


def _ratio(above: Ints | Reals, below: Ints | Reals) -> Reals:
    """Divide; 0 where both are 0, and where nothing is below something, infinity."""
    result = np.where(np.asarray(above) > 0, np.inf, 0.0)
    return np.divide(above, below, out=result, where=np.asarray(below) > 0)
