"""Accesses in slice order, against the timeline read access by access."""

from __future__ import annotations

import pytest

from formulations.residency.bound.ranked import RankedIntervals
from spmopt.core.timeline import timeline_in_order
from tests.tiny import Op, tiny


@pytest.mark.parametrize("operations", [[Op(cycles=3)], [Op(), Op()]])
def test_operations_without_operands(operations: list[Op]) -> None:
    intervals = RankedIntervals(timeline_in_order(tiny({"x": (4, "in keep")}, operations, spm=4)))
    assert intervals.slices == ()
    assert intervals.steps == len(operations)


def test_short_intervals_reach_as_far_as_the_capacity() -> None:
    """Untouched are 6 steps of 4 bytes, 3 of 4, and 1 of 8: on the mean 1, 2.5 and 5.5 bytes."""
    uses = ["z x", "y", "x", "", "", "y", "", "z"]
    operations = [Op(reads=names) for names in uses]
    # Between two blind writes nothing is needed.
    operations[3], operations[6] = Op(writes="w"), Op(writes="w")
    tensors = {"z": (4, "in"), "y": (4, "in"), "x": (8, "in"), "w": (1, "")}
    intervals = RankedIntervals(timeline_in_order(tiny(tensors, operations, spm=16)))
    reached = [intervals.reach(capacity) for capacity in (0.5, 1, 1.5, 2.5, 3, 5.5, 9)]
    assert reached == [1, 1, 3, 3, 6, 6, 6]
    alone = RankedIntervals(timeline_in_order(tiny({"x": (4, "in")}, [Op(reads="x")] * 2, spm=4)))
    assert alone.reach(4) == 0
