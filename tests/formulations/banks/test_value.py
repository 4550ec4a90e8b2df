"""The exact value of a plan with banks is the verifier's; banks by first fit are always legal."""

from dataclasses import replace
from itertools import accumulate

import numpy as np
import pytest

from formulations.residency.banks.facts import BankCoefficients
from formulations.residency.banks.first_fit import all_in, first_fit
from formulations.residency.banks.layout import bank_rows
from formulations.residency.banks.value import plan_value
from spmopt.assemble import assemble
from spmopt.core.instance import Instance
from spmopt.core.schedule import BankRows, Plan, Schedule
from spmopt.core.timeline import timeline
from spmopt.verifier import require_legal
from tests.formulations.banks.cases import campaign_case
from tests.verifier.random_banks import shuffled
from tests.verifier.random_plans import random_plan


def banks_of(instance: Instance, schedule: Schedule) -> BankRows:
    """The bank of each page, by its address."""
    edges = list(accumulate(instance.machine.bank_pages))
    rows = [
        (tensor, page, pages, int(np.searchsorted(edges, address, side="right")), begin, end)
        for tensor, page, pages, address, begin, end in schedule.placements.rows()
    ]
    return BankRows.of_rows(rows)


@pytest.mark.parametrize("seed", range(60))
def test_it_is_the_verifiers(seed: int) -> None:
    instance, objective = campaign_case(seed)
    generator = np.random.default_rng(seed)
    plan = random_plan(instance, generator, False)
    schedule = shuffled(instance, assemble(instance, plan), generator)
    totals = require_legal(instance, schedule).totals
    assert totals is not None
    banked = replace(plan, banks=banks_of(instance, schedule))
    assert plan_value(instance, banked, objective) == totals.value(objective)


def _facts(seed: int) -> tuple[Instance, Plan, BankCoefficients]:
    instance, objective = campaign_case(seed)
    plan = random_plan(instance, np.random.default_rng(seed), False)
    line = timeline(instance, plan.steps)
    return instance, plan, BankCoefficients(instance, line, objective, relaxed=False)


@pytest.mark.parametrize("seed", range(60))
def test_there_is_always_room_without_a_move(seed: int) -> None:
    instance, plan, facts = _facts(seed)
    banked = replace(plan, banks=bank_rows(first_fit(facts, plan)))
    totals = require_legal(instance, assemble(instance, banked)).totals
    assert totals is not None
    assert totals.moved_bytes == 0


def test_all_in_one_bank_touches_no_other() -> None:
    tried = 0
    for seed in range(80):
        instance, plan, facts = _facts(seed)
        for bank, pages in enumerate(instance.machine.bank_pages):
            chosen = all_in(facts, plan, bank)
            used = np.bincount(plan.steps.operation, minlength=facts.line.steps) * 0
            for _, begin, end, size in plan.residency.rows():
                used[begin:end] += -(-size // instance.machine.page_bytes)
            if (used + chosen.scratch.sum(axis=1)).max() > pages or bank == 0:
                continue
            banked = replace(plan, banks=bank_rows(chosen))
            totals = require_legal(instance, assemble(instance, banked)).totals
            assert totals is not None
            others = [k for k in range(1, facts.bank_count) if k != bank]
            assert all(totals.bank_read_bytes[k] == totals.bank_write_bytes[k] == 0 for k in others)
            assert totals.moved_bytes == 0
            tried += 1
    assert tried >= 8
