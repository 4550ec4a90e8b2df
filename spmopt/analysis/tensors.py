"""Figures of every tensor under a schedule."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from spmopt.analysis.reuse import Reuse
from spmopt.analysis.stalls import bytes_moved, inward
from spmopt.analysis.steps import Reals, StepFigures, sums
from spmopt.verifier.durations import per_step

# Columns of one length, by the names that they have in tables and files.
Columns = dict[str, NDArray[Any]]


def tensor_columns(figures: StepFigures, found: Reuse) -> Columns:
    """Measure every tensor.

    ``uses`` are the operations that touch it, ``flop`` all of theirs; ``reusable_bytes`` those of
    its reuse intervals (:mod:`spmopt.analysis.reuse`); ``resident`` is the mean part
    of it on chip, over time; ``reuse_frequency`` the FLOP of all uses per byte (Eq. 3.3).
    """
    view, line = figures.view, figures.view.timeline
    tensors, tensor = view.problem.tensors, view.schedule.commands.tensor
    moved, into, count = bytes_moved(view), inward(view), len(view.problem.tensors)
    flop = per_step(figures.flop[line.step], line.tensor, count)
    reused = line.tensor[found.access]
    return {
        "name": np.array([tensor.name for tensor in tensors], object),
        "kind": np.array([str(tensor.kind) for tensor in tensors], object),
        "size_bytes": line.size_bytes,
        "uses": np.bincount(line.tensor, minlength=count),
        "dram_in_bytes": per_step(moved[into], tensor[into], count),
        "dram_out_bytes": per_step(moved[~into], tensor[~into], count),
        "flop": flop,
        "reuse_frequency": flop / line.size_bytes,
        "reusable_bytes": per_step(line.size_bytes[reused], reused, count),
        "captured_bytes": per_step(found.captured_bytes, reused, count),
        "resident": _resident(figures, count),
    }


def _resident(figures: StepFigures, count: int) -> Reals:
    """Return (m,) the mean over time of the part of each tensor that is resident."""
    table, line = figures.view.schedule.residency, figures.view.timeline
    # One edge more than there are steps: residency rows end at the step behind their last.
    clock = np.concatenate((np.zeros(1), np.cumsum(figures.cycles, dtype=float)))
    byte_cycles = table.size_bytes * (clock[table.end] - clock[table.begin])
    total = sums(byte_cycles, table.tensor, count)
    return total / (line.size_bytes * max(1.0, float(clock[-1])))
