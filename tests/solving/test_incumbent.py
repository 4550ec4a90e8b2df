"""News while schedulers run: true enough to show, and without any effect."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from spmopt.core.objective import MAKESPAN, REPLAY, TRAFFIC, Objective, energy_objective
from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.scheduler import Incumbent, Request
from spmopt.solving import compare
from tests.banked import banked
from tests.checked import need
from tests.instances.golden import problem as golden
from tests.strategies import random_problem
from tests.thorough import some

PROBLEM = random_problem(32, max_operations=12, max_tensors=8, max_mappings=1)
SLACK = 1 + 1e-9
ENERGY = energy_objective(PROBLEM.machine)


def heard(
    problem: Problem, names: list[str], objective: Objective
) -> tuple[list[Result], list[Incumbent]]:
    news: list[Incumbent] = []
    request = Request(objective=objective, time_limit_s=20, threads=1, on_incumbent=news.append)
    return compare(problem, names, request), news


@pytest.mark.parametrize(
    ("name", "objective"),
    some(
        [
            ("residency", MAKESPAN),
            ("residency:granularity=tensor", TRAFFIC),
            ("contiguous", MAKESPAN),
            ("lp-bound", MAKESPAN),
            ("joint", REPLAY),
            ("residency", TRAFFIC),
            ("residency", ENERGY),
            ("residency:granularity=tensor", MAKESPAN),
            ("residency:granularity=tensor", ENERGY),
            ("belady", MAKESPAN),
        ],
        3,
    ),
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_claims_lie_between_bound_and_result(name: str, objective: Objective) -> None:
    # One that takes all of its time on the larger problem, and more where the machine is busy.
    problem = golden("random-34") if name == "joint" else PROBLEM
    (result,), news = heard(problem, [name], objective)
    assert {each.scheduler for each in news} == {name}
    values = [each.value for each in news if each.value is not None]
    bounds = [each.bound for each in news if each.bound is not None and not each.of_class]
    of_class = [each.bound for each in news if each.bound is not None and each.of_class]
    if result.value is None:
        assert name == "lp-bound"
        assert not values
    else:
        assert min(values) >= float(result.value) / SLACK
        assert values[-1] == result.value
        of_its_class = of_class if result.class_bound is not None else []
        assert max((*bounds, *of_its_class), default=0) <= float(result.value) * SLACK
    if result.bound is not None and result.order is None:  # of another order nothing is told
        certified = [each.bound for each in news if each.certified and each.bound is not None]
        assert max(certified) == result.bound
        assert max(bounds) <= float(result.bound) * (1 + 1e-6)
    if name == "joint":
        assert of_class
        if result.class_bound is None:  # the schedule, of windows, is none of the class
            (note,) = [note for note in result.notes if note.startswith("at least ")]
            assert f"at least {float(max(of_class)):,.0f} cycles" in note
        else:
            assert max(of_class) == result.class_bound.value


def test_listening_changes_nothing() -> None:
    names = ["belady", "residency", "lp-bound"]
    listened, news = heard(PROBLEM, names, MAKESPAN)
    silent = compare(PROBLEM, names, Request(time_limit_s=20, threads=1))
    assert len(news) > len(names)
    for one, other in zip(listened, silent, strict=True):
        assert (one.value, one.bound, one.status) == (other.value, other.bound, other.status)
        assert one.notes == other.notes


def test_starts_are_told_as_verified_before_the_search() -> None:
    _, news = heard(PROBLEM, ["residency:granularity=tensor"], TRAFFIC)
    first = next(each for each in news if each.value is not None)
    assert first.verified
    (best, *_) = sorted(
        result.value
        for result in compare(PROBLEM, ["stream", "lru", "belady"], Request(objective=TRAFFIC))
        if result.value is not None
    )
    assert first.value is not None
    assert first.value <= best


def test_another_order_is_told_apart() -> None:
    for seed in some(range(40)):
        problem = random_problem(seed, max_operations=8, max_tensors=8)
        (result,), news = heard(problem, ["tsai"], MAKESPAN)
        last = next(each for each in reversed(news) if each.value is not None)
        assert last.other_order == (result.order is not None)
        if result.order is not None:
            assert not any(each.bound is not None for each in news)
            return
    pytest.fail("no problem has another order depth first")


def test_banks_tell_bounds_of_their_own_program_only() -> None:
    problem = banked(32, max_operations=8, max_tensors=6)
    (result,), news = heard(problem, ["banks"], MAKESPAN)
    assert result.bound is not None
    bounds = [float(each.bound) for each in news if each.bound is not None]
    assert bounds
    assert max(bounds) <= float(need(result.value)) * SLACK
    values = [each.value for each in news if each.value is not None]
    assert min(values) == need(result.value)  # plans with their banks given, valued exactly
    assert [each for each in news if each.value is not None][-1].verified


def test_what_is_infinite_is_not_told() -> None:
    news: list[Incumbent] = []
    request = Request(on_incumbent=news.append)
    request.report_incumbent(value=np.inf, bound=-np.inf)
    request.report_incumbent(value=Fraction(3, 2), bound=1.0)
    assert news == [Incumbent(), Incumbent(value=Fraction(3, 2), bound=1.0)]
    request.part(bounds=True).report_incumbent(value=7, bound=2.0)
    request.part(bounds=False).report_incumbent(value=7, bound=2.0)
    assert news[2:] == [Incumbent(bound=2.0)]
    assert replace(request).on_incumbent == request.on_incumbent
