"""Figures of every use: a tensor in an operation, and the gap until its next use."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spmopt.analysis.reuse import Reuse
from spmopt.analysis.roofline import Reals, ridge_point
from spmopt.analysis.steps import StepFigures
from spmopt.core.table import Bools, Ints


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
    reuse_frequency
        Operations per byte of the tensor (Eq. 3.3).
    memory_bound
        The reuse frequency is not above the ridge point.
    next_step
        Step of the next use of the same contents, or -1.
    scope
        :class:`~spmopt.analysis.reuse.Scope` of the gap until then, or -1.
    captured_bytes
        Stay on chip until then.
    """

    step: Ints
    tensor: Ints
    kind: Ints
    size_bytes: Ints
    resident_bytes: Ints
    reuse_frequency: Reals
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
    gap = found.scope >= 0
    next_step[gap] = line.step[line.next[gap]]
    return UseFigures(
        step=line.step,
        tensor=line.tensor,
        kind=line.kind,
        size_bytes=size,
        resident_bytes=view.resident_bytes,
        reuse_frequency=frequency,
        memory_bound=frequency <= ridge_point(view.instance.machine),
        next_step=next_step,
        scope=found.scope,
        captured_bytes=found.captured_bytes,
    )
