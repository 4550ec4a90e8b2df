"""Every family of constraints matters: without it, some schedule is wrong or too good."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from formulations.joint.schedule import JointSettings
from spmopt.core.errors import SpmoptError
from spmopt.core.problem import Problem
from tests.formulations.joint.solved import replayed, solved
from tests.strategies import random_problem

SEEDS: dict[str, tuple[int, ...]] = {
    "positions": (0,),
    "order": (0,),
    "mappings": (0,),
    "computation": (0,),
    "membership": (84, 103),
    "coverage": (0, 8, 10),
    "separation": (20, 26, 33),
    "issue": (5,),
    "needed_stores": (0,),
    "issued_stores": (0,),
    "streams": (0,),
    "loads": (5,),
    "stores": (0,),
    "dram_order": (118, 306, 337, 845),
    "one_at_a_time": (0,),
    "queue": (32, 99, 100, 151),
    "addresses": (24,),
    "claims": (24,),
    "reuse": (24,),
}
"""Problems of which one or more show it: which optimum the solver meets first may change."""
IMPLIED = ("capacity", "shares", "contiguity", "kept_through", "stored_or_together")
ALL = ("makespan", *SEEDS, *IMPLIED)


def _problem(seed: int) -> Problem:
    return random_problem(
        seed,
        max_operations=4,
        max_tensors=4,
        max_tensor_pages=2,
        max_mappings=1 + seed % 2,
        duplex=True,
        setup=True,
    )


@cache
def _cycles(seed: int) -> int:
    return solved(_problem(seed)).cycles


def _is_wrong(seed: int, family: str) -> bool:
    """Whether the model without a family breaks down, errs about a replay, or promises more."""
    problem = _problem(seed)
    try:
        best = solved(problem, JointSettings(threads=1, without=(family, *IMPLIED)))
    except (SpmoptError, ValueError):
        return True
    too_good = best.cycles < _cycles(seed)
    return too_good or replayed(problem, best.schedule) != best.cycles


@pytest.mark.parametrize("family", SEEDS)
def test_without_it_the_model_is_wrong(family: str) -> None:
    assert any(_is_wrong(seed, family) for seed in SEEDS[family])


@pytest.mark.parametrize("seed", [0, 5, 24, 33, 84])
def test_without_implied_rows_the_optimum_is_the_same(seed: int) -> None:
    best = solved(_problem(seed), JointSettings(threads=1, without=IMPLIED))
    assert best.cycles == _cycles(seed) == replayed(_problem(seed), best.schedule)


@pytest.mark.parametrize(
    ("seed", "families"), [(48, ("capacity", "kept_through")), (24, ("crowding",))]
)
def test_without_addresses_pages_are_counted_in_steps_and_in_time(
    seed: int, families: tuple[str, ...]
) -> None:
    problem = _problem(seed)
    paged = solved(problem, JointSettings(threads=1, paged=True)).cycles
    loose = solved(problem, JointSettings(threads=1, paged=True, without=families)).cycles
    assert loose < paged <= _cycles(seed)


def test_every_family_is_tried_and_explained() -> None:
    """The tables here and in the README name the functions of the package, all of them."""
    folder = Path(__file__).parents[3] / "formulations" / "joint"
    built = set()
    for path in folder.glob("*_rows.py"):
        built |= set(re.findall(r"^def ([a-z]\w*)\(", path.read_text(), re.MULTILINE))
    explained = set(re.findall(r"`\w+_rows\.([a-z]\w*)`", (folder / "README.md").read_text()))
    assert built == explained == {*ALL, "crowding"}
