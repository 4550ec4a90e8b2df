"""Whether a schedule holds and moves whole tensors only, each in one range of addresses."""

from __future__ import annotations

import numpy as np

from spmopt.core.problem import Problem
from spmopt.core.schedule import Command, Schedule


def move_whole(problem: Problem, schedule: Schedule) -> bool:
    """Return whether a legal schedule is of the class :data:`~spmopt.core.result.MOVED_WHOLE`.

    A tensor of which a part is resident in some step, or that is loaded or stored in parts, makes
    it none; so do pages of a tensor that lie apart.
    """
    sizes = problem.size_bytes
    rows, moves, places = schedule.residency, schedule.commands, schedule.placements
    if (rows.size_bytes != sizes[rows.tensor]).any():
        return False
    kept = (moves.kind == int(Command.LOAD)) | (moves.kind == int(Command.STORE))
    if (moves.end - moves.begin != sizes[moves.tensor])[kept].any():
        return False
    # Equal for all runs of a tensor exactly if they form one range.
    lowest = places.spm_page - places.tensor_page
    for tensor, begin, end in zip(rows.tensor, rows.begin, rows.end, strict=True):
        here = (places.tensor == tensor) & (places.begin < end) & (places.end > begin)
        if np.unique(lowest[here]).size > 1:
            return False
    return True
