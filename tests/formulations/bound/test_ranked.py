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
