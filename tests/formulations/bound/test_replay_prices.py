"""The search for duals of the replay: near what a linear program finds, and no more than steps."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from formulations.residency import fluid
from formulations.residency.replay import replay_certificate
from spmopt.core.objective import MAKESPAN, REPLAY
from spmopt.core.params import ResidencyParams, SolveParams
from spmopt.core.scheduler import Request
from spmopt.verifier import bound
from tests.checked import need
from tests.instances import golden
from tests.strategies import random_problem
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


def test_of_several_mappings_it_keeps_the_best_of_the_duals_with_barriers() -> None:
    """Holding pays at starts or at ends, bytes for mappings or not; more steps prove no less."""
    raised = 0
    for seed in some(range(200), 8):
        problem = random_problem(
            seed, max_operations=7, max_tensors=5, max_mappings=3, duplex=True, scratch=True
        )
        found = need(fluid.schedule(problem, Request(threads=1)).certificate)
        nothing = np.zeros_like(found.spm)
        ways = [
            replace(each, objective=REPLAY, spm=end, spm_at_start=start)
            for start, end in ((nothing, found.spm), (found.spm, nothing))
            for each in (found, replace(found, uses=None, rooms=None))
        ]
        best = max(bound(problem, each) for each in ways)
        proved = [
            bound(problem, replay_certificate(problem, found, REPLAY, request_of(turns)))
            for turns in (1, 60)
        ]
        slack = max(Fraction(1), best) / 10**6
        assert proved[0] >= best - slack, seed
        assert proved[1] >= proved[0] - slack, seed
        raised += proved[1] > best + slack
    assert raised


def request_of(turns: int) -> Request:
    params = SolveParams(residency=ResidencyParams(replay_steps=turns))
    return Request(objective=REPLAY, threads=1, params=params)
