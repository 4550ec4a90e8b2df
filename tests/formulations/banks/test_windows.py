"""Dual values window by window: they prove the verdict of the verifier, never less than before."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from formulations.residency.banks import relaxation as relaxing
from formulations.residency.banks import windows as windowed
from formulations.residency.banks.cells import Boundary
from formulations.residency.banks.duals import BankMultipliers, certificate
from formulations.residency.banks.facts import BankCoefficients
from formulations.residency.banks.first_fit import first_fit
from formulations.residency.banks.layout import bank_rows
from formulations.residency.banks.paths import Paths, ends
from formulations.residency.banks.relaxation import Relaxation
from formulations.residency.banks.windows import Windows
from formulations.residency.bound.ranked import RankedIntervals
from formulations.residency.pages.profiles import Profiles
from spmopt.assemble import assemble
from spmopt.core.objective import Objective, objective_named
from spmopt.core.problem import Problem
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints
from spmopt.core.timeline import fitting_timeline, relax_timeline
from spmopt.verifier import bound, verify
from tests.banked import banked
from tests.thorough import share, some

NEAR = 1e-6


@pytest.fixture(autouse=True)
def _short_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windowed, "_CELLS", 60)


@pytest.fixture
def _all_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relaxing, "_MOST_STATES", -1)


def case(seed: int) -> tuple[Problem, Objective, BankCoefficients]:
    problem = banked(
        seed,
        banks=2 + seed % 2,
        ports=seed % 2 == 0,
        duplex=True,
        max_operations=16,
        max_tensors=7,
    )
    objective = objective_named(("time", "energy", "traffic")[seed % 3], problem.machine)
    facts = BankCoefficients(problem, relax_timeline(problem), objective, relaxed=True)
    return problem, objective, facts


def random_duals(facts: BankCoefficients, seed: int) -> BankMultipliers:
    generator = np.random.default_rng(seed)
    shape = (facts.bank_count, facts.line.steps)
    return BankMultipliers.legal(
        facts,
        hold=generator.random(shape) * facts.byte_dual / 4,
        load=generator.random(shape[1]) * facts.byte_time,
        store=generator.random(shape[1]) * facts.byte_time,
        port=generator.random(shape) * facts.byte_time,
    )


@pytest.mark.parametrize("seed", some(range(25), 2))
def test_a_walk_proves_what_the_table_of_all_states_does(seed: int) -> None:
    _, _, facts = case(seed)
    duals, windows = random_duals(facts, seed), Windows(facts)
    table = Paths(facts, duals)
    walk = windows.walk(duals, list(range(1, facts.line.steps)))
    assert walk.bound == pytest.approx(table.bound, rel=1e-9, abs=1e-25)
    spans = windows.spans
    for step, back in walk.back.items():
        through = spans.tensor[(spans.begin <= step) & (spans.end >= step)]
        assert np.allclose(back[:, through], table.back[step][:, through], rtol=1e-9, atol=1e-25)


@pytest.mark.parametrize("seed", some(range(25), 2))
def test_windows_add_up_to_what_all_duals_prove(seed: int) -> None:
    """Each window says so of all steps, less what is fixed of the others."""
    _, _, facts = case(seed)
    duals, windows = random_duals(facts, seed), Windows(facts)
    whole, end = Paths(facts, duals), ends(facts)
    boundaries = windows.boundaries(0.0)
    back = windows.walk(duals, boundaries).back
    for begin, stop in pairwise(boundaries):
        boundary = Boundary(whole.ahead[begin], back.get(stop, end.back))
        window = windowed._Window(facts, windows.spans, (begin, stop), boundary)
        own = Paths(window._facts, duals.within(begin, stop), window._boundary)
        assert np.allclose(own.ahead[-1], whole.ahead[stop][:, window.own], atol=1e-25)
        assert np.allclose(own.back[0], whole.back[begin][:, window.own], atol=1e-25)


@pytest.mark.parametrize("seed", some(range(25)))
def test_sweeps_never_lose_and_end_at_most_at_the_whole_program(seed: int) -> None:
    problem, objective, facts = case(seed)
    request = Request(objective=objective)
    whole = Relaxation(problem, request, fitting_timeline(problem))
    whole.run(request)
    windows, duals = Windows(facts), random_duals(facts, seed)
    values = [windows.walk(duals, []).bound]
    for number in some(range(4)):
        duals, _ = windows.sweep(duals, request, facts.byte_dual, number % 2 / 2)
        values.append(windows.walk(duals, []).bound)
        assert values[-1] >= values[-2] - 1e-9 * abs(values[-2])
    assert values[-1] <= whole.bound * (1 + NEAR) + 1e-20
    if len(windows.boundaries(0.0)) == 2:
        assert values[-1] == pytest.approx(whole.bound, rel=1e-5, abs=1e-20)
    proved = float(bound(problem, certificate(problem, objective, facts, duals)))
    assert proved == pytest.approx(values[-1], rel=NEAR, abs=1e-20)


@pytest.mark.usefixtures("_all_large")
def test_windows_are_rounded_to_legal_plans() -> None:
    several = made = 0
    for seed in some(range(40)):
        problem, objective, facts = case(seed)
        request, line = Request(objective=objective), fitting_timeline(problem)
        residency_plan = Relaxation(problem, request, line).run(request)
        if residency_plan is None:
            continue
        own = BankCoefficients(problem, line, objective, relaxed=False)
        banked_residency_plan = replace(
            residency_plan, banks=bank_rows(first_fit(own, residency_plan))
        )
        assert verify(problem, assemble(problem, banked_residency_plan)).legal, seed
        made, several = made + 1, several + (len(Windows(facts).boundaries(0.0)) > 2)
    assert made >= share(30)
    assert several >= share(10)


@pytest.mark.usefixtures("_all_large")
def test_without_time_no_window_is_solved() -> None:
    problem, objective, _ = case(3)
    request = Request(objective=objective, time_limit_s=0.0)
    late = Relaxation(problem, request, fitting_timeline(problem))
    before = late.bound
    assert late.run(request) is None
    assert late.cut_short
    assert late.bound == before


def test_joined_windows_have_every_access_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that a window ends with gives way to the access with which the next one begins."""
    make, seen = relaxing._profile, list[tuple[list[int], ...]]()

    def noted(intervals: RankedIntervals, rows: Any, access: Ints) -> Profiles:
        seen.append((rows.tensor.tolist(), rows.step.tolist(), rows.access.tolist()))
        return make(intervals, rows, access)

    monkeypatch.setattr(relaxing, "_profile", noted)
    most = relaxing._MOST_STATES
    for seed in some(range(24), 3):
        problem, objective, _ = case(seed)
        request = Request(objective=objective)
        seen.clear()
        for limit in (most, -1):
            monkeypatch.setattr(relaxing, "_MOST_STATES", limit)
            Relaxation(problem, request, fitting_timeline(problem)).run(request)
        whole, *joined = ([row for row in zip(*each, strict=True) if row[2] >= 0] for each in seen)
        assert joined
        assert all(each == whole for each in joined), seed
        for tensor, step, _ in seen:
            places = list(zip(tensor, step, strict=True))
            assert places == sorted(set(places)), seed
