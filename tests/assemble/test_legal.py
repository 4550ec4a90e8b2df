"""Assembled schedules of legal residency plans pass the verifier, replay included."""

from __future__ import annotations

import pytest

from spmopt.assemble import assemble, derive_commands
from spmopt.core.objective import MAKESPAN
from spmopt.verifier import verify
from tests.assemble.small import arrays
from tests.assemble.step_cycles import step_cycles
from tests.brute_force import optimum
from tests.strategies import random_problem
from tests.thorough import some
from tests.verifier.random_plans import random_case


@pytest.mark.parametrize("duplex", [False, True])
def test_random_plans_with_parts_of_tensors_resident(duplex: bool) -> None:
    for seed in some(range(150)):
        problem, chosen = random_case(
            seed,
            free_order=seed % 3 == 0,
            max_operations=9,
            max_tensors=6,
            max_mappings=2,
            duplex=duplex,
            setup=True,
        )
        report = verify(problem, assemble(problem, chosen))
        assert report.legal, (seed, report.violations)
        steps = arrays(problem, chosen)
        mine = step_cycles(problem.machine, steps, derive_commands(steps, chosen))
        assert report.step_cycles is not None
        assert mine.tolist() == report.step_cycles.tolist()


def test_optimal_plans_reach_their_value() -> None:
    for seed in range(30):
        problem = random_problem(seed, max_operations=3, max_tensors=3, page_bytes=2)
        best = optimum(problem, MAKESPAN)
        assert best is not None
        report = verify(problem, assemble(problem, best.residency_plan))
        assert report.totals is not None, (seed, report.violations)
        assert report.totals.makespan_cycles == best.value
