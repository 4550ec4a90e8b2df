"""The joint optimum is that of brute force, and every schedule replays as the model says."""

from __future__ import annotations

import numpy as np
import pytest

from formulations.joint.schedule import JointSettings
from tests.formulations.joint.brute_force import least_replay
from tests.formulations.joint.solved import replayed, small, solved
from tests.strategies import random_problem
from tests.thorough import some


@pytest.mark.parametrize("seed", some(range(48)))
def test_brute_force_finds_nothing_better_nor_worse(seed: int) -> None:
    problem = small(seed)
    best = solved(problem)
    assert best.bound == best.cycles == least_replay(problem)
    assert replayed(problem, best.schedule) == best.cycles


@pytest.mark.parametrize("seed", some(range(25, 45)))
def test_in_the_listed_order(seed: int) -> None:
    problem = small(seed)
    count = len(problem.operations)
    best = solved(problem, JointSettings(threads=1, order=np.arange(count)))
    assert best.cycles == least_replay(problem, [tuple(range(count))])
    assert best.schedule.steps.operation.tolist() == list(range(count))


@pytest.mark.parametrize("seed", some(range(100, 120)))
def test_replay_of_larger_ones_is_the_model_s(seed: int) -> None:
    problem = random_problem(seed, max_operations=6, max_mappings=2, duplex=True, setup=True)
    best = solved(problem)
    assert replayed(problem, best.schedule) == best.cycles == best.bound
