"""Array look-ups that several rules share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from spmopt.core.table import Bools, Ints

_KEYS = 2**62
"""How many numbers 64 bits hold with ease."""


@dataclass(frozen=True, kw_only=True, eq=False)
class StepIndex:
    """Rows with a (tensor, step) each, to find the latest of a tensor at some step."""

    key: Ints
    tensor: Ints
    row: Ints
    stride: int

    @classmethod
    def of(cls, tensor: Ints, step: Ints, steps: int) -> Self:
        """Return index rows whose ``step`` is in -1..steps; of equal rows the last one is found."""
        # Keys ascend by tensor, then step, so that one binary search answers all pairs.
        row = np.lexsort((step, tensor))
        # Steps run from -1 to n: one number each.
        stride = steps + 2
        return cls(
            key=tensor[row] * stride + step[row] + 1, tensor=tensor[row], row=row, stride=stride
        )

    def last(self, tensor: Ints, step: Ints) -> Ints:
        """Return the row with the greatest step at or before ``step``, per pair, or -1."""
        position = np.searchsorted(self.key, tensor * self.stride + step + 1, "right") - 1
        result = np.full(position.size, -1, np.int64)
        some = np.flatnonzero(position >= 0)
        some = some[self.tensor[position[some]] == tensor[some]]
        result[some] = self.row[position[some]]
        return result

    def next(self, tensor: Ints, step: Ints) -> Ints:
        """Return the row with the least step after ``step``, per pair, or -1."""
        position = np.searchsorted(self.key, tensor * self.stride + step + 1, "right")
        result = np.full(position.size, -1, np.int64)
        some = np.flatnonzero(position < self.key.size)
        some = some[self.tensor[position[some]] == tensor[some]]
        result[some] = self.row[position[some]]
        return result


def pick(values: Ints, row: Ints, default: int) -> Ints:
    """Return ``values[row]``, or ``default`` where ``row`` is -1."""
    result = np.full(row.size, default, np.int64)
    some = row >= 0
    result[some] = values[row[some]]
    return result


def pick_flag(values: Bools, row: Ints) -> Bools:
    """Return ``values[row]``, or false where ``row`` is -1."""
    result = np.zeros(row.size, bool)
    some = row >= 0
    result[some] = values[row[some]]
    return result


def find_unbalanced(columns: Sequence[Ints], weight: Ints) -> tuple[Ints, Ints]:
    """Return the rows whose equals do not cancel: one row per group, and the group's total weight.

    Rows are equal when all ``columns`` are; groups come in the order of the columns, the
    first one first.
    """
    if weight.size == 0:
        return np.empty(0, np.int64), weight
    key = _keys(columns)
    order = np.argsort(key, kind="stable")  # quick where parts are in order
    starts = np.concatenate(([0], np.flatnonzero(np.diff(key[order])) + 1))
    total = np.add.reduceat(weight[order], starts)
    left = total != 0
    return order[starts[left]], total[left]


def _keys(columns: Sequence[Ints]) -> Ints:
    """Return a number for each row: equal where all ``columns`` are, else in their order."""
    keys = np.zeros(columns[0].size, np.int64)
    count = 1
    for column in columns:
        values, low, span = column, int(column.min()), int(column.max()) - int(column.min()) + 1
        if count * span > _KEYS:  # only then number the existing ones
            keys = np.unique(keys, return_inverse=True)[1]
            values, low = np.unique(column, return_inverse=True)[1], 0
            count = span = keys.size
        keys = keys * span + (values - low)
        count *= span
    return keys
