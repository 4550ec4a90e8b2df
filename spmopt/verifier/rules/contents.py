"""R5, R7: needed contents exist somewhere at any time, and in DRAM at the end."""

from __future__ import annotations

import numpy as np

from spmopt.core.table import Bools, Ints
from spmopt.verifier.arrays import ScheduleArrays
from spmopt.verifier.violation import Violation, find


def rule_r5(view: ScheduleArrays) -> list[Violation]:
    """R5, no lost write: ``r_t(i) + Z_t(i) >= s_t`` while ``t`` is live; stores extend ``Z``."""
    return _lose(view) + _stores(view)


def _lose(view: ScheduleArrays) -> list[Violation]:
    """``r_t + Z_t`` can only fall below ``s_t`` where ``r_t`` changes or after an access."""
    line, table = view.timeline, view.schedule.residency
    tensor = np.concatenate(
        (np.arange(line.size_bytes.size), line.tensor, table.tensor, table.tensor)
    )
    step = np.concatenate(
        (np.zeros(line.size_bytes.size, np.int64), line.step + 1, table.begin, table.end)
    )
    inside = step < line.steps
    tensor, step = tensor[inside], step[inside]
    needed = view.live(tensor, step)
    tensor, step = tensor[needed], step[needed]
    resident, valid = view.resident(tensor, step), view.suffix.valid(tensor, step)
    size = line.size_bytes[tensor]
    return find(
        "R5",
        _first_of_each(resident + valid < size, tensor, step),
        step,
        tensor,
        lambda row: (
            f"{view.name(int(tensor[row]))} is needed, but of its {size[row]} bytes only the "
            f"first {resident[row]} are resident and the last {valid[row]} valid in DRAM"
        ),
    )


def _first_of_each(bad: Bools, tensor: Ints, step: Ints) -> Bools:
    """Keep, of the bad rows of each (tensor, step), the first."""
    rows = np.flatnonzero(bad)
    pairs = np.stack((tensor[rows], step[rows]))
    keep = np.zeros(bad.size, bool)
    keep[rows[np.unique(pairs, axis=1, return_index=True)[1]]] = True
    return keep


def _stores(view: ScheduleArrays) -> list[Violation]:
    """A store is exactly ``[s - Z - x, s - Z)``, resident, and the only one of its step."""
    commands, rows, before = view.schedule.commands, view.suffix.store, view.suffix.before_store
    step, tensor, end = commands.step[rows], commands.tensor[rows], commands.end[rows]
    name = [view.name(t) for t in tensor.tolist()]
    limit = view.timeline.size_bytes[tensor] - before
    resident = view.resident(tensor, step)
    order = np.lexsort((step, tensor))
    again = np.zeros(rows.size, bool)
    again[order[1:]] = (np.diff(tensor[order]) == 0) & (np.diff(step[order]) == 0)
    return (
        find(
            "R5",
            end != limit,
            step,
            tensor,
            lambda row: (
                f"store of {name[row]} ends at byte {end[row]}; to extend the {before[row]} "
                f"valid bytes downwards it must end at {limit[row]}"
            ),
        )
        + find(
            "R5",
            end > resident,
            step,
            tensor,
            lambda row: (
                f"store of {name[row]} up to byte {end[row]}, but {resident[row]} are resident"
            ),
        )
        + find("R5", again, step, tensor, lambda row: f"second store of {name[row]} in the step")
    )


def rule_r7(view: ScheduleArrays) -> list[Violation]:
    """R7, end: ``Z_t = s_t`` after the last step for every tensor to be kept."""
    line = view.timeline
    tensor = np.flatnonzero(line.keep)
    end = np.full(tensor.size, line.steps)
    valid, size = view.suffix.valid(tensor, end), line.size_bytes[tensor]
    return find(
        "R7",
        valid != size,
        None,
        tensor,
        lambda row: (
            f"{view.name(int(tensor[row]))} must be kept, but at the end {valid[row]} of its "
            f"{size[row]} bytes are valid in DRAM"
        ),
    )
