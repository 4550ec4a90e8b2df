"""Windows of steps decided anew: legal, never worse, always the same, and better where can be."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pytest

import spmopt
from formulations.residency import page
from formulations.residency.tensors import schedule as whole_tensors
from spmopt import load, lower, machine
from spmopt.assemble import assemble
from spmopt.core.mappings import SEVERAL_MAPPINGS
from spmopt.core.objective import MAKESPAN, REPLAY, Objective
from spmopt.core.order import dependences
from spmopt.core.problem import Problem
from spmopt.core.result import LEFT_OUT, WHOLE_TENSORS, ClassBound, Result
from spmopt.core.schedule import Residency, ResidencyPlan, Schedule, Steps, Stores
from spmopt.core.scheduler import Incumbent, Request
from spmopt.core.window import WindowDecision
from spmopt.solving import SolveParams, compare, solve
from spmopt.solving.barriers import BY_WINDOWS, NOTHING_BETTER
from spmopt.solving.checked_calls import CheckedCalls
from spmopt.solving.window_cut import Cut, WindowCutter, schedule_all
from spmopt.solving.windows import (
    decide_residency,
    improve_in_windows,
    with_merged_commands,
)
from tests.checked import need, totals_of
from tests.instances import golden
from tests.solving.fakes import exact
from tests.thorough import nightly, share, some
from tests.tiny import Op, tiny
from tests.verifier.random_plans import random_case

FEATURES: dict[str, Any] = {
    "max_operations": 8,
    "max_tensors": 6,
    "max_mappings": 2,
    "duplex": True,
    "setup": True,
}
WORK_S = 2.0


def request(**options: object) -> Request:
    """Return a request that only counted work ends, whatever else the machine does."""
    return replace(Request(objective=REPLAY, threads=1, time_limit_s=inf), **options)  # type: ignore[arg-type]


def verified(
    problem: Problem, residency_plan: ResidencyPlan | None, objective: Objective = REPLAY
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


def schedule_of(result: Result) -> Schedule:
    assert result.schedule is not None
    return result.schedule


def cutter(problem: Problem, residency_plan: ResidencyPlan) -> WindowCutter:
    return WindowCutter(
        problem, residency_plan, schedule_all(problem, residency_plan), dependences(problem)
    )


def test_random_plans_get_no_worse_and_stay_legal() -> None:
    better = 0
    for seed in some(range(12)):
        problem, residency_plan = random_case(seed, free_order=seed % 2 == 0, **FEATURES)
        start = verified(problem, residency_plan)
        best = improve_in_windows(problem, start, request().phase(WORK_S))
        totals = totals_of(problem, schedule_of(best))
        assert totals.value(REPLAY) == exact(best) <= exact(start)
        better += exact(best) < exact(start)
    assert better >= share(8)


@pytest.mark.parametrize("seed", some(range(8), 2))
def test_a_decision_to_change_nothing_changes_nothing(seed: int) -> None:
    problem, residency_plan = random_case(
        seed, **FEATURES, page_bytes=1
    )  # where all is of whole pages
    cuts = cutter(problem, residency_plan)
    for first in range(len(residency_plan.steps)):
        cut = cuts.cut(first, 3, 2)
        found = cuts.apply(cut, as_it_is(cuts, cut))
        assert found.steps == residency_plan.steps
        assert found.residency == residency_plan.residency
        assert found.stores == residency_plan.stores


def as_it_is(cuts: WindowCutter, cut: Cut) -> WindowDecision:
    """Return what a window's steps do now, as a decision."""
    window, steps = cut.window, range(cut.window.steps)
    tensors = np.array(cut.tensors, np.int64)
    after = [cuts._valid(tensors, np.full_like(tensors, cut.first + p + 1)) for p in steps]
    return WindowDecision(
        operation=tuple(steps),
        mapping=window.mapping[: window.steps],
        held=tuple(each.held[1 : 1 + window.steps] for each in window.tensors),
        valid=tuple(tuple(int(column[t]) for column in after) for t in range(tensors.size)),
        stored=tuple(tuple(n > 0 for n in each.stored[: window.steps]) for each in window.tensors),
        cycles=0.0,
        work_s=0.0,
    )


@pytest.mark.parametrize("duplex", [False, True])
def test_the_replay_ends_no_later_than_a_window_says(duplex: bool) -> None:
    """Exactly, for the cycles of a page are whole here."""
    features = {**FEATURES, "duplex": duplex, "max_tensor_pages": 3, "whole_cycles": True}
    decided_windows = 0
    for seed in some(range(40), 3):
        problem, residency_plan = random_case(seed, **{**features, "max_operations": 6})
        if problem.machine.duplex != duplex:
            continue
        cuts = cutter(problem, residency_plan)
        cut = cuts.cut(0, len(residency_plan.steps), 0)
        decision = decide_residency(cut.window, 0.2)  # any is as good
        if decision is None:
            continue
        found = cuts.apply(cut, decision)
        totals = totals_of(problem, schedule_all(problem, found))
        assert totals.replay_cycles <= decision.cycles + 1e-9
        decided_windows += 1
    assert decided_windows >= share(10, 3)


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
    problem, residency_plan = merged(setup)
    best = improve_in_windows(problem, verified(problem, residency_plan), request().phase(WORK_S))
    assert best.value == 4 * setup + 20
    assert len(schedule_of(best).commands) == (4 if setup else 5)


def fork() -> Problem:
    """Two of three branches read what the first operation wrote, the third does not."""
    return tiny(
        {"a": (8, "in"), "b": (8, "in"), "p": (4, "keep"), "q": (4, "keep"), "r": (4, "keep")},
        [
            Op(reads="a", writes="p", cycles=1),
            Op(reads="b", writes="q", cycles=1),
            Op(reads="a", writes="r", cycles=1),
        ],
        spm=12,
    )


def test_order_is_decided_too() -> None:
    """Listed, a is read twice: 4 x 8 + 3 x 4 = 36 cycles; in another order once."""
    problem = fork()
    nothing = ResidencyPlan(
        steps=Steps.listed(np.zeros(3, np.int64)),
        residency=Residency.empty(),
        stores=Stores.empty(),
    )
    start = verified(problem, nothing)
    assert start.value == 36
    best = improve_in_windows(problem, start, request().phase(WORK_S))
    order = schedule_of(best).steps.operation.tolist()
    assert abs(order.index(0) - order.index(2)) == 1
    assert best.value == 28


def test_threads_and_the_clock_do_not_matter() -> None:
    problem, residency_plan = random_case(3, **{**FEATURES, "max_operations": 12})
    start = verified(problem, residency_plan)
    one, two = (
        improve_in_windows(problem, start, request(threads=threads).phase(WORK_S))
        for threads in (1, 2)
    )
    assert schedule_of(one).commands == schedule_of(two).commands
    assert schedule_of(one).placements == schedule_of(two).placements


def test_no_time_or_told_to_stop() -> None:
    problem, residency_plan = merged(50)
    start = verified(problem, residency_plan)
    assert improve_in_windows(problem, start, request(time_limit_s=0.0)) is start
    assert improve_in_windows(problem, start, request(stop=lambda: True)) is start


def test_what_replay_and_windows_do_not_know_is_left_alone() -> None:
    problem, residency_plan = merged(50)
    start = replace(verified(problem, residency_plan), residency_plan=None)
    assert improve_in_windows(problem, start, request()) is start


def with_setup(cycles: int) -> Problem:
    problem = golden.problem("residual")
    return replace(problem, machine=replace(problem.machine, dma_setup_cycles=cycles))


@nightly
def test_joint_is_no_worse_where_commands_cost() -> None:
    """``page`` merges them with barriers between steps, ``joint`` without."""
    paged, joint = compare(with_setup(300), ["residency", "joint"], request(time_limit_s=5.0))
    assert need(joint.totals).replay_cycles <= need(paged.totals).replay_cycles


def test_whole_tensors_stay_whole() -> None:
    """Where the program that keeps them counts no commands."""
    problem = with_setup(300)
    asked = request(objective=MAKESPAN, time_limit_s=20.0)
    own = verified(problem, whole_tensors(problem, asked).residency_plan, MAKESPAN)
    found = solve(problem, "residency:granularity=tensor", asked)
    assert BY_WINDOWS in found.notes
    held = need(found.schedule).residency
    sizes = np.array([tensor.size_bytes for tensor in problem.tensors])
    assert need(found.value) < exact(own)
    assert (held.size_bytes == sizes[held.tensor]).all()


@pytest.mark.parametrize("setup", [0, 300])
def test_page_merges_commands_where_each_costs(setup: int) -> None:
    """The program behind it counts bytes, and knows nothing of the set-up."""
    problem, news = with_setup(setup), list[Incumbent]()
    asked = request(objective=MAKESPAN, time_limit_s=20.0)
    by_bytes = verified(problem, page.schedule(problem, asked).residency_plan, MAKESPAN)
    asked = replace(asked, on_incumbent=news.append)
    found = [solve(problem, "residency", replace(asked, threads=threads)) for threads in (1, 2)]
    assert found[0].schedule == found[1].schedule
    assert {each.scheduler for each in news} == {"residency"}
    assert (BY_WINDOWS in found[0].notes) == (setup > 0)
    assert need(found[0].bound) <= need(found[0].value) <= exact(by_bytes) * (0.97 if setup else 1)


@nightly
def test_the_schedule_of_a_fusion_plan_is_of_few_commands_too() -> None:
    problem = lower(load("alexnet", batch=1), machine("rtx2080ti", spm="1MB", dma_setup=500))
    # Near enough for it to end long before its limit.
    found = spmopt.solve(problem, "fusion", time_limit=30.0, threads=1, tolerance=0.05)
    assert found.result.fused is not None
    assert BY_WINDOWS in found.result.notes


def commands(
    monkeypatch: pytest.MonkeyPatch, result: Result, spent_s: float
) -> tuple[Result, Request]:
    """Find a schedule of half the value, in other mappings; return what is asked for as well."""
    asked = list[Request]()
    mappings = replace(schedule_of(result).steps, mapping=schedule_of(result).steps.mapping + 1)
    schedule = replace(schedule_of(result), steps=mappings)

    def found(problem: Problem, start: Result, own: Request, *, whole: bool) -> Result:
        del problem, whole
        asked.append(own)
        return replace(start, schedule=schedule, value=exact(start) / 2)

    monkeypatch.setattr("spmopt.solving.windows.improve_in_windows", found)
    problem, _ = merged(50)
    calls = CheckedCalls(problem, request(objective=MAKESPAN, time_limit_s=60.0), SolveParams())
    return with_merged_commands(calls, result, spent_s), asked[0]


def result_of(notes: tuple[str, ...] = (), class_bound: ClassBound | None = None) -> Result:
    result = verified(*merged(50), MAKESPAN)
    return replace(result, scheduler="residency", class_bound=class_bound, notes=notes)


def test_what_is_counted_does_not_depend_on_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a result would, far below the time limit, where threads do what is counted sooner."""
    (_, soon), (_, late) = (commands(monkeypatch, result_of(), spent_s) for spent_s in (1.0, 55.0))
    assert soon.work_end == late.work_end == 60.0
    assert soon.remaining_s() > 30
    assert late.remaining_s() < 5


def test_what_no_longer_holds_of_a_schedule_is_not_said(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, residency_plan = merged(50)
    value = float(exact(verified(problem, residency_plan, MAKESPAN)))
    whole = ClassBound(value=value, holds_for=WHOLE_TENSORS, proved_by="test")
    of_old = (
        SEVERAL_MAPPINGS,
        NOTHING_BETTER.format("belady"),
        LEFT_OUT.format(what="the set-up of transfers", percent="69 %"),
    )
    found, _ = commands(monkeypatch, result_of((*of_old, "true"), whole), 0.0)
    assert found.notes == ("true", BY_WINDOWS)
    assert need(found).class_bound is None
