"""Windows of steps decided anew: legal, never worse, and of fewer commands where these cost."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pytest

from formulations.residency import page
from formulations.residency.plain import windows as plain
from formulations.residency.tensors import schedule as whole_tensors
from spmopt.assemble import assemble
from spmopt.core.objective import MAKESPAN, REPLAY, Objective
from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.schedule import Residency, ResidencyPlan, Steps, Stores
from spmopt.core.scheduler import Incumbent, Request
from spmopt.core.timeline import timeline
from spmopt.solving import compare, solve
from spmopt.solving.case import Case
from spmopt.solving.runs import place_in_time
from tests.checked import need, totals_of
from tests.instances import golden
from tests.solving.fakes import exact
from tests.thorough import nightly, share, some
from tests.tiny import Op, tiny
from tests.verifier.random_plans import random_case

FEATURES: dict[str, Any] = {
    "max_operations": 8,
    "max_tensors": 6,
    "duplex": True,
    "setup": True,
}


def request(**options: object) -> Request:
    """Return a request that only counted work ends, whatever else the machine does."""
    return replace(Request(objective=MAKESPAN, threads=1, time_limit_s=inf), **options)  # type: ignore[arg-type]


def verified(
    problem: Problem, residency_plan: ResidencyPlan | None, objective: Objective = MAKESPAN
) -> Result:
    assert residency_plan is not None
    schedule = assemble(problem, residency_plan)
    totals = totals_of(problem, schedule)
    return Result(
        origin="test",
        residency_plan=residency_plan,
        schedule=schedule,
        totals=totals,
        value=totals.value(objective),
        verified=True,
    )


def improved(problem: Problem, residency_plan: ResidencyPlan, asked: Request) -> Result:
    line = timeline(problem, residency_plan.steps)
    return verified(problem, plain.improve(problem, asked, line, residency_plan))


def test_problems_of_too_many_cells_are_left_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Laying out the cells of a large problem would take longer than the limit, and all memory."""
    problem, residency_plan = random_case(0, **FEATURES)
    line = timeline(problem, residency_plan.steps)
    for asked, most in (request(), 0), (request(work_end=1e-9), 10**7):
        monkeypatch.setattr(plain, "_MOST_CELLS", most)
        assert plain.improve(problem, asked, line, residency_plan) is residency_plan
        assert not asked.work.seconds


def test_random_plans_get_no_worse_and_stay_legal() -> None:
    better = 0
    for seed in some(range(12)):
        problem, residency_plan = random_case(seed, **FEATURES)
        start = verified(problem, residency_plan)
        best = improved(problem, residency_plan, request().phase(2.0))
        assert exact(best) <= exact(start)
        better += exact(best) < exact(start)
    assert better >= share(8)


def merged(setup: int) -> tuple[Problem, ResidencyPlan]:
    """A tensor that comes in two commands, a page each, where one would do."""
    problem = tiny(
        {"w": (8, "in"), "x": (4, "in"), "y": (4, "keep"), "z": (4, "keep")},
        [Op(reads="x", writes="y", cycles=4), Op(reads="w", writes="z", cycles=4)],
        spm=20,
        dma_setup_cycles=setup,
    )
    rows = [(0, 0, 1, 4), (0, 1, 2, 8)]
    return problem, ResidencyPlan(
        steps=Steps.listed(np.zeros(2, np.int64)),
        residency=Residency.of_rows(rows),
        stores=Stores.empty(),
    )


@pytest.mark.parametrize("setup", [0, 50])
def test_commands_are_merged_where_each_costs(setup: int) -> None:
    """Streams of x, y and z, 4 cycles each, and 8 of w, in one command if that saves anything."""
    best = improved(*merged(setup), request().phase(2.0))
    assert best.value == 4 * setup + 20
    assert len(need(best.schedule).commands) == (4 if setup else 5)


def test_no_time_or_told_to_stop() -> None:
    problem, residency_plan = merged(50)
    line = timeline(problem, residency_plan.steps)
    for asked in (request(time_limit_s=0.0), request(stop=lambda: True)):
        assert plain.improve(problem, asked, line, residency_plan) is residency_plan


def with_setup(cycles: int, name: str = "residual") -> Problem:
    problem = golden.problem(name)
    return replace(problem, machine=replace(problem.machine, dma_setup_cycles=cycles))


@nightly
def test_joint_is_no_worse_where_commands_cost() -> None:
    """``page`` merges them with barriers between steps."""
    asked = request(objective=REPLAY, time_limit_s=5.0)
    paged, joint = compare(with_setup(300), ["residency", "joint"], asked)
    assert need(joint.totals).replay_cycles <= need(paged.totals).replay_cycles


def test_addresses_are_chosen_for_the_replay_where_that_is_sooner() -> None:
    sooner = 0
    for seed in some(range(40), 2):
        problem, residency_plan = random_case(seed, **{**FEATURES, "max_operations": 12})
        start = verified(problem, residency_plan, REPLAY)
        case = Case(problem, request(objective=REPLAY))
        best = place_in_time(case, start)
        assert totals_of(problem, need(best.schedule)).value(REPLAY) == exact(best) <= exact(start)
        sooner += exact(best) < exact(start)
    assert sooner


def test_whole_tensors_stay_whole() -> None:
    """Where the program that keeps them counts no commands."""
    problem = with_setup(300, "mlp")
    asked = request(time_limit_s=15.0, tolerance=5e-2)
    own = verified(problem, whole_tensors(problem, asked).residency_plan)
    found = solve(problem, "residency:granularity=tensor", asked)
    held = need(found.schedule).residency
    sizes = np.array([tensor.size_bytes for tensor in problem.tensors])
    assert need(found.value) <= exact(own)
    assert (held.size_bytes == sizes[held.tensor]).all()


@pytest.mark.parametrize("setup", some([300, 0]))
def test_page_merges_commands_where_each_costs(setup: int) -> None:
    """The linear program behind it counts bytes, and knows nothing of the set-up."""
    problem, news = with_setup(setup), list[Incumbent]()
    asked = request(time_limit_s=5.0, tolerance=2e-2)
    by_bytes = verified(problem, page.round_values(problem, asked).residency_plan)
    asked = replace(asked, on_incumbent=news.append)
    found = [
        solve(problem, "residency", replace(asked, threads=threads)) for threads in some((1, 2))
    ]
    assert found[0].schedule == found[-1].schedule
    assert {each.scheduler for each in news} == {"residency"}
    assert need(found[0].bound) <= need(found[0].value) <= exact(by_bytes) * (0.97 if setup else 1)


def test_page_merges_commands_of_tiny_problems_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the integer program of all of it is not through in time."""
    problem, asked = with_setup(300), request(time_limit_s=5.0)
    by_bytes = verified(problem, page.round_values(problem, asked).residency_plan)
    monkeypatch.setattr("formulations.residency.plain.search.page_optimum", lambda *asked: None)
    found = verified(problem, page.schedule(problem, asked).residency_plan)
    assert exact(found) <= exact(by_bytes) * 0.97
