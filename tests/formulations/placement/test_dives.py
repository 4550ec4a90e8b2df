"""Dives go on from orders that led low, by steps of several sizes."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from formulations.placement import attempts
from formulations.placement.attempts import Dives
from formulations.placement.parts import Verdict

BUFFERS = 400


class Found:
    """A search that is through at once."""

    nodes = 1
    offsets = np.zeros(BUFFERS, np.int64)

    def __init__(self, ordered: object, capacity: int) -> None:
        del ordered, capacity

    def run(self, nodes: int, stop: object) -> Verdict:
        del nodes, stop
        return Verdict.FOUND


def test_next_to_a_good_order_few_buffers_change_at_times_and_all_at_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(attempts, "TreeSearch", Found)
    monkeypatch.setattr(attempts, "height", lambda part, offsets: 100)
    factors: list[Any] = []
    scaled: Any = SimpleNamespace(
        part=range(BUFFERS), order=lambda word, each: factors.append(each)
    )
    dives = Dives(scaled)
    for _ in range(25):
        assert dives.dive(50, 100, bool) is not None
    assert (factors[0] == 1.0).all()
    changed = [np.mean(one != other) for one, other in pairwise(factors)]
    assert 0 < min(changed) < 0.06
    assert max(changed) == 1.0


def test_the_first_dive_goes_no_nearer_to_the_bound_than_a_small_part_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Unless the best is nearer; of a best far above, a sixteenth of the way remains."""
    capacities: list[int] = []

    class Noted(Found):
        def __init__(self, ordered: object, capacity: int) -> None:
            super().__init__(ordered, capacity)
            capacities.append(capacity)

    monkeypatch.setattr(attempts, "TreeSearch", Noted)
    monkeypatch.setattr(attempts, "height", lambda part, offsets: 0)
    scaled: Any = SimpleNamespace(part=range(BUFFERS), order=lambda word, each: None)
    for above in (16_000, 400, 60):
        Dives(scaled).dive(12_800, 12_800 + above, bool)
    assert capacities == [12_800 + 1000, 12_800 + 100, 12_800 + 60]
