"""Figures of every tensor under a schedule."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spmopt.analysis.reuse import Reuse
from spmopt.analysis.roofline import Reals, sums
from spmopt.analysis.steps import StepFigures
from spmopt.core.schedule import Command
from spmopt.core.table import Ints
from spmopt.verify.durations import per_step


@dataclass(frozen=True, kw_only=True, eq=False)
class TensorFigures:
    """Figures of every tensor, (m,) each.

    Attributes
    ----------
    uses
        Operations that touch the tensor.
    in_bytes, out_bytes
        Over the DRAM boundary.
    operations
        Of all operations that touch it.
    possible_bytes, captured_bytes
        Of its gaps and repeated passes (see :mod:`spmopt.analysis.reuse`).
    resident : mean part of it on chip, over time.
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    size_bytes: Ints
    uses: Ints
    in_bytes: Ints
    out_bytes: Ints
    operations: Ints
    possible_bytes: Ints
    captured_bytes: Ints
    resident: Reals

    @property
    def reuse_frequency(self) -> Reals:
        """Operations per byte, summed over the operations (Eq. 3.3)."""
        return self.operations / self.size_bytes


def tensor_figures(figures: StepFigures, found: Reuse) -> TensorFigures:
    """Measure every tensor."""
    view = figures.view
    line, commands, tensors = view.timeline, view.schedule.commands, view.instance.tensors
    count = len(tensors)
    moved = (commands.end - commands.begin) * commands.passes
    inward = (commands.kind == Command.LOAD) | (commands.kind == Command.STREAM_IN)
    return TensorFigures(
        names=tuple(tensor.name for tensor in tensors),
        kinds=tuple(str(tensor.kind) for tensor in tensors),
        size_bytes=line.size_bytes,
        uses=per_step(np.ones_like(line.tensor), line.tensor, count),
        in_bytes=per_step(moved[inward], commands.tensor[inward], count),
        out_bytes=per_step(moved[~inward], commands.tensor[~inward], count),
        operations=per_step(figures.operations[line.step], line.tensor, count),
        possible_bytes=per_step(found.possible_bytes + found.repeated_bytes, line.tensor, count),
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
