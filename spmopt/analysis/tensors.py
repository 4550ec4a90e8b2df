"""Figures of every tensor under a schedule."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spmopt.analysis.reuse import Reuse
from spmopt.analysis.steps import Reals, StepFigures, ridge_point, sums
from spmopt.core.schedule import Command
from spmopt.core.table import Bools, Ints
from spmopt.verifier.durations import per_step


@dataclass(frozen=True, kw_only=True, eq=False)
class TensorFigures:
    """Figures of every tensor, (m,) each.

    Attributes
    ----------
    uses
        Operations that touch the tensor.
    dram_in_bytes, dram_out_bytes
        Over the DRAM boundary.
    flop
        Of all operations that touch it.
    reusable_bytes, captured_bytes
        Of its intervals and repeated passes (see :mod:`spmopt.analysis.reuse`).
    resident : mean part of it on chip, over time.
    """

    name: tuple[str, ...]
    kind: tuple[str, ...]
    size_bytes: Ints
    uses: Ints
    dram_in_bytes: Ints
    dram_out_bytes: Ints
    flop: Ints
    reusable_bytes: Ints
    captured_bytes: Ints
    resident: Reals

    @property
    def flop_per_byte(self) -> Reals:
        """Operations per byte, summed over the operations (Eq. 3.3)."""
        return self.flop / self.size_bytes


def tensor_figures(figures: StepFigures, found: Reuse) -> TensorFigures:
    """Measure every tensor."""
    view = figures.view
    line, commands, tensors = view.timeline, view.schedule.commands, view.instance.tensors
    count = len(tensors)
    moved = (commands.end - commands.begin) * commands.passes
    inward = (commands.kind == Command.LOAD) | (commands.kind == Command.STREAM_IN)
    return TensorFigures(
        name=tuple(tensor.name for tensor in tensors),
        kind=tuple(str(tensor.kind) for tensor in tensors),
        size_bytes=line.size_bytes,
        uses=per_step(np.ones_like(line.tensor), line.tensor, count),
        dram_in_bytes=per_step(moved[inward], commands.tensor[inward], count),
        dram_out_bytes=per_step(moved[~inward], commands.tensor[~inward], count),
        flop=per_step(figures.operations[line.step], line.tensor, count),
        reusable_bytes=per_step(found.possible_bytes + found.repeated_bytes, line.tensor, count),
        captured_bytes=per_step(found.captured_bytes + found.spared_bytes, line.tensor, count),
        resident=_resident(figures, count),
    )


def _resident(figures: StepFigures, count: int) -> Reals:
    """(m,) Mean over time of the part of each tensor that is resident."""
    table, line = figures.view.schedule.residency, figures.view.timeline
    clock = np.concatenate((np.zeros(1), np.cumsum(figures.cycles, dtype=float)))
    byte_cycles = table.size_bytes * (clock[table.end] - clock[table.begin])
    total = sums(byte_cycles, table.tensor, count)
    return total / (line.size_bytes * max(1.0, float(clock[-1])))


@dataclass(frozen=True, kw_only=True, eq=False)
class UseFigures:
    """Figures of every access, (a,) each, by step.

    Attributes
    ----------
    step, tensor
        Which.
    kind
        :class:`~spmopt.core.timeline.Access`.
    size_bytes, resident_bytes
        Of the tensor, and of its part on chip during the step.
    flop_per_byte
        Operations per byte of the tensor (Eq. 3.3).
    memory_bound
        The reuse frequency is not above the ridge point.
    next_step
        Step of the next use of the same contents, or -1.
    scope
        :class:`~spmopt.analysis.reuse.Scope` of the interval until then, or -1.
    captured_bytes
        Stay on chip until then.
    """

    step: Ints
    tensor: Ints
    kind: Ints
    size_bytes: Ints
    resident_bytes: Ints
    flop_per_byte: Reals
    memory_bound: Bools
    next_step: Ints
    scope: Ints
    captured_bytes: Ints


def use_figures(figures: StepFigures, found: Reuse) -> UseFigures:
    """Measure every access."""
    view, line = figures.view, figures.view.timeline
    size = line.size_bytes[line.tensor]
    frequency = figures.operations[line.step] / size
    next_step = np.full_like(line.step, -1)
    interval = found.scope >= 0
    next_step[interval] = line.step[line.next[interval]]
    return UseFigures(
        step=line.step,
        tensor=line.tensor,
        kind=line.kind,
        size_bytes=size,
        resident_bytes=view.resident_bytes,
        flop_per_byte=frequency,
        memory_bound=frequency <= ridge_point(view.instance.machine),
        next_step=next_step,
        scope=found.scope,
        captured_bytes=found.captured_bytes,
    )
