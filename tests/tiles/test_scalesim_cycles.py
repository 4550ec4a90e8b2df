"""The systolic model against runs of SCALE-Sim v2."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from spmopt.core.machine import SystolicArray
from spmopt.graph.cycles import systolic_cycles
from spmopt.graph.operators.spec import Gemm

RUNS = Path(__file__).parents[2] / "instances" / "scalesim" / "gemm_cycles.csv"
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
