"""Where a (step, tensor) pair stands among accesses and residency rows."""

from __future__ import annotations

import numpy as np

from spmopt.core.schedule import Ranges, Residency
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Timeline


def access_at(timeline: Timeline, step: Ints, tensor: Ints) -> Ints:
    """Return index of the access of ``tensor[k]`` in ``step[k]``, or -1 where the step has none."""
    latest = latest_access(timeline, step, tensor)
    found: Ints = np.where(np.append(timeline.step, -1)[latest] == step, latest, -1)
    return found


def latest_access(timeline: Timeline, step: Ints, tensor: Ints) -> Ints:
    """Return the last access of ``tensor[k]`` up to and with ``step[k]``, or -1."""
    order = np.argsort(timeline.tensor, kind="stable")
    # One sorted key of tensor and step, so that one search finds both.
    span = timeline.steps + 1
    keys = (timeline.tensor * span + timeline.step)[order]
    place = np.searchsorted(keys, tensor * span + step, side="right") - 1
    latest = np.append(order, -1)[place]
    found: Ints = np.where(np.append(timeline.tensor, -1)[latest] == tensor, latest, -1)
    return found


def flag(flags: Bools, access: Ints) -> Bools:
    """Return ``flags[access[k]]``, and false where ``access[k]`` is -1."""
    result = access >= 0
    result[result] = flags[access[result]]
    return result


def row_at(rows: Residency | Ranges, step: Ints, tensor: Ints) -> Ints:
    """Return the index of the row that ``tensor[k]`` has in ``step[k]``, or -1.

    Rows are sorted by (tensor, begin).
    """
    if not len(rows):
        return np.full(step.size, -1, np.int64)
    # Wider than any step, so that keys of two tensors never mix.
    span = max(int(rows.end.max()), int(step.max(initial=0))) + 1
    row = np.searchsorted(rows.tensor * span + rows.begin, tensor * span + step, side="right") - 1
    held = (row >= 0) & (rows.tensor[row] == tensor) & (step < rows.end[row])
    found: Ints = np.where(held, row, -1)
    return found


def resident_bytes(residency: Residency, step: Ints, tensor: Ints) -> Ints:
    """Return the resident bytes ``r_t(i)`` of ``tensor[k]`` in ``step[k]``."""
    found: Ints = np.append(residency.size_bytes, 0)[row_at(residency, step, tensor)]
    return found


def neighbors(residency: Residency, values: Ints) -> tuple[Ints, Ints]:
    """Return ``values`` of the rows that adjoin each row of the same tensor in time, else 0.

    Returns
    -------
    before, after
        Of the row that ends where this one begins, and of the one that begins at its end.
    """
    adjoins = (residency.tensor[1:] == residency.tensor[:-1]) & (
        residency.begin[1:] == residency.end[:-1]
    )
    before = np.zeros(len(residency), np.int64)
    after = np.zeros(len(residency), np.int64)
    before[1:] = np.where(adjoins, values[:-1], 0)
    after[:-1] = np.where(adjoins, values[1:], 0)
    return before, after
