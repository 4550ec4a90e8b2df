"""Windows of steps, one after the other, each solved while the rest stays as it is."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from formulations.contiguous.held import Held
from formulations.contiguous.rounds import Found, Rounds
from formulations.contiguous.stays import Stay
from formulations.contiguous.window import Window

_CELLS = 60_000  # of a window, about
_ROUNDS = 2  # in each


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


def swept(rounds: Rounds, held: Held, parts: list[Window]) -> Held:
    """What is held when each window has been made better, as far as it could be."""
    for number, window in enumerate(parts):
        if rounds.request.remaining_s() <= 0:
            break
        rounds.request.report("contiguous addresses, window by window", number / len(parts))
        met = [s.begin < window.last and s.end > window.first for s in held.stays]
        stays = [stay for stay, own in zip(held.stays, met, strict=True) if own]
        before = best = rounds.placed(stays, window, held.dirty)
        for _ in range(_ROUNDS):
            found = rounds.solved(best.held, window)
            if found is None or found.value >= best.value:
                break
            best = found
        if best is not before:
            held = _replaced(held, met, best, window)
    return held


def _replaced(held: Held, met: list[bool], found: Found, window: Window) -> Held:
    others = [stay for stay, own in zip(held.stays, met, strict=True) if not own]
    return Held(
        stays=[*others, *found.held.stays], dirty=held.dirty.replaced(window, found.held.dirty)
    )
