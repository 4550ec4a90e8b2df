"""R1: what is resident fits into the scratchpad."""

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
