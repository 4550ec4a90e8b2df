"""All states of residency: the optimum of small problems, as the brute force has it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.residency.states import schedule, work
from formulations.residency.states.duals import POINT, CostsToGo, StateDuals
from formulations.residency.states.facts import facts
from formulations.residency.states.layer import Layer
from formulations.residency.states.schedule import Enumerated, enumerate_all
from formulations.residency.states.search import StateSearch
from formulations.residency.states.work import Effort
from results.shared.ragged import KINDS, ragged_problem
from spmopt.core.objective import MAKESPAN, TRAFFIC, Objective, objective_named
from spmopt.core.problem import Problem
from spmopt.core.result import Status
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints
from spmopt.policies.static import stream
from spmopt.solving import solve
from tests.brute_force import optimum
from tests.checked import need, totals_of
from tests.formulations.priced import OBJECTIVES
from tests.formulations.small import SMALL, small_optimum
from tests.strategies import problems, random_problem
from tests.thorough import share, some
from tests.tiny import Op, tiny


def found(problem: Problem, objective: Objective = MAKESPAN, **request: Any) -> Enumerated:
    """What comes of it from the plan that keeps nothing; its plan is verified."""
    asked = Request(objective=objective, threads=1, tolerance=0.0, **request)
    residency_plan = need(stream(problem, asked).residency_plan)
    best = need(enumerate_all(problem, asked, residency_plan, None))
    totals = totals_of(problem, best.residency_plan)
    assert totals.value(objective) == best.value
    return best


@settings(max_examples=share(100), deadline=None)
@given(problems(**SMALL), st.sampled_from(OBJECTIVES))
def test_the_optimum_is_that_of_the_brute_force(problem: Problem, name: str) -> None:
    objective = objective_named(name, problem.machine)
    best = found(problem, objective)
    assert best.bound == best.value == small_optimum(problem, objective).value


RAGGED: dict[str, Any] = {
    **SMALL,
    "page_bytes": 3,
    "max_compute_cycles": 20,
    "required_resident": False,
}


def compared(seeds: Sequence[int], **features: Any) -> Iterator[tuple[int, Enumerated, Fraction]]:
    """Seeds, what comes of their problems, and the optimum where the brute force gets there."""
    for seed in seeds:
        problem = random_problem(seed, **features)
        try:
            best = optimum(problem, MAKESPAN)
        except ValueError:
            continue
        yield seed, found(problem), need(best).value


def test_stores_of_single_bytes_and_whole_cycles_are_exact() -> None:
    """Long steps hide stores in parts; of 2/3, 1.5 or 1/3 bytes a cycle each rounds differently."""
    done = 0
    for seed, mine, best in compared(some(range(120)), **RAGGED):
        assert (mine.bound, mine.value) == (best, best), seed
        done += 1
    assert done > share(60)


def test_searches_that_share_too_much_bound_from_below(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without narrow searches before, those of all states are left to find and prove all."""
    monkeypatch.setattr(schedule, "BEAMS", ())
    rough, steps = list[int](), StateSearch.rough

    def noted(own: StateSearch) -> list[int]:
        rough.extend(steps(own))
        return steps(own)

    monkeypatch.setattr(StateSearch, "rough", noted)
    for seed, mine, best in compared(some(range(120, 240), 4), **RAGGED):
        assert (mine.bound, mine.value) == (best, best), seed
    assert len(rough) >= share(20, 4)


def test_moves_are_looked_at_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "BEAMS", ())
    monkeypatch.setattr(work, "AT_ONCE", 400)
    chunks, one = list[int](), StateSearch._from

    def noted(own: StateSearch, step: int, layer: Layer, mapping: int, rows: Ints) -> Layer:
        chunks.append(rows.size)
        return one(own, step, layer, mapping, rows)

    monkeypatch.setattr(StateSearch, "_from", noted)
    for seed, mine, best in compared(some(range(240, 270)), **RAGGED):
        assert (mine.bound, mine.value) == (best, best), seed
    split = sum(after < before for before, after in itertools.pairwise(chunks))
    assert split > share(20)


def test_no_schedule_is_below_the_bound_where_bytes_rarely_end_with_cycles() -> None:
    """A page takes 6 to 14 cycles, whole bytes end with every 9th or 11th only."""
    exact = rounded = 0
    for seed in some(range(40)):
        problem = random_problem(seed, **{**RAGGED, "max_operations": 3})
        rate, clock = ((5, 9), (9, 11), (7, 10), (2, 9), (3, 11))[seed % 5]
        machine = replace(problem.machine, dram_bytes_per_s=rate, clock_hz=clock)
        problem = replace(problem, machine=machine)
        try:
            best = optimum(problem, MAKESPAN)
        except ValueError:
            continue
        assert best is not None
        mine = found(problem)
        if seed % 5 < 3:
            assert (mine.bound, mine.value) == (best.value, best.value), seed
            exact += 1
        else:
            assert mine.bound <= best.value <= mine.value, seed
            rounded += 1
    assert min(exact, rounded) > share(8)


@pytest.mark.parametrize("page_bytes", [4, 8])
def test_a_store_ends_inside_a_page_to_round_better(page_bytes: int) -> None:
    """5 bytes take 9 cycles and leave 27; a page of 4 bytes takes 8, and leaves 29."""
    operations = [Op(writes="y"), Op(reads="x", required_resident="x"), Op(cycles=10)]
    size = 5 * page_bytes
    problem = tiny(
        {"y": (size, "keep"), "x": (page_bytes, "in")},
        operations,
        spm=size,
        page_bytes=page_bytes,
        dram_bytes_per_s=5,
        clock_hz=9,
    )
    best = need(optimum(problem, MAKESPAN))
    mine = found(problem)
    assert mine.bound <= best.value <= mine.value
    if page_bytes == 4:  # 9, then 8 for x, then 27
        assert mine.bound == mine.value == 44


def test_steps_on_duals_end_where_they_lead_nowhere() -> None:
    """One page is full in both steps at no dual; large pages made a step without end of it."""
    twice = tiny({"x": (4096, "in")}, [Op(reads="x")] * 2, spm=4096, page_bytes=4096)
    best = found(twice, TRAFFIC)
    assert best.bound == best.value == 4096


@settings(max_examples=share(60), deadline=None)
@given(problems(**SMALL), st.sampled_from(OBJECTIVES), st.integers(0, 2**32))
def test_any_duals_bound(problem: Problem, name: str, seed: int) -> None:
    objective = objective_named(name, problem.machine)
    layout = facts(problem, objective)
    if layout is None:
        return
    duals = random_duals(np.random.default_rng(seed), layout.layout.cycle, problem)
    least = Fraction(CostsToGo(layout, duals(layout)).bound, layout.layout.scale << POINT)
    assert least <= small_optimum(problem, objective).value


def random_duals(random: np.random.Generator, cycle: int, problem: Problem) -> Any:
    """Draw dual values: the time of both directions together costs a cycle at most."""
    count, full = len(problem.operations), cycle << POINT
    into = random.integers(0, full + 1, count)
    out = into
    if problem.machine.duplex:
        out = (random.random(count) * (full - into)).astype(np.int64)
    page = random.integers(0, 4 * full + 2, count)

    def duals(layout: Any) -> StateDuals:
        tolls = [
            random.integers(-full - 1, full + 2, (len(step.mappings), layout.layout.pages.size))
            for step in layout.steps
        ]
        return StateDuals(page=page, into=into, out=out, toll=tuple(tolls))

    return duals


def test_two_stores_must_share_what_is_idle() -> None:
    """All idle cycles are needed, and commands of the second step and the third cannot change.

    After y and z are written, 15 idle cycles take 5 bytes of y and 6 of z; 6 the rest of a page of
    y, and a byte; 4 the rest of z; 9 that of y; each with set-ups of 2. With one store in the 15
    that ends inside a page, the rest of a page, or another set-up, is not hidden.
    """
    tensors = {
        "y": (16, "keep"),
        "z": (8, "keep"),
        **{name: (size, "in") for name, size in {"u": 8, "v": 16, "w": 24}.items()},
    }
    operations = [
        Op(writes="y z", required_resident="y z"),
        Op(cycles=15),
        Op(reads="y", required_resident="y", cycles=6),
        Op(reads="u z", required_resident="u z", cycles=4),
        Op(reads="v y", required_resident="v", cycles=9 + 10),
        Op(reads="w", required_resident="w"),
    ]
    problem = tiny(tensors, operations, spm=24, page_bytes=8, dma_setup_cycles=2)
    best = found(problem)
    assert best.bound == best.value == 15 + 6 + (10 + 4) + (18 + 19) + 26


@pytest.mark.parametrize("kind", some(KINDS, 2))
def test_ragged_problems_are_proved(kind: str) -> None:
    for seed in some(range(3, 6)):
        problem = ragged_problem(kind, seed)
        result = solve(problem, "residency", Request(threads=1))
        assert result.status is Status.OPTIMAL
        assert need(result.class_bound).value == result.value
        assert result.notes == ()
        whole = solve(problem, "residency:granularity=tensor", Request(threads=1, time_limit_s=5.0))
        assert need(result.value) <= need(whole.value)
        # More room never costs.
        machine = problem.machine
        more = replace(machine, spm_bytes=machine.spm_bytes + machine.page_bytes)
        roomy = solve(replace(problem, machine=more), "residency", Request(threads=1))
        assert need(roomy.class_bound).value <= need(result.value)


def test_too_many_moves_leave_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "BEAMS", (Effort(moves=200, states=5),))
    monkeypatch.setattr(schedule, "MOVES", 100)
    monkeypatch.setattr(schedule, "CLIMB", 2)
    left = 0
    for seed, mine, best in compared(some(range(40), 2), **SMALL):
        assert mine.bound <= best <= mine.value, seed
        left += mine.bound < mine.value
    assert left > 1


def test_what_is_too_large_or_late_is_left_alone() -> None:
    problem = random_problem(3, **SMALL)
    residency_plan = need(stream(problem, Request()).residency_plan)
    assert enumerate_all(problem, Request(time_limit_s=0.0), residency_plan, None) is None
    long = tiny({"x": (4, "in")}, [Op(reads="x")] * 13, spm=4)
    residency_plan = need(stream(long, Request()).residency_plan)
    assert enumerate_all(long, Request(), residency_plan, None) is None
