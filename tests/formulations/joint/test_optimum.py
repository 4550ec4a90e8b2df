"""The joint optimum is that of brute force, and every schedule replays as the model says."""

from __future__ import annotations

import numpy as np
import pytest

from formulations.joint.schedule import JointSettings
from spmopt.core.instance import Instance
from tests.formulations.joint.brute_force import least_replay
from tests.formulations.joint.solved import replayed, small, solved
from tests.strategies import random_instance
from tests.tiny import Op, tiny


@pytest.mark.parametrize("seed", range(25))
def test_brute_force_finds_nothing_better_nor_worse(seed: int) -> None:
    instance = small(seed)
    best = solved(instance)
    assert best.bound == best.cycles == least_replay(instance)
    assert replayed(instance, best.schedule) == best.cycles


@pytest.mark.parametrize("seed", range(25, 35))
def test_in_the_listed_order(seed: int) -> None:
    instance = small(seed)
    count = len(instance.operations)
    best = solved(instance, JointSettings(threads=1, order=np.arange(count)))
    assert best.cycles == least_replay(instance, [tuple(range(count))])
    assert best.schedule.steps.operation.tolist() == list(range(count))


@pytest.mark.parametrize("seed", range(100, 112))
def test_replay_of_larger_ones_is_the_model_s(seed: int) -> None:
    instance = random_instance(seed, max_operations=6, max_modes=2, duplex=True, setup=True)
    best = solved(instance)
    assert replayed(instance, best.schedule) == best.cycles == best.bound


X = {"x": (8, "in"), "y": (8, "in")}
TWO = [Op(reads=name, cycles=10, stationary=name) for name in ("x", "y")]
BY_HAND: dict[str, tuple[Instance, int]] = {
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
            [Op(writes="z"), Op(reads="z y", stationary="y"), Op(reads="z")],
            spm=8,
        ),
        4 + 8 + 4,
    ),
    # Of three pages w keeps an outer one, so that the other two are side by side for c.
    "contiguous": (
        tiny(
            {"a": (4, "in"), "w": (4, "in"), "b": (4, "in"), "c": (8, "in")},
            [
                Op(reads="a w b", stationary="a w b"),
                Op(reads="w c", stationary="w c"),
            ],
            spm=12,
        ),
        20,
    ),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_by_hand(name: str) -> None:
    instance, cycles = BY_HAND[name]
    best = solved(instance)
    assert best.cycles == best.bound == cycles
    assert replayed(instance, best.schedule) == cycles
