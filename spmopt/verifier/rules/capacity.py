"""R1, R11: resident tensors fit into the scratchpad, and may be in it."""

from __future__ import annotations

import numpy as np

from spmopt.core.table import Ints
from spmopt.verifier.arrays import ScheduleArrays
from spmopt.verifier.violation import Violation, find


def pages_occupied(view: ScheduleArrays) -> Ints:
    """Return (n,) pages in use per step: ``sum_t ceil(r_t(i) / g) + ceil(b_m / g)``."""
    table = view.schedule.residency
    pages = view.pages(table.size_bytes)
    change = np.zeros(view.timeline.steps + 1, np.int64)
    np.add.at(change, table.begin, pages)
    np.subtract.at(change, table.end, pages)
    return np.cumsum(change)[:-1] + view.pages(view.timeline.scratch_bytes)


def rule_r1(view: ScheduleArrays) -> list[Violation]:
    """R1, capacity: occupied pages <= ``floor(C / g)`` in every step."""
    used, available = pages_occupied(view), view.problem.machine.spm_pages
    steps = np.arange(used.size)
    return find(
        "R1",
        used > available,
        steps,
        None,
        lambda step: f"{used[step]} pages are in use, the SPM has {available}",
    )


def rule_r11(view: ScheduleArrays) -> list[Violation]:
    """R11, bypass: no byte of a tensor that bypasses the scratchpad is ever resident."""
    table, problem = view.schedule.residency, view.problem
    kinds = [tensor.kind in problem.machine.bypass for tensor in problem.tensors]
    barred = np.array(kinds, bool)[table.tensor]
    return find(
        "R11",
        barred,
        table.begin,
        table.tensor,
        lambda row: (
            f"{view.name(int(table.tensor[row]))} is in the scratchpad, which tensors of its kind "
            "bypass on this machine"
        ),
    )
