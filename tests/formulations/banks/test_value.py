"""The exact value of a plan with banks is the verifier's; banks by first fit are always legal."""

from dataclasses import replace
from itertools import accumulate

import numpy as np
import pytest

from formulations.residency.banks.schedule import first_fit
from formulations.residency.banks.value import residency_plan_value
from spmopt.assemble import assemble
from spmopt.core.problem import Problem
from spmopt.core.schedule import BankRows, Schedule
from tests.checked import totals_of
from tests.formulations.banks.cases import campaign_case
from tests.thorough import some
from tests.verifier.random_banks import shuffled
from tests.verifier.random_plans import random_residency_plan


def banks_of(problem: Problem, schedule: Schedule) -> BankRows:
    """The bank of each page, by its address."""
    edges = list(accumulate(problem.machine.bank_pages))
    rows = [
        (tensor, page, pages, int(np.searchsorted(edges, address, side="right")), begin, end)
        for tensor, page, pages, address, begin, end in schedule.placements.rows()
    ]
    return BankRows.of_rows(rows)


@pytest.mark.parametrize("seed", some(range(60)))
def test_it_is_the_verifiers(seed: int) -> None:
    problem, objective = campaign_case(seed)
    generator = np.random.default_rng(seed)
    residency_plan = random_residency_plan(problem, generator, False)
    schedule = shuffled(problem, assemble(problem, residency_plan), generator)
    totals = totals_of(problem, schedule)
    banked = replace(residency_plan, banks=banks_of(problem, schedule))
    assert residency_plan_value(problem, banked, objective) == totals.value(objective)


@pytest.mark.parametrize("seed", some(range(60)))
def test_there_is_always_room_without_a_move(seed: int) -> None:
    problem, objective = campaign_case(seed)
    residency_plan = random_residency_plan(problem, np.random.default_rng(seed), False)
    banked = replace(residency_plan, banks=first_fit(problem, residency_plan))
    totals = totals_of(problem, banked)
    assert totals.moved_bytes == 0
    assert residency_plan_value(problem, banked, objective) == totals.value(objective)
