"""The exact reference against the other one, the verifier, and random legal schedules."""

from fractions import Fraction

import numpy as np
import pytest

from spmopt.assemble import assemble
from spmopt.verifier import require_legal
from tests.formulations.banks.brute_force import optimum
from tests.formulations.banks.cases import campaign_case
from tests.formulations.banks.exact import TooLargeError, exact
from tests.formulations.banks.test_optimum import case
from tests.thorough import share, some
from tests.verifier.random_banks import random_banked


@pytest.mark.parametrize(("name", "ports"), [("energy", False), ("energy", True), ("time", True)])
def test_two_references_agree(name: str, ports: bool) -> None:
    for seed in range(100, 115):
        problem, objective = case(seed, name, ports=ports)
        one, other = exact(problem, objective), optimum(problem, objective)
        assert one is not None
        assert other is not None
        assert one.value == other.value, seed


def test_no_random_schedule_is_below_it_and_its_own_has_its_value() -> None:
    reached = several = ragged = 0
    for seed in some(range(40)):
        problem, objective = campaign_case(seed)
        generator = np.random.default_rng(seed)
        try:
            best = exact(problem, objective)
        except TooLargeError:
            continue
        assert best is not None
        totals = require_legal(problem, assemble(problem, best.residency_plan)).totals
        assert totals is not None
        assert totals.value(objective) == best.value, seed
        values = []
        for _ in range(10):
            random = require_legal(problem, random_banked(problem, generator)).totals
            assert random is not None
            values.append(random.value(objective))
        assert min(values) >= best.value, seed
        reached += min(values) == best.value
        several += problem.several_mappings
        page = problem.machine.page_bytes
        ragged += any(tensor.size_bytes % page for tensor in problem.tensors)
    assert reached >= 5
    assert several >= share(5)
    assert ragged >= share(5)


def test_what_is_above_a_known_value_is_not_followed() -> None:
    problem, objective = campaign_case(1)
    best = exact(problem, objective)
    assert best is not None
    again = exact(problem, objective, at_most=best.value)
    assert again is not None
    assert again.value == best.value
    assert exact(problem, objective, at_most=best.value - Fraction(1, 10**18)) is None
