"""Array look-ups that several rules share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from spmopt.core.table import Bools, Ints


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
        row = np.lexsort((step, tensor))
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


def unbalanced(columns: Sequence[Ints], weight: Ints) -> tuple[Ints, Ints]:
    """Return the rows whose equals do not cancel: one row per group, and the group's total weight.

    Rows are equal when all ``columns`` are; groups come in the order of the columns, the
    first one first.
    """
    order = np.lexsort(tuple(reversed(columns)))
    if order.size == 0:
        return order, weight
    changes = np.zeros(order.size - 1, bool)
    for column in columns:
        changes |= np.diff(column[order]) != 0
    starts = np.concatenate(([0], np.flatnonzero(changes) + 1))
    total = np.add.reduceat(weight[order], starts)
    left = total != 0
    return order[starts[left]], total[left]
