"""The search step by step against the exact reference; plans of one bank are never better."""

import time
from dataclasses import replace
from itertools import accumulate, pairwise

import pytest

from formulations.residency.banks import labels
from formulations.residency.banks.choices import Layouts
from formulations.residency.banks.labels import cheapest, is_small
from formulations.residency.banks.relaxation import Relaxation
from formulations.residency.banks.schedule import merge
from formulations.residency.banks.value import residency_plan_value
from spmopt.assemble import assemble
from spmopt.core.objective import Objective
from spmopt.core.problem import Problem
from spmopt.core.scheduler import Request
from spmopt.core.timeline import fitting_timeline
from spmopt.solving import solve
from spmopt.verifier import require_legal
from tests.banked import banked
from tests.formulations.banks.campaign import references
from tests.formulations.banks.cases import campaign_case
from tests.thorough import share, some

SEEDS = [seed for seed, known in enumerate(references()[:60]) if known.optimum is not None]


def searched(problem: Problem, objective: Objective, below: float) -> Relaxation:
    request = Request(objective=objective, threads=1)
    relaxation = Relaxation(problem, request, fitting_timeline(problem))
    relaxation.run(request)
    return relaxation


@pytest.mark.parametrize("seed", SEEDS)
def test_it_finds_the_optimum_and_nothing_below(seed: int) -> None:
    problem, objective = campaign_case(seed)
    best = references()[seed].optimum
    assert best is not None
    request = Request(objective=objective, threads=1)
    duals = searched(problem, objective, 0.0).duals
    residency_plan = cheapest(problem, request, duals, 2 * float(best) + 1e-15)
    assert residency_plan is not None
    totals = require_legal(problem, assemble(problem, residency_plan)).totals
    assert totals is not None
    assert (
        totals.value(objective) == residency_plan_value(problem, residency_plan, objective) == best
    )
    assert cheapest(problem, request, duals, float(best)) is None


def test_few_labels_give_a_legal_schedule_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labels, "_LABELS", 3)
    monkeypatch.setattr(labels, "_ROWS", 10)
    found = missed = 0
    for seed in SEEDS[:30]:
        problem, objective = campaign_case(seed)
        known = references()[seed]
        assert known.optimum is not None
        request = Request(objective=objective, threads=1)
        duals = searched(problem, objective, 0.0).duals
        residency_plan = cheapest(problem, request, duals, 2 * float(known.random) + 1e-15)
        if residency_plan is None:
            continue
        totals = require_legal(problem, assemble(problem, residency_plan)).totals
        assert totals is not None
        assert totals.value(objective) >= known.optimum
        found, missed = found + 1, missed + (totals.value(objective) > known.optimum)
    assert found >= 15
    assert missed >= 1


@pytest.mark.parametrize("banks", [2, 3])
def test_many_pages_lie_in_two_runs_at_most(banks: int) -> None:
    machine = banked(3, banks=2, page_bytes=4).machine
    bank = machine.banks[0]
    machine = replace(machine, spm_bytes=banks * bank.spm_bytes, banks=(bank,) * banks)
    page = machine.page_bytes
    for pages in range(1, 9):
        found = Layouts(pages * page - 1, machine, by_page=False)
        assert len(set(found.banks)) == len(found.banks) <= 80
        assert max(map(len, found.banks)) == pages
        assert () in found.banks
        assert all((own,) * pages in found.banks for own in range(banks))
        assert (len(found.banks) * found.levels.size) ** 2 <= 2_000_000
        assert found.levels[-1] == pages * page - 1
        if sum(banks**resident for resident in range(pages + 1)) > 64:
            assert max(sum(a != b for a, b in pairwise(each)) for each in found.banks) == 1


def test_it_is_for_few_tensors_of_few_pages_and_ends_in_time() -> None:
    problem, objective = campaign_case(0)
    assert is_small(problem)
    tensor = replace(problem.tensors[0], size_bytes=9 * problem.machine.page_bytes)
    assert not is_small(replace(problem, tensors=(tensor, *problem.tensors[1:])))
    duals = searched(problem, objective, 0.0).duals
    late = Request(objective=objective, time_limit_s=0.0, started=time.monotonic() - 1)
    assert cheapest(problem, late, duals, 1.0) is None


def test_no_plan_of_one_bank_is_better() -> None:
    tried = better = 0
    for seed in some(range(16)):
        problem, objective = campaign_case(seed)
        edges = [0, *accumulate(problem.machine.bank_pages)]
        found = solve(problem, "banks", Request(objective=objective, threads=1))
        assert found.value is not None
        for bank, pages in enumerate(problem.machine.bank_pages):
            size = pages * problem.machine.page_bytes
            uniform = replace(problem.machine, spm_bytes=size, banks=())
            weights = merge(objective, problem.machine.banks)
            alone = replace(problem, machine=uniform)
            own = solve(alone, "residency", Request(objective=weights, threads=1)).schedule
            if own is None:
                continue
            places = replace(own.placements, spm_page=own.placements.spm_page + edges[bank])
            totals = require_legal(problem, replace(own, placements=places)).totals
            assert totals is not None
            assert found.value <= totals.value(objective), (seed, bank)
            tried, better = tried + 1, better + (found.value < totals.value(objective))
    assert tried >= share(16)
    assert better >= share(8)
