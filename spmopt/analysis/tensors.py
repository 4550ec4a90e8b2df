"""Figures of every tensor under a schedule, and of every tensor in every step that uses it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from spmopt.analysis.reuse import Reuse, Scope
from spmopt.analysis.stalls import bytes_moved, inward
from spmopt.analysis.steps import Reals, StepFigures, sums
from spmopt.core.timeline import Access
from spmopt.verifier.durations import per_step

# Columns of one length, by the names that they have in tables and files.
Columns = dict[str, NDArray[Any]]


def tensor_columns(figures: StepFigures, found: Reuse) -> Columns:
    """Measure every tensor.

    ``uses`` are the operations that touch it, ``flop`` all of theirs; ``reusable_bytes`` those of
    its intervals and repeated fetches (:mod:`spmopt.analysis.reuse`); ``resident`` is the mean part
    of it on chip, over time; ``reuse_frequency`` the FLOP of all uses per byte (Eq. 3.3).
    """
    view, line = figures.view, figures.view.timeline
    tensors, tensor = view.problem.tensors, view.schedule.commands.tensor
    moved, into, count = bytes_moved(view), inward(view), len(view.problem.tensors)
    flop = per_step(figures.flop[line.step], line.tensor, count)
    return {
        "name": np.array([tensor.name for tensor in tensors], object),
        "kind": np.array([str(tensor.kind) for tensor in tensors], object),
        "size_bytes": line.size_bytes,
        "uses": np.bincount(line.tensor, minlength=count),
        "dram_in_bytes": per_step(moved[into], tensor[into], count),
        "dram_out_bytes": per_step(moved[~into], tensor[~into], count),
        "flop": flop,
        "reuse_frequency": flop / line.size_bytes,
        "reusable_bytes": per_step(found.possible_bytes + found.repeated_bytes, line.tensor, count),
        "captured_bytes": per_step(found.captured_bytes + found.spared_bytes, line.tensor, count),
        "resident": _resident(figures, count),
    }


def _resident(figures: StepFigures, count: int) -> Reals:
    """Return (m,) the mean over time of the part of each tensor that is resident."""
    table, line = figures.view.schedule.residency, figures.view.timeline
    clock = np.concatenate((np.zeros(1), np.cumsum(figures.cycles, dtype=float)))
    byte_cycles = table.size_bytes * (clock[table.end] - clock[table.begin])
    total = sums(byte_cycles, table.tensor, count)
    return total / (line.size_bytes * max(1.0, float(clock[-1])))


def use_columns(figures: StepFigures, found: Reuse) -> Columns:
    """Measure every access, by step.

    ``resident_bytes`` of the tensor are on chip during the step; ``reuse_frequency`` counts the
    FLOP of the step alone (Eq. 3.3). The last columns are of the interval until the next use of the
    same contents: None where there is none.
    """
    view, line = figures.view, figures.view.timeline
    size = line.size_bytes[line.tensor]
    operations = view.problem.operations
    names = [operations[index].name for index in line.order.tolist()]
    # The last place of each is that of no interval, -1.
    steps = np.array([*names, None], object)
    scopes = np.array([*(scope.words for scope in Scope), None], object)
    next_step = np.where(found.scope >= 0, line.step[line.next], -1)
    return {
        "name": np.array(view.problem.tensor_names, object)[line.tensor],
        "operation": steps[line.step],
        "access": np.array([access.name.lower() for access in Access], object)[line.kind],
        "size_bytes": size,
        "resident_bytes": view.resident_bytes,
        "reuse_frequency": figures.flop[line.step] / size,
        "next_operation": steps[next_step],
        "scope": scopes[found.scope],
        "captured_bytes": found.captured_bytes,
    }
