"""Savings of bytes on chip after a window: costs to go at given dual values."""

from __future__ import annotations

import numpy as np

from formulations.residency.bound.dual import DualFunction
from formulations.solver.program import Floats
from spmopt.core.table import Ints


class CostsToGo:
    """Costs to go of a byte at a step within an interval, by the dual values of a dual.

    Attributes
    ----------
    loaded, stored : (n,)
        Dual value of a byte moved in each step, the objective's too.
    cost_before : (n + 1,)
        Dual value of a byte held in all steps before.
    """

    def __init__(self, dual: DualFunction) -> None:
        duals, coefficients = dual.duals, dual.coefficients
        self.intervals, back = dual.intervals, dual.back
        # The rest of the dual is not kept.
        self._dirty, self._clean, self._gone = back.dirty_in, back.clean_in, back.gone_in
        self.loaded = duals.load + coefficients.in_byte
        self.stored = duals.store + coefficients.out_byte
        self._beyond_moved = coefficients.unpacked, coefficients.packed
        self.cost_before = np.concatenate(([0.0], np.cumsum(duals.spm)))

    def beyond(self, step: int, ends: Ints) -> tuple[Floats, Floats]:
        """Return the extra cost of a dirty and a clean byte over one in DRAM only (e,).

        ``ends`` are accesses at or after ``step``, which ends no interval of theirs before.
        """
        if not ends.size:
            return np.empty(0), np.empty(0)
        dirty, clean = np.empty((2, ends.size))
        of_ends = self.intervals.ratio[ends]
        for ratio in np.unique(of_ends).tolist():
            some = of_ends == ratio
            dirty[some], clean[some] = self._beyond(step, ends[some], ratio)
        return dirty, clean

    def _beyond(self, step: int, ends: Ints, ratio: float) -> tuple[Floats, Floats]:
        """Return the same of bytes that move as ``ratio`` of one."""
        before = self.cost_before - self.cost_before[step]
        at = self.intervals.step[ends]
        last = int(at.max())
        steps, place = slice(step, last), at - step
        held = before[at]
        unpacked, packed = ((1 - ratio) * each for each in self._beyond_moved)
        stored = ratio * self.stored[steps] + packed
        load = held + _least(ratio * self.loaded[steps] + unpacked - before[steps], place)
        clean_store = _least(stored, place)
        drop = _least(stored + before[step + 1 : last + 1], place)
        gone = np.minimum(self._gone[ends], load + self._clean[ends])
        clean = np.minimum(held + self._clean[ends], gone)
        stays = held + np.minimum(self._dirty[ends], clean_store + self._clean[ends])
        return np.minimum(stays, drop + gone) - gone, clean - gone

    def final(self, step: int) -> float:
        """Return the cost of storing a byte at or after ``step``, held until then."""
        before = self.cost_before[step + 1 :] - self.cost_before[step]
        return float((self.stored[step:] + before).min())

    def drops(self, begin: int, end: int) -> Floats:
        """Return the cost of storing a byte in each step of a window, held since its first."""
        return self.stored[begin:end] + self.cost_before[begin + 1 : end + 1]

    def loads(self, begin: int, end: int) -> Floats:
        """Return the cost of loading a byte in each step, up to a constant."""
        return self.loaded[begin:end] - self.cost_before[begin:end]


def _least(values: Floats, count: Ints) -> Floats:
    """Return the least of the first ``count`` values each; infinite of none."""
    lowest = np.concatenate(([np.inf], np.minimum.accumulate(values)))
    result: Floats = lowest[count]
    return result
