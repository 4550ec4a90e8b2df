"""Page addresses for given residency (R8, ``contiguous``): one range a tensor."""

from __future__ import annotations

import numpy as np

from spmopt.core.errors import ScheduleError
from spmopt.core.machine import Machine
from spmopt.core.schedule import Placements, Ranges, Residency
from spmopt.core.timeline import Timeline


def in_ranges(
    machine: Machine, timeline: Timeline, residency: Residency, ranges: Ranges
) -> Placements:
    """Each row of ``residency`` from its range's first page on, the scratch at the top.

    Raises
    ------
    ScheduleError
        A row lies within no range.
    """
    # Before all others a range of no tensor, which is found where there is none.
    tensor, begin, end, first = (
        np.concatenate(([none], column))
        for none, column in (
            (-2, ranges.tensor),
            (0, ranges.begin),
            (0, ranges.end),
            (0, ranges.spm_page),
        )
    )
    order = np.lexsort((begin, tensor))
    span = timeline.steps + 1
    wanted = residency.tensor * span + residency.begin
    keys = tensor * span + begin
    row = order[np.searchsorted(keys[order], wanted, side="right") - 1]
    inside = (tensor[row] == residency.tensor) & (residency.end <= end[row])
    if not inside.all():
        k = int(np.flatnonzero(~inside)[0])
        raise ScheduleError(
            f"plan: tensor {residency.tensor[k]} is resident in steps {residency.begin[k]} to "
            f"{residency.end[k] - 1}, and has no range of addresses there"
        )
    busy = np.flatnonzero(timeline.scratch_bytes)
    scratch = -(-timeline.scratch_bytes[busy] // machine.page_bytes)
    nothing = np.zeros(busy.size, np.int64)
    columns = (
        np.concatenate((np.full(busy.size, -1), residency.tensor)),
        np.concatenate((nothing, np.zeros(len(residency), np.int64))),
        np.concatenate((scratch, -(-residency.size_bytes // machine.page_bytes))),
        np.concatenate((machine.spm_pages - scratch, first[row])),
        np.concatenate((busy, residency.begin)),
        np.concatenate((busy + 1, residency.end)),
    )
    names = ("tensor", "tensor_page", "pages", "spm_page", "begin", "end")
    return Placements(**dict(zip(names, columns, strict=True)))
