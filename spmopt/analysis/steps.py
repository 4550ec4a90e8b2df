"""What every step of a schedule spends, and why it takes longer than its computation."""

from __future__ import annotations

from dataclasses import dataclass

from spmopt.analysis.layers import Layers, layers
from spmopt.analysis.roofline import operations
from spmopt.analysis.stalls import Stalls, inward, stalls
from spmopt.core.table import Ints
from spmopt.verify import View
from spmopt.verify.durations import durations, per_step
from spmopt.verify.rules.capacity import occupied_pages


@dataclass(frozen=True, kw_only=True, eq=False)
class StepFigures:
    """Figures of every step, (n,) each.

    Attributes
    ----------
    cycles, compute_cycles, dma_cycles
        Duration ``d``, computation ``c``, and the time of all DMA commands.
    in_bytes, out_bytes
        Over the DRAM boundary.
    occupied_bytes
        Pages of the scratchpad in use.
    operations, macs
        Work; see :func:`~spmopt.analysis.roofline.operations`.
    stalls
        Why ``d`` is more than ``c``.
    """

    view: View
    layers: Layers
    cycles: Ints
    compute_cycles: Ints
    dma_cycles: Ints
    in_bytes: Ints
    out_bytes: Ints
    occupied_bytes: Ints
    operations: Ints
    macs: Ints
    stalls: Stalls

    @property
    def stall_cycles(self) -> Ints:
        """``d - c``."""
        return self.cycles - self.compute_cycles


def step_figures(view: View) -> StepFigures:
    """Measure every step of a legal schedule."""
    line, commands = view.timeline, view.schedule.commands
    time = durations(view)
    size_bytes = (commands.end - commands.begin) * commands.passes
    into = inward(view)
    return StepFigures(
        view=view,
        layers=layers(view.instance, line),
        cycles=time.step,
        compute_cycles=line.compute_cycles,
        dma_cycles=per_step(time.command, commands.step, line.steps),
        in_bytes=per_step(size_bytes[into], commands.step[into], line.steps),
        out_bytes=per_step(size_bytes[~into], commands.step[~into], line.steps),
        occupied_bytes=occupied_pages(view) * view.page_bytes,
        operations=operations(view.instance.machine, line),
        macs=line.macs,
        stalls=stalls(view, time),
    )
