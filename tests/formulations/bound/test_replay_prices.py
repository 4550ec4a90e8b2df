"""The search for duals of the replay: near what a linear program finds, and no more than steps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from formulations.residency import fluid
from spmopt.core.objective import MAKESPAN, REPLAY
from spmopt.core.scheduler import Request
from spmopt.verifier import bound
from tests.checked import need
from tests.instances import golden
from tests.thorough import some

ROUNDING = 1e-6


@pytest.mark.parametrize(
    ("name", "part", "optimum"),
    some([("mlp", 2, 4508), ("residual", 2, 8640), ("lstm", 1, 11540)], 2),
)
def test_close_to_the_optimum(name: str, part: int, optimum: int) -> None:
    """``optimum`` is that of the dual, found by a linear program over all paths."""
    problem = golden.problem(name)
    machine = problem.machine
    pages = machine.spm_pages // part
    problem = replace(problem, machine=replace(machine, spm_bytes=pages * machine.page_bytes))
    found = []
    for objective in (REPLAY, MAKESPAN):
        request = Request(objective=objective, tolerance=1e-6, threads=1)
        certificate = need(fluid.schedule(problem, request).certificate)
        found.append(float(bound(problem, certificate)))
    replayed, steps = found
    assert 0.99 * optimum <= replayed <= optimum * (1 + ROUNDING)
    # What steps allow the replay does too; of these three it gains nothing from what it allows.
    # Pages may add to the bound on steps.
    assert steps >= optimum * (1 - 1e-4)
