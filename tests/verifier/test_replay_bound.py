"""Prices of the replay: never above what a legal schedule takes without barriers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spmopt.core.errors import InputError
from spmopt.core.instance import Instance
from spmopt.core.objective import MAKESPAN, REPLAY
from spmopt.core.result import Certificate
from spmopt.verifier import bound, verify
from tests.tiny import Op, tiny
from tests.verifier.random_plans import random_schedule
from tests.verifier.test_bound import random_prices

MIXED = replace(REPLAY, name="mixed", dram_in_byte=Fraction(1, 3), dram_out_byte=Fraction(2, 7))


def random_certificate(
    instance: Instance, generator: np.random.Generator, objective: object = REPLAY
) -> Certificate:
    """Legal prices, of starts too."""
    weighed = MIXED if objective is MIXED else REPLAY
    of_steps = random_prices(instance, weighed, generator)
    share = generator.random(of_steps.spm.size) * generator.integers(0, 2, of_steps.spm.size)
    at_start = (of_steps.spm * share).astype(np.int64)
    moved = of_steps.spm - at_start if generator.random() < 0.5 else of_steps.spm
    return replace(of_steps, spm=moved, spm_at_start=at_start)


@settings(max_examples=600, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), duplex=st.booleans(), mixed=st.booleans())
def test_no_legal_schedule_replays_in_less(seed: int, duplex: bool, mixed: bool) -> None:
    instance, schedule = random_schedule(
        seed, max_operations=7, max_modes=2, duplex=duplex, setup=seed % 3 == 0
    )
    totals = verify(instance, schedule).totals
    assert totals is not None
    generator = np.random.default_rng(seed)
    objective = MIXED if mixed else REPLAY
    for _ in range(4):
        certificate = random_certificate(instance, generator, objective)
        assert bound(instance, certificate) <= totals.value(objective)


def swap(spm: int = 8) -> Instance:
    """A dirty tensor of the whole scratchpad leaves while an operation computes, another comes."""
    return tiny(
        {"a": (4, "keep"), "b": (4, "in"), "c": (4, "in")},
        [Op(writes="a", cycles=0), Op(reads="c", cycles=8), Op(reads="b", cycles=0)],
        spm=spm,
    )


def prices_of(instance: Instance, start: list[int], end: list[int], move: list[int]) -> Certificate:
    """Prices in halves of a cycle."""
    columns = (np.array(each, np.int64) for each in (end, move, move))
    spm, dram_in, dram_out = columns
    return Certificate(
        objective=REPLAY,
        bits=1,
        spm=spm,
        dram_in=dram_in,
        dram_out=dram_out,
        spm_at_start=np.array(start, np.int64),
    )


def test_by_hand() -> None:
    """8 cycles of computing; 12 bytes move at a byte a cycle, 8 of them while it computes.

    At half a cycle for a byte that moves in the second step, and one at all other times, bytes
    move for 4 x 1/2 each, while computing costs 8 x 1/2: 10 in all. At one cycle a byte
    everywhere: 12.
    """
    instance = swap()
    assert bound(instance, prices_of(instance, [0] * 3, [0] * 3, [2, 1, 2])) == 10
    assert bound(instance, prices_of(instance, [0] * 3, [0] * 3, [2, 2, 2])) == 12
    # A byte held when the second operation starts pays 1, and the room costs 8: less.
    held = bound(instance, prices_of(instance, [0, 2, 0], [0] * 3, [2, 2, 2]))
    assert held == 12 - 8


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"objective": MAKESPAN}, "nothing but for the replay"),
        ({"spm_at_start": np.array([1, 2], np.int64)}, "needs 3 prices"),
        ({"spm_at_start": np.array([1, -2, 0], np.int64)}, "none negative"),
        ({"dram_in": np.array([3, 0, 0]), "dram_out": np.array([3, 0, 0])}, "exceed the price"),
        ({"spm_at_start": np.array([2**60, 0, 0], np.int64)}, "too large"),
    ],
)
def test_refused(change: dict[str, object], said: str) -> None:
    instance = swap()
    legal = prices_of(instance, [0] * 3, [0] * 3, [1, 1, 1])
    with pytest.raises(InputError, match=said):
        bound(instance, replace(legal, **change))  # type: ignore[arg-type]
