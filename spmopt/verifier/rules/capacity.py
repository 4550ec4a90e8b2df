"""R1, R11: what is resident fits into the scratchpad, and may be in it."""

from __future__ import annotations

import numpy as np

from spmopt.core.table import Ints
from spmopt.verifier.arrays import ScheduleArrays
from spmopt.verifier.violation import Violation, found


def occupied_pages(view: ScheduleArrays) -> Ints:
    """Return (n,) pages in use per step: ``sum_t ceil(r_t(i) / g) + ceil(b_m / g)``."""
    table = view.schedule.residency
    pages = view.pages(table.size_bytes)
    change = np.zeros(view.timeline.steps + 1, np.int64)
    np.add.at(change, table.begin, pages)
    np.subtract.at(change, table.end, pages)
    return np.cumsum(change)[:-1] + view.pages(view.timeline.scratch_bytes)


def rule_r1(view: ScheduleArrays) -> list[Violation]:
    """R1, capacity: occupied pages <= ``floor(C / g)`` in every step."""
    used, available = occupied_pages(view), view.instance.machine.spm_pages
    steps = np.arange(used.size)
    return found(
        "R1",
        used > available,
        steps,
        None,
        lambda step: f"{used[step]} pages are in use, the SPM has {available}",
    )


def rule_r11(view: ScheduleArrays) -> list[Violation]:
    """R11, bypass: no byte of a tensor that bypasses the scratchpad is ever resident."""
    table, instance = view.schedule.residency, view.instance
    kinds = [tensor.kind in instance.machine.bypass for tensor in instance.tensors]
    barred = np.array(kinds, bool)[table.tensor]
    return found(
        "R11",
        barred,
        table.begin,
        table.tensor,
        lambda row: (
            f"{view.name(int(table.tensor[row]))} is in the scratchpad, which tensors of its kind "
            "bypass on this machine"
        ),
    )
