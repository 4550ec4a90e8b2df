"""Cheapest paths of the bytes of all tensors, step by step, at the prices of a certificate.

The states and arcs are those of :mod:`spmopt.verifier.bound`.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from spmopt.core.timeline import Access, Timeline
from spmopt.verifier.price_check import INFINITE, CheckedPrices, Touch, touches

State = tuple[int, int, int, int]
"""Least cost of a byte up to now, by where it is: N, R, D, U.

Before an access that needs its contents, U is for a byte in R that is not to stay.
"""


def all_paths(line: Timeline, prices: CheckedPrices, absent: Collection[tuple[int, int]]) -> int:
    """Return ``sum_t s_t DP_t``, walking all tensors through the steps together.

    ``absent``: steps, each with a tensor that it uses and that is not resident then.
    """
    waiting, final = BytePaths(line), final_store(prices)
    accesses = touches(line)
    first, size = line.first.tolist(), line.size_bytes.tolist()
    total = 0
    for step in range(line.steps):
        here = accesses[first[step] : first[step + 1]]
        before = [waiting.leave(touch.tensor) for touch in here]
        waiting.pass_step(prices.hold[step], prices.load[step], prices.store[step])
        for touch, old in zip(here, before, strict=True):
            gone = (step, touch.tensor) in absent
            state = access(old, touch, step, prices, None if gone else prices.hold[step])
            if touch.next >= 0:
                waiting.enter(touch.tensor, state)
            else:
                n, r, d, u = state
                total += size[touch.tensor] * min(n, r, d + final[step + 1], u)
    return total


def access(old: State, touch: Touch, step: int, prices: CheckedPrices, stay: int | None) -> State:
    """Follow one access: the table of section 5, with a price for each direction.

    Resident bytes pay ``stay``; None where none can be. A byte not resident is streamed, unless
    stationary. A dead result is not streamed out, and afterwards its bytes are in U.
    """
    (n, r, d, u), hold, passes = old, stay or 0, touch.passes
    read, written = touch.kind != Access.WRITE, touch.kind != Access.READ
    load = (prices.firm_load if touch.stationary and read else prices.load)[step]
    store = (prices.firm_store if touch.stationary and written else prices.store)[step]
    if not written:
        clean = min(n + load, r, d + store) + hold
        dirty = d + hold
        streamed = min(n, r, u) + passes * load
    elif read:
        dirty = min(n + load, r, d) + hold
        clean = dirty + store
        streamed = min(n, r, u) + passes * (load + store if touch.live_after else load)
    else:
        dirty = min(old) + hold
        clean = dirty + store
        streamed = min(old)
        if touch.live_after:
            streamed += passes * store + (passes - 1) * load
    if touch.stationary:
        streamed = INFINITE
    if stay is None:
        clean = dirty = INFINITE
    if not touch.live_after:
        return (INFINITE, INFINITE, INFINITE, min(clean, dirty, streamed))
    return (min(streamed, INFINITE), min(clean, INFINITE), min(dirty, INFINITE), INFINITE)


class BytePaths:
    """States of the tensors between two accesses, in arrays.

    Before its first access a tensor is in DRAM (N, at no cost, or R, loaded ahead: the same cost
    for all of them), or it does not exist (U). In U, that is while dead, nothing costs anything.
    """

    _ROWS = 3

    def __init__(self, line: Timeline) -> None:
        self._in_dram: list[bool] = line.in_dram.tolist()
        self._place: dict[int, int] = {}
        self._unused: dict[int, int] = {}
        self._free = list(range(line.size_bytes.size))[::-1]
        self._top = 0
        self._states = np.full((self._ROWS, line.size_bytes.size), INFINITE, np.int64)
        self._loaded_ahead = INFINITE

    def leave(self, tensor: int) -> State:
        """Take a tensor out for an access."""
        place = self._place.pop(tensor, None)
        if place is not None:
            self._free.append(place)
            return self._arriving(*self._states[:, place].tolist())
        if tensor in self._unused:
            return (INFINITE, INFINITE, INFINITE, self._unused.pop(tensor))
        if self._in_dram[tensor]:
            return (0, self._loaded_ahead, INFINITE, INFINITE)
        return (INFINITE, INFINITE, INFINITE, 0)

    def enter(self, tensor: int, state: State) -> None:
        """Put it back after the access."""
        n, r, d, unused = state
        if unused < INFINITE:
            self._unused[tensor] = unused
            return
        place = self._place[tensor] = self._free.pop()
        self._top = max(self._top, place + 1)
        self._states[:, place] = self._departing(n, r, d)

    def _arriving(self, *costs: int) -> State:
        """Return what an access finds of the costs at a place."""
        n, r, d = costs
        return (n, r, d, INFINITE)

    def _departing(self, n: int, r: int, d: int) -> tuple[int, ...]:
        """Return the costs at a place after an access."""
        return (n, r, d)

    def pass_step(self, hold: int, load: int, store: int) -> None:
        """A step that does not touch them: hold, drop (R to N), load (N to R), store (D to R)."""
        n, r, d = self._states[:, : self._top]
        clean = np.minimum(np.minimum(n + load, d + store), r) + hold
        np.minimum(n, r, out=n)
        r[:] = clean
        d += hold
        self._loaded_ahead = min(self._loaded_ahead, load) + hold


def final_store(prices: CheckedPrices) -> list[int]:
    """Per step, the least that a kept dirty byte pays from that step to the end."""
    final = [INFINITE]
    for hold, store in zip(reversed(prices.hold), reversed(prices.store), strict=True):
        final.append(hold + min(store, final[-1]))
    return final[::-1]
