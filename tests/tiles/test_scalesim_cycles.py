"""The systolic model against runs of SCALE-Sim v2, and of v1, whose folds overlap."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from spmopt.core.machine import SystolicArray
from spmopt.graph.cycles import fill_cycles, systolic_cycles
from spmopt.graph.operators.spec import Gemm

FOLDER = Path(__file__).parents[2] / "instances" / "scalesim"
RUNS = FOLDER / "gemm_cycles.csv"
SIZES = ("M", "K", "N", "rows", "cols", "compute_cycles")


def runs(dataflow: str) -> list[list[int]]:
    with RUNS.open(encoding="utf-8", newline="") as lines:
        found = [row for row in csv.DictReader(lines) if row["dataflow"] == dataflow]
    return [[int(row[name]) for name in SIZES] for row in found]


@pytest.mark.parametrize(("dataflow", "count"), [("os", 36), ("ws", 33), ("is", 41)])
def test_equal_to_scalesim_on_every_run(dataflow: str, count: int) -> None:
    measured = runs(dataflow)
    assert len(measured) == count
    for m, k, n, rows, columns, reported in measured:
        array = SystolicArray(rows=rows, columns=columns, dataflow=dataflow)
        # SCALE-Sim reports the number of the last cycle, counted from 0.
        assert systolic_cycles(array, Gemm(m=m, k=k, n=n)) - 1 == reported, (m, k, n, rows, columns)


def test_folds_of_a_pipelined_array_overlap_as_in_the_first_scalesim() -> None:
    with (FOLDER / "v1_os_cycles.csv").open(encoding="utf-8", newline="") as lines:
        found = [[int(row[name]) for name in SIZES] for row in csv.DictReader(lines)]
    assert len(found) == 24
    for m, k, n, rows, columns, reported in found:
        array = SystolicArray(rows=rows, columns=columns, pipelined=True)
        ours = systolic_cycles(array, Gemm(m=m, k=k, n=n))
        # How long the last fold takes to leave depends on which part of the array it fills.
        assert -1 <= reported - (ours - fill_cycles(array)) <= rows + columns - 1


@pytest.mark.parametrize(
    ("dataflow", "cycles"),
    [
        ("os", 2 * 3 * 9 + 4 + 5 - 2),  # K = 9 is above the 4 rows
        ("ws", 3 * 3 * 7 + 8 + 5 - 2),
        ("is", 3 * 2 * 11 + 8 + 5 - 2),
    ],
)
def test_pipelined_by_hand(dataflow: str, cycles: int) -> None:
    array = SystolicArray(rows=4, columns=5, dataflow=dataflow, pipelined=True)
    assert systolic_cycles(array, Gemm(m=7, k=9, n=11)) == cycles
    # Three times the folds, one filling; a fold of one cycle takes as long as there are rows.
    three = systolic_cycles(array, Gemm(m=7, k=9, n=11, batch=3))
    assert three == 3 * (cycles - fill_cycles(array)) + fill_cycles(array)
    assert systolic_cycles(array, Gemm(m=1, k=1, n=1)) == 4 + fill_cycles(array)
