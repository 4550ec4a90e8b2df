"""Windows of steps, one after the other, each solved while the rest stays as it is."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from formulations.contiguous.held import Held
from formulations.contiguous.rounds import Found, Rounds
from formulations.contiguous.stays import Stay
from formulations.contiguous.window import Window, whole
from formulations.solver.program import Floats

_CELLS = 40_000  # of the stays in a window, about
_LEAST = 2e-6  # of the objective: gain of a window that makes another one worth while there


class Sweep:
    """Sweeps that leave out where the one before gained next to nothing."""

    def __init__(self, rounds: Rounds, found: Found) -> None:
        self._rounds = rounds
        self._whole = whole(rounds.case.line)
        self._least = _LEAST * float(found.value)
        self._hope: Floats = np.full(self._whole.steps, np.inf)
        """(n,) Gain to be expected, by what there was last time."""
        self._half = False

    @property
    def worth_while(self) -> bool:
        """Whether another sweep may gain something."""
        return bool(self._hope.sum() > self._least)

    def over(self, held: Held) -> Held:
        """What is held when each window has been made better, as far as it could be."""
        request = self._rounds.request
        parts = windows(held.stays, self._whole.steps, half=self._half)
        self._half = not self._half
        for number, window in enumerate(parts):
            inside = slice(window.begin, window.end)
            if request.remaining_s() <= 0:
                break
            if self._hope[inside].sum() <= self._least:
                continue
            request.report("contiguous addresses, window by window", number / len(parts))
            held, gain = self._within(window, held)
            self._hope[inside] = gain / (window.end - window.begin)
        return held

    def _within(self, window: Window, held: Held) -> tuple[Held, float]:
        """What is held then, and the gain."""
        met = [s.begin < window.last and s.end > window.first for s in held.stays]
        stays = [stay for stay, own in zip(held.stays, met, strict=True) if own]
        before = self._rounds.placed(stays, window, held.dirty)
        after = self._rounds.solved(before.held, window)
        if after is None or after.value >= before.value:
            return held, 0.0
        others = [stay for stay, own in zip(held.stays, met, strict=True) if not own]
        dirty = held.dirty.replaced(window, after.held.dirty)
        found = Held(stays=[*others, *after.held.stays], dirty=dirty)
        return found, float(before.value - after.value)


def windows(stays: list[Stay], steps: int, *, half: bool = False) -> list[Window]:
    """Windows with equally many cells of ``stays``; with ``half`` they begin half of one later."""
    change = np.zeros(steps + 1, np.int64)
    for stay in stays:
        change[stay.begin] += 1
        change[stay.end] -= 1
    cells = np.cumsum(np.cumsum(change[:steps]) + 1)
    parts = max(1, round(int(cells[-1]) / _CELLS))
    shares = (np.arange(parts) + (0.5 if half else 0.0)) / parts
    cuts = np.searchsorted(cells, shares * int(cells[-1]))
    ends = np.unique(np.concatenate(([0], cuts, [steps]))).tolist()
    return [Window(begin=begin, end=end, steps=steps) for begin, end in pairwise(ends)]
