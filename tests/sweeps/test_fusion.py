"""Rows of schedules over the fusion space: held against its bound, not that of the list."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from spmopt.core.objective import MAKESPAN
from spmopt.core.result import Result, Status
from spmopt.hardware.machines import load_machine
from spmopt.sweeps import work
from spmopt.sweeps.cases import Network, SweepCase
from spmopt.sweeps.rows import row_of
from spmopt.sweeps.work import SolveOptions, point


def test_a_fused_schedule_has_the_bound_over_the_fusion_space(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fusion: Any = object()
    result = Result(
        scheduler="fusion",
        objective=MAKESPAN,
        status=Status.FEASIBLE,
        solve_s=1.0,
        value=Fraction(15450),
        bound=Fraction(15440),  # of the problem of its fusion plan
        fused=fusion,
        fusion_bound=Fraction(7725),
    )
    monkeypatch.setattr(work, "compare", lambda *_: [result])
    case = SweepCase(
        network=Network(name="alexnet", batch=1),
        machine=load_machine("rtx2080ti"),
        capacities=(10**6,),
    )
    (found,) = point(case, 10**6, ("fusion",), SolveOptions())
    row = row_of(case, 10**6, *found, "time")
    assert (row["order"], row["bound"], row["gap"]) == ("fusion_plan", 5e-6, 1.0)
