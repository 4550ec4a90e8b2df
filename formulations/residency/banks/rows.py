"""Rows of a program and their entries, one family after the other."""

from __future__ import annotations

import numpy as np

from formulations.solver.program import Floats
from spmopt.core.table import Ints


class RowTable:
    """Collects rows; families are numbered in the order in which they come."""

    def __init__(self) -> None:
        self.lower: list[Floats] = []
        self.upper: list[Floats] = []
        self._entries: list[tuple[Ints, Ints, Floats]] = []
        self._count = 0

    def family(self, lower: Floats, upper: Floats) -> int:
        """Add rows; the number of the first."""
        first = self._count
        self.lower.append(lower)
        self.upper.append(upper)
        self._count += lower.size
        return first

    def add(self, row: Ints, column: Ints, value: Floats | float) -> None:
        """Add entries; those that are 0 are left out."""
        values = np.broadcast_to(np.asarray(value, np.float64), row.shape)
        some = values != 0
        self._entries.append((row[some], column[some], values[some]))

    def triplets(self) -> tuple[Ints, Ints, Floats]:
        """Columns, rows and values of all entries."""
        row, column, value = zip(*self._entries, strict=True)
        return np.concatenate(column), np.concatenate(row), np.concatenate(value)
