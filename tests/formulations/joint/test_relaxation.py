"""The relaxation never says more than the optimum, and often as much."""

from __future__ import annotations

import pytest

from formulations.joint.schedule import JointSettings, ProvedBound, search
from formulations.solver.apart import call
from results.shared.small import small_instance
from spmopt.core.instance import Instance
from tests.formulations.joint.brute_force import least_replay
from tests.formulations.joint.solved import small, solved
from tests.strategies import random_instance
from tests.thorough import some
from tests.tiny import Op, tiny

ALONE = JointSettings(threads=1, without=("relaxation",))


def relaxed(instance: Instance) -> int | None:
    """Return the optimum of the relaxation."""
    found: int | None = call("tests.formulations.joint.relaxation_worker:least", instance)
    return found


@pytest.mark.parametrize("seed", some(range(600, 614)))
def test_not_above_brute_force(seed: int) -> None:
    instance = small(seed)
    least, best = relaxed(instance), least_replay(instance)
    assert least is not None
    assert best is not None
    assert least <= best


@pytest.mark.parametrize("seed", some(range(640, 650)))
def test_not_above_the_optimum_of_larger_ones(seed: int) -> None:
    instance = random_instance(
        seed, max_operations=5, max_tensor_pages=4, max_modes=1 + seed % 2, duplex=True, setup=True
    )
    best, least = solved(instance, ALONE), relaxed(instance)
    assert best.bound == best.cycles
    assert least is not None
    assert least <= best.cycles
    assert solved(instance).cycles == best.cycles


W = {"w": (8, "in"), "v": (8, "in")}
BY_HAND: dict[str, tuple[Instance, int]] = {
    # All of w comes before the first, all of v before the last, and nothing while w is there.
    "no room for both": (
        tiny(W, [Op(reads=name, cycles=10, stationary=name) for name in "wv"], spm=8),
        36,
    ),
    "room for both": (
        tiny(W, [Op(reads=name, cycles=10, stationary=name) for name in "wv"], spm=16),
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
    instance, cycles = BY_HAND[name]
    assert relaxed(instance) == cycles == least_replay(instance)


def test_proves_what_lstms_need() -> None:
    # Of two cells three of four weights come again, and little else hides computation.
    lstm = small_instance("lstm-2", 1024, training=False)
    first = next(a for a in search(lstm, JointSettings()) if a == ProvedBound(cycles=3984))
    assert first.cycles == 3984
