"""Malformed tables are refused with the row that is wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from spmopt.assemble import assemble
from spmopt.core.errors import ScheduleError
from spmopt.core.schedule import Residency, Steps, Stores
from tests.assemble.small import make_problem, residency_plan
from tests.tiny import Op

PROBLEM = make_problem({"x": (5, "in"), "y": (5, "in")}, [Op(), Op(), Op()])
Row = tuple[int, int, int, int]


def residency(*rows: Row) -> Residency:
    """Rows (tensor, begin, end, bytes) by index, unchecked."""
    return Residency.of_rows(rows)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(2, 0, 1, 5)], r"residency: no such tensor \(row 0\)"),
        ([(0, 0, 1, 5), (0, 1, 1, 5)], r"non-empty range within \[0, 3\) \(row 1\)"),
        ([(0, 2, 4, 5)], r"non-empty range"),
        ([(0, -1, 1, 5)], r"non-empty range"),
        ([(0, 0, 2, 5), (0, 1, 3, 4)], r"overlapping \(row 1\)"),
        ([(1, 0, 1, 5), (0, 1, 2, 5)], r"out of order"),
        ([(0, 0, 1, 6)], r"residency: size_bytes"),
        ([(0, 0, 1, 0)], r"residency: size_bytes"),
    ],
)
def test_residency(rows: list[Row], message: str) -> None:
    chosen = replace(residency_plan(PROBLEM), residency=residency(*rows))
    with pytest.raises(ScheduleError, match=message):
        assemble(PROBLEM, chosen)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(0, 2, 1)], "stores: no such tensor"),
        ([(3, 0, 1)], "stores: no such step"),
        ([(1, 0, 1), (0, 1, 1)], r"stores: rows out of order or twice the same \(row 1\)"),
        ([(1, 1, 1), (1, 1, 1)], "twice the same"),
        ([(0, 0, 0)], "stores: size_bytes"),
    ],
)
def test_stores(rows: list[tuple[int, int, int]], message: str) -> None:
    step, tensor, size = np.array(rows, np.int64).T
    stores = Stores(step=step, tensor=tensor, size_bytes=size)
    with pytest.raises(ScheduleError, match=message):
        assemble(PROBLEM, replace(residency_plan(PROBLEM), stores=stores))


@pytest.mark.parametrize(
    ("operation", "mapping", "message"),
    [
        ([0, 1, 3], [0, 0, 0], r"no such operation \(row 2\)"),
        ([0, 1, 2], [0, 1, 0], r"no such mapping \(row 1\)"),
    ],
)
def test_steps(operation: list[int], mapping: list[int], message: str) -> None:
    steps = Steps(operation=np.array(operation), mapping=np.array(mapping))
    with pytest.raises(ScheduleError, match=message):
        assemble(PROBLEM, replace(residency_plan(PROBLEM), steps=steps))
