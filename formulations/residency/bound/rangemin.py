"""Minima over ranges of steps, for all intervals at once (sparse tables)."""

from __future__ import annotations

import numpy as np

from formulations.solver.program import Floats
from spmopt.core.table import Ints

_BEYOND = np.array([np.inf])


class StepRanges:
    """Half-open ranges [begin, end) over steps, of one shape, prepared for repeated queries.

    Empty ranges are allowed; their minimum is infinite, at the position after the last.
    """

    def __init__(self, begin: Ints, end: Ints) -> None:
        # Two spans of a power of two, which may overlap, have the minimum of both.
        length = np.maximum(end - begin, 1)
        level = (np.frexp(length.astype(np.float64))[1] - 1).astype(np.int64)
        self.empty = end <= begin
        self.level = np.where(self.empty, 0, level)
        self.left = np.where(self.empty, 0, begin)
        self.right = np.where(self.empty, 0, end - (1 << level))


class RangeMinimum:
    """Sparse table of one array (n,): O(n log n) to build, O(1) a query."""

    def __init__(self, values: Floats) -> None:
        size = values.size
        levels = max(1, size.bit_length())
        self._values = np.concatenate((values, _BEYOND))
        table = np.full((levels, size + 1), size, np.int64)
        table[0, :size] = np.arange(size)
        minima = values
        for k in range(1, levels):
            half = 1 << (k - 1)
            count = size - 2 * half + 1
            if count <= 0:
                break
            # The left one of equals, as the compiled code takes it.
            keep = minima[:count] <= minima[half : half + count]
            table[k, :count] = np.where(
                keep, table[k - 1, :count], table[k - 1, half : half + count]
            )
            minima = np.where(keep, minima[:count], minima[half : half + count])
        self._table = table

    def argmin(self, ranges: StepRanges) -> Ints:
        """Return the position of the least value in each range; n (out of range) where empty."""
        left = self._table[ranges.level, ranges.left]
        right = self._table[ranges.level, ranges.right]
        position = np.where(self._values[left] <= self._values[right], left, right)
        return np.where(ranges.empty, self._values.size - 1, position)

    def at(self, position: Ints) -> Floats:
        """Return the values at positions; infinite at position n."""
        result: Floats = self._values[position]
        return result
