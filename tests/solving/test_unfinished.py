"""Bounds whose search ended early are marked, wherever they show."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from spmopt.core.objective import TRAFFIC
from spmopt.core.problem import Problem
from spmopt.core.result import INTERRUPTED, OUT_OF_TIME, Result
from spmopt.core.scheduler import Request
from spmopt.reporting.comparison import compare_view
from spmopt.reporting.results import result_parts
from spmopt.reporting.tables import plain_text
from spmopt.solving import compare, solve
from tests.solving.fakes import bounds_only, install
from tests.strategies import random_problem

PROBLEM = random_problem(32, max_operations=8, max_tensors=6, required_resident=False)
OUT_OF_TIME_IN_TABLE = "The bound holds, but the time limit cut its search short: "


def hurried(problem: Problem, request: Request) -> Result:
    return replace(bounds_only(problem, request), cut_short=True)


@pytest.mark.parametrize(
    ("stop", "note"), [(lambda: False, OUT_OF_TIME), (lambda: True, INTERRUPTED)]
)
def test_a_policy_against_an_unfinished_bound(
    monkeypatch: pytest.MonkeyPatch, stop: Callable[[], bool], note: str
) -> None:
    install(monkeypatch, lp_bound=hurried)
    result = solve(PROBLEM, "lru", Request(stop=stop))
    assert result.notes == (note,)
    lines = plain_text(result_parts(PROBLEM, result)).splitlines()
    assert ["note", note] in [line.split(maxsplit=1) for line in lines]
    assert not any("exact)" in line for line in lines)


def test_a_table_says_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, lp_bound=hurried)
    results = compare(PROBLEM, ["stream", "lru", "lp-bound"], Request(objective=TRAFFIC))
    first, *_ = compare_view(PROBLEM, results).remarks
    assert first.startswith(OUT_OF_TIME_IN_TABLE)
    some = [replace(results[0], notes=()), *results[1:]]
    first, *_ = compare_view(PROBLEM, some).remarks
    assert first == f"lru, lp-bound: {OUT_OF_TIME}"


@pytest.mark.parametrize(
    "scheduler", ["lru", "residency", "residency:granularity=tensor", "lp-bound"]
)
def test_solvers_tell_when_time_ran_out(scheduler: str) -> None:
    problem = random_problem(3, max_operations=12, max_tensors=8, max_tensor_pages=6)
    assert OUT_OF_TIME in solve(problem, scheduler, Request(time_limit_s=0.0)).notes
    assert OUT_OF_TIME not in solve(problem, scheduler, Request(time_limit_s=60.0)).notes
