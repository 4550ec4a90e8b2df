"""The exact value of a plan with banks is the verifier's; banks by first fit are always legal."""

from dataclasses import replace
from itertools import accumulate

import numpy as np
import pytest

from formulations.residency.banks.facts import BankCoefficients
from formulations.residency.banks.first_fit import all_in, first_fit
from formulations.residency.banks.layout import bank_rows
from formulations.residency.banks.value import residency_plan_value
from spmopt.assemble import assemble
from spmopt.core.problem import Problem
from spmopt.core.schedule import BankRows, ResidencyPlan, Schedule
from spmopt.core.timeline import timeline
from spmopt.verifier import require_legal
from tests.formulations.banks.cases import campaign_case
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


@pytest.mark.parametrize("seed", range(60))
def test_it_is_the_verifiers(seed: int) -> None:
    problem, objective = campaign_case(seed)
    generator = np.random.default_rng(seed)
    residency_plan = random_residency_plan(problem, generator, False)
    schedule = shuffled(problem, assemble(problem, residency_plan), generator)
    totals = require_legal(problem, schedule).totals
    assert totals is not None
    banked = replace(residency_plan, banks=banks_of(problem, schedule))
    assert residency_plan_value(problem, banked, objective) == totals.value(objective)


def _facts(seed: int) -> tuple[Problem, ResidencyPlan, BankCoefficients]:
    problem, objective = campaign_case(seed)
    residency_plan = random_residency_plan(problem, np.random.default_rng(seed), False)
    line = timeline(problem, residency_plan.steps)
    return problem, residency_plan, BankCoefficients(problem, line, objective, relaxed=False)


@pytest.mark.parametrize("seed", range(60))
def test_there_is_always_room_without_a_move(seed: int) -> None:
    problem, residency_plan, facts = _facts(seed)
    banked = replace(residency_plan, banks=bank_rows(first_fit(facts, residency_plan)))
    totals = require_legal(problem, assemble(problem, banked)).totals
    assert totals is not None
    assert totals.moved_bytes == 0


def test_all_in_one_bank_touches_no_other() -> None:
    tried = 0
    for seed in range(80):
        problem, residency_plan, facts = _facts(seed)
        for bank, pages in enumerate(problem.machine.bank_pages):
            chosen = all_in(facts, residency_plan, bank)
            used = np.bincount(residency_plan.steps.operation, minlength=facts.line.steps) * 0
            for _, begin, end, size in residency_plan.residency.rows():
                used[begin:end] += -(-size // problem.machine.page_bytes)
            if (used + chosen.scratch.sum(axis=1)).max() > pages or bank == 0:
                continue
            banked = replace(residency_plan, banks=bank_rows(chosen))
            totals = require_legal(problem, assemble(problem, banked)).totals
            assert totals is not None
            others = [k for k in range(1, facts.bank_count) if k != bank]
            assert all(totals.bank_read_bytes[k] == totals.bank_write_bytes[k] == 0 for k in others)
            assert totals.moved_bytes == 0
            tried += 1
    assert tried >= 8
