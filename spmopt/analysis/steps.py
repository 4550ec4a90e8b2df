"""What every step of a schedule spends, and why it takes longer than its computation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from spmopt.analysis.layers import Layers, layers
from spmopt.analysis.roofline import Reals, operations
from spmopt.core.schedule import Command
from spmopt.core.table import Ints
from spmopt.verify import View
from spmopt.verify.durations import command_cycles, durations, per_step
from spmopt.verify.rules.capacity import occupied_pages
from spmopt.verify.view import AFTER, BEFORE


class Cause(IntEnum):
    """What a step waits for.

    ``STATIONARY``: its loads of stationary operands before, its stores of stationary results
    after the computation. The others are what takes most of the time of the DMA channel that
    the step waits for: ``PREFETCH`` loads for later steps, ``LOAD`` those for the step itself.
    """

    NONE = 0
    STATIONARY = 1
    PREFETCH = 2
    LOAD = 3
    STREAM_IN = 4
    STORE = 5
    STREAM_OUT = 6

    @property
    def words(self) -> str:
        """As people read it."""
        return self.name.lower().replace("_", " ")


_INWARD = np.array([cause in (Cause.PREFETCH, Cause.LOAD, Cause.STREAM_IN) for cause in Cause])


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
    cause
        :class:`Cause` of the stall ``d - c``.
    """

    view: View
    layers: Layers
    cycles: Ints
    compute_cycles: Ints
    dma_cycles: Ints
    in_bytes: Ints
    out_bytes: Ints
    occupied_bytes: Ints
    operations: Reals
    macs: Ints
    cause: Ints

    @property
    def stall_cycles(self) -> Ints:
        """``d - c``."""
        return self.cycles - self.compute_cycles


def step_figures(view: View) -> StepFigures:
    """Measure every step of a legal schedule."""
    line, commands = view.timeline, view.schedule.commands
    time = durations(view)
    size_bytes = (commands.end - commands.begin) * commands.passes
    inward = (commands.kind == Command.LOAD) | (commands.kind == Command.STREAM_IN)
    return StepFigures(
        view=view,
        layers=layers(view.instance, line),
        cycles=time.step,
        compute_cycles=line.compute_cycles,
        dma_cycles=per_step(time.command, commands.step, line.steps),
        in_bytes=per_step(size_bytes[inward], commands.step[inward], line.steps),
        out_bytes=per_step(size_bytes[~inward], commands.step[~inward], line.steps),
        occupied_bytes=occupied_pages(view) * view.page_bytes,
        operations=operations(view.instance.machine, line),
        macs=line.macs,
        cause=_causes(view, time.step),
    )


def _causes(view: View, step_cycles: Ints) -> Ints:
    """(n,) The :class:`Cause` of each stall, by the terms of rule R6."""
    line, commands = view.timeline, view.schedule.commands
    cycles = command_cycles(
        view.instance.machine, (commands.end - commands.begin) * commands.passes
    )
    kind = _kinds(view)
    by_cause = np.zeros((len(Cause), line.steps), np.int64)
    np.add.at(by_cause, (kind, commands.step), cycles)
    phase = view.command_phase
    before = per_step(cycles[phase == BEFORE], commands.step[phase == BEFORE], line.steps)
    after = per_step(cycles[phase == AFTER], commands.step[phase == AFTER], line.steps)
    stall = step_cycles - line.compute_cycles
    if view.instance.machine.duplex:
        inward, outward = by_cause[_INWARD].sum(0) + after, by_cause[~_INWARD].sum(0) + before
        by_cause[np.ix_(_INWARD, inward < outward)] = -1
        by_cause[np.ix_(~_INWARD, inward >= outward)] = -1
    busiest = by_cause.argmax(0)
    serial = before + after == stall
    return np.where(stall == 0, Cause.NONE, np.where(serial, Cause.STATIONARY, busiest))


def _kinds(view: View) -> Ints:
    """The cause that every command would be."""
    kind = view.schedule.commands.kind
    load = np.where(view.command_access >= 0, Cause.LOAD, Cause.PREFETCH)
    out = np.where(kind == Command.STORE, Cause.STORE, Cause.STREAM_OUT)
    inward = np.where(kind == Command.LOAD, load, Cause.STREAM_IN)
    return np.where((kind == Command.LOAD) | (kind == Command.STREAM_IN), inward, out)
