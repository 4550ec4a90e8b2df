"""Where a (step, tensor) pair stands among accesses and residency rows."""

from __future__ import annotations

import numpy as np

from spmopt.core.schedule import Residency
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Timeline


def access_at(timeline: Timeline, step: Ints, tensor: Ints) -> Ints:
    """Return index of the access of ``tensor[k]`` in ``step[k]``, or -1 where the step has none."""
    if not timeline.tensor.size:
        return np.full(step.size, -1, np.int64)
    tensors = timeline.size_bytes.size
    keys = timeline.step * tensors + timeline.tensor
    order = np.argsort(keys, kind="stable")
    wanted = step * tensors + tensor
    # Beyond the last key: clipped, and then unequal to the wanted one.
    place = np.minimum(np.searchsorted(keys[order], wanted), keys.size - 1)
    found: Ints = np.where(keys[order][place] == wanted, order[place], -1)
    return found


def flag(flags: Bools, access: Ints) -> Bools:
    """Return ``flags[access[k]]``, and false where ``access[k]`` is -1."""
    result = access >= 0
    result[result] = flags[access[result]]
    return result


def row_at(residency: Residency, step: Ints, tensor: Ints) -> Ints:
    """Return the index of the residency row that holds ``tensor[k]`` in ``step[k]``, or -1."""
    if not len(residency):
        return np.full(step.size, -1, np.int64)
    # Wider than any step, so that keys of two tensors never mix.
    span = max(int(residency.end.max()), int(step.max(initial=0))) + 1
    keys = residency.tensor * span + residency.begin
    row = np.searchsorted(keys, tensor * span + step, side="right") - 1
    held = (row >= 0) & (residency.tensor[row] == tensor) & (step < residency.end[row])
    found: Ints = np.where(held, row, -1)
    return found


def resident_bytes(residency: Residency, step: Ints, tensor: Ints) -> Ints:
    """Return the resident bytes ``r_t(i)`` of ``tensor[k]`` in ``step[k]``."""
    row = row_at(residency, step, tensor)
    if not len(residency):
        return np.zeros(step.size, np.int64)
    found: Ints = np.where(row >= 0, residency.size_bytes[row], 0)
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
