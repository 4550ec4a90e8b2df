"""Of the plans that a search starts from and finds none better than, it returns the best."""

from __future__ import annotations

import numpy as np
import pytest

from formulations.residency.bound.duals import Multipliers
from formulations.residency.whole import timed
from formulations.residency.whole.retention import Retention
from formulations.residency.whole.transfers import WholeCase
from formulations.solver.program import SolverResult, SolverStatus
from spmopt.core.objective import MAKESPAN
from spmopt.core.scheduler import Request
from spmopt.core.timeline import timeline_in_order
from tests.tiny import Op, tiny


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_best_start_is_returned_whatever_comes_first(
    order: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    late = SolverResult(status=SolverStatus.INTERRUPTED, solver="none")
    monkeypatch.setattr(timed, "solve_within", lambda *_, **__: late)
    problem = tiny({"x": (8, "in")}, [Op(reads="x"), Op(reads="x")], spm=8)
    case = WholeCase(problem, Request(objective=MAKESPAN, threads=1), timeline_in_order(problem))
    duals = Multipliers.legal(case.coefficients, *np.zeros((3, 2)))
    kept = np.array([False, True])
    starts = [Retention.nothing(case.uses), Retention.of(case.uses, np.ones(2, bool), kept)]
    best = timed.search(case, duals, [starts[k] for k in order], np.ones(2))
    assert best is not None
    # Loaded once, 8 bytes at one byte a cycle; streamed twice it takes 16.
    assert best.value == 8
