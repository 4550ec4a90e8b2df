"""The joint optimum is that of brute force, and every schedule replays as the model says."""

from __future__ import annotations

import numpy as np
import pytest

from formulations.joint.schedule import JointSettings
from spmopt.core.problem import Problem
from tests.formulations.joint.brute_force import least_replay
from tests.formulations.joint.solved import replayed, small, solved
from tests.strategies import random_problem
from tests.tiny import Op, tiny


@pytest.mark.parametrize("seed", range(25))
def test_brute_force_finds_nothing_better_nor_worse(seed: int) -> None:
    problem = small(seed)
    best = solved(problem)
    assert best.bound == best.cycles == least_replay(problem)
    assert replayed(problem, best.schedule) == best.cycles


@pytest.mark.parametrize("seed", range(25, 35))
def test_in_the_listed_order(seed: int) -> None:
    problem = small(seed)
    count = len(problem.operations)
    best = solved(problem, JointSettings(threads=1, order=np.arange(count)))
    assert best.cycles == least_replay(problem, [tuple(range(count))])
    assert best.schedule.steps.operation.tolist() == list(range(count))


@pytest.mark.parametrize("seed", range(100, 112))
def test_replay_of_larger_ones_is_the_model_s(seed: int) -> None:
    problem = random_problem(seed, max_operations=6, max_mappings=2, duplex=True, setup=True)
    best = solved(problem)
    assert replayed(problem, best.schedule) == best.cycles == best.bound


X = {"x": (8, "in"), "y": (8, "in")}
TWO = [Op(reads=name, cycles=10, required_resident=name) for name in ("x", "y")]
BY_HAND: dict[str, tuple[Problem, int]] = {
    # x stays for both of its readers when these are neighbors: 8 + 8 bytes, not 24.
    "another order": (tiny(X, [Op(reads="x"), Op(reads="y"), Op(reads="x")], spm=8), 16),
    # The load of y hides behind the computation on x: 8 + 10 + 10, and y needs no time.
    "hidden load": (
        tiny(X, TWO, spm=16),
        28,
    ),
    # y takes the pages of x, so that it comes when the computation on x is over.
    "reused pages": (
        tiny(X, TWO, spm=8),
        36,
    ),
    # z is written (4 bytes), stored (4), gives way to y (8) and is streamed (4), after which
    # nothing is left to do: its other reader ran before.
    "stored once": (
        tiny(
            {"z": (4, "keep"), "y": (8, "in")},
            [Op(writes="z"), Op(reads="z y", required_resident="y"), Op(reads="z")],
            spm=8,
        ),
        4 + 8 + 4,
    ),
    # Of three pages w keeps an outer one, so that the other two are side by side for c.
    "contiguous": (
        tiny(
            {"a": (4, "in"), "w": (4, "in"), "b": (4, "in"), "c": (8, "in")},
            [
                Op(reads="a w b", required_resident="a w b"),
                Op(reads="w c", required_resident="w c"),
            ],
            spm=12,
        ),
        20,
    ),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_by_hand(name: str) -> None:
    problem, cycles = BY_HAND[name]
    best = solved(problem)
    assert best.cycles == best.bound == cycles
    assert replayed(problem, best.schedule) == cycles
