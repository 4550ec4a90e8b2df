"""Dives go on from orders that led low, by steps of several sizes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from formulations.placement import attempts
from formulations.placement.attempts import Dives
from spmopt.core.result import Status

BUFFERS: Any = range(400)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Searches that dives make: each is through at once, 100 units high."""
    found: list[Any] = []

    class Found:
        nodes = 1
        offsets = np.zeros(len(BUFFERS), np.int64)

        def __init__(self, order: Any, capacity: int) -> None:
            self.noise, self.capacity = order.noise, capacity
            found.append(self)

        def run(self, nodes: int, stop: object) -> Status:
            del nodes, stop
            return Status.FEASIBLE

    monkeypatch.setattr(attempts, "TreeSearch", Found)
    monkeypatch.setattr(attempts, "height", lambda part, offsets: 100)
    return found


def test_next_to_a_good_order_few_buffers_change_at_times_and_all_at_others(
    made: list[Any],
) -> None:
    dives = Dives(BUFFERS)
    for _ in range(25):
        assert dives.dive(50, 100, bool) is not None
    assert (made[0].noise == 1.0).all()
    changed = [np.mean(one.noise != other.noise) for one, other in pairwise(made)]
    assert 0 < min(changed) < 0.06
    assert max(changed) == 1.0


def test_the_first_dive_goes_no_nearer_to_the_bound_than_a_small_part_of_it(
    made: list[Any],
) -> None:
    """Unless the best is nearer; of a best far above, a sixteenth of the way remains."""
    for above in (16_000, 400, 60):
        Dives(BUFFERS).dive(12_800, 12_800 + above, bool)
    assert [each.capacity for each in made] == [12_800 + 1000, 12_800 + 100, 12_800 + 60]
