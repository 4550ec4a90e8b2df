"""The relaxation never says more than the optimum, and often as much."""

from __future__ import annotations

import pytest

from formulations.joint.schedule import JointSettings, ProvedBound, search
from formulations.solver.apart import call
from results.shared.small import small_problem
from spmopt.core.problem import Problem
from tests.checked import need
from tests.formulations.joint.brute_force import least_replay
from tests.formulations.joint.solved import small, solved
from tests.strategies import random_problem
from tests.thorough import THOROUGH, nightly, some
from tests.tiny import Op, tiny

ALONE = JointSettings(threads=1, without=("relaxation",))


def relaxed(problem: Problem) -> int | None:
    """Return the optimum of the relaxation."""
    found: int | None = call("tests.formulations.joint.relaxation_worker:least", problem)
    return found


@pytest.mark.parametrize("seed", some(range(600, 614)))
def test_not_above_brute_force(seed: int) -> None:
    problem = small(seed)
    least, best = relaxed(problem), least_replay(problem)
    assert need(least) <= need(best)


@pytest.mark.parametrize("seed", some(range(640, 650)))
def test_not_above_the_optimum_of_larger_ones(seed: int) -> None:
    problem = random_problem(
        seed,
        max_operations=5,
        max_tensor_pages=4,
        max_mappings=1 + seed % 2,
        duplex=True,
        setup=True,
    )
    best, least = solved(problem, ALONE), relaxed(problem)
    assert best.bound == best.cycles
    assert need(least) <= best.cycles
    assert solved(problem).cycles == best.cycles


W = {"w": (8, "in"), "v": (8, "in")}
BY_HAND: dict[str, tuple[Problem, int]] = {
    # All of w comes before the first, all of v before the last, and nothing while w is there.
    "no room for both": (
        tiny(W, [Op(reads=name, cycles=10, required_resident=name) for name in "wv"], spm=8),
        36,
    ),
    "room for both": (
        tiny(W, [Op(reads=name, cycles=10, required_resident=name) for name in "wv"], spm=16),
        28,
    ),
    # Nothing is left to be moved while the last computes, nor before the first has computed.
    "heads and tails": (
        tiny(
            {"x": (6, "in"), "y": (4, ""), "z": (6, "keep")},
            [
                Op(reads="x", writes="y", cycles=1),
                Op(reads="y", writes="y", cycles=7),
                Op(reads="y", writes="z", cycles=1),
            ],
            spm=16,
        ),
        19,
    ),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_by_hand(name: str) -> None:
    problem, cycles = BY_HAND[name]
    assert relaxed(problem) == cycles
    if THOROUGH or len(problem.operations) < 3:
        assert least_replay(problem) == cycles


@nightly
def test_proves_what_lstms_need() -> None:
    # Of two cells three of four weights come again, and little else hides computation.
    lstm = small_problem("lstm-2", 1024, training=False)
    assert relaxed(lstm) == 4044
    # Which bounds a search tells on its way differs; the limit is for a busy machine.
    answers = search(lstm, JointSettings(time_limit_s=600.0))
    bounds = (each.cycles for each in answers if isinstance(each, ProvedBound))
    assert next(each for each in bounds if each >= 3984) <= 4044
