"""Bytes of the scratchpad in use, step by step, by kinds of tensors."""

from __future__ import annotations

import numpy as np

from spmopt.core.problem import Problem, TensorKind
from spmopt.core.table import Ints
from spmopt.verifier import ScheduleArrays

SCRATCH = "scratch"
KINDS = (*(kind.replace("_", " ") for kind in TensorKind), SCRATCH)
"""Kinds of tensors in words; the scratch buffer of operations comes last."""


def kind_numbers(problem: Problem) -> Ints:
    """Return (m,) the place of each tensor's kind in :data:`KINDS`."""
    number = {kind: place for place, kind in enumerate(TensorKind)}
    return np.array([number[tensor.kind] for tensor in problem.tensors], np.int64)


def bytes_occupied(view: ScheduleArrays) -> Ints:
    """Return (kinds, n) bytes of the pages in use; their sums are those of rule R1."""
    table, kind = (
        view.schedule.residency,
        kind_numbers(view.problem)[view.schedule.residency.tensor],
    )
    pages = view.pages(table.size_bytes)
    change = np.zeros((len(KINDS), view.timeline.steps + 1), np.int64)
    # Differences, then one running sum: rows overlap in any number.
    np.add.at(change, (kind, table.begin), pages)
    np.subtract.at(change, (kind, table.end), pages)
    found = np.cumsum(change, axis=1)[:, :-1]
    found[-1] = view.pages(view.timeline.scratch_bytes)
    held: Ints = found * view.page_bytes
    return held
