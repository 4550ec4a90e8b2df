"""Schedules in another order: their own bound, in results, files and tables."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from spmopt.audit import audit
from spmopt.core.errors import InputError, ScheduleError
from spmopt.core.mappings import fitting_mappings
from spmopt.core.objective import MAKESPAN, TRAFFIC
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate, Result, Status
from spmopt.core.schedule import Steps
from spmopt.core.scheduler import Request
from spmopt.core.solution import Solution
from spmopt.core.timeline import timeline
from spmopt.io.files import read_result, write_result
from spmopt.policies.belady import distance
from spmopt.policies.ranked import keep_by_rank
from spmopt.reporting.comparison import compare_view
from spmopt.solving import checked_calls, compare, solve
from spmopt.verifier import bound
from tests.checked import need
from tests.solving.fakes import Answer, bounds_only, free, install
from tests.tiny import Op, tiny


def branches() -> Problem:
    """Two chains through 8 bytes each, listed in turn, in a scratchpad of 8 bytes.

    One after the other, a and b stay on chip, and only c and d leave it, 4 bytes each; in turn
    there is room for one of a and b.
    """
    return tiny(
        {"a": (8, ""), "b": (8, ""), "c": (4, "keep"), "d": (4, "keep")},
        [
            Op(writes="a"),
            Op(writes="b"),
            Op(reads="a", writes="c"),
            Op(reads="b", writes="d"),
        ],
        spm=8,
    )


def in_order(order: list[int]) -> Answer:
    """Belady in a fixed order."""

    def scheduler(problem: Problem, request: Request) -> Result:
        del request
        steps = Steps.listed(fitting_mappings(problem)).take(np.array(order))
        arrays = timeline(problem, steps)
        return Result(residency_plan=keep_by_rank(problem, arrays, distance(arrays)))

    return scheduler


DEEP = [0, 2, 1, 3]
BACK = [1, 3, 0, 2]


def proof(result: Result) -> Certificate:
    return need(result.certificate)


def order_of(result: Result) -> list[int] | None:
    """That the certificate holds for."""
    order = proof(result).order
    return None if order is None else [int(step) for step in order]


def test_each_order_gets_its_own_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, lru=in_order(DEEP))
    belady, lru, fluid = compare(
        branches(), ["belady", "lru", "lp-bound"], Request(objective=TRAFFIC)
    )
    assert [belady.value, lru.value] == [Fraction(8 + 16), Fraction(8)]
    assert belady.bound == fluid.bound
    assert belady.gap == pytest.approx(0.0, abs=1e-6)
    assert lru.gap == pytest.approx(0.0, abs=1e-6)
    assert lru.status is Status.OPTIMAL
    assert proof(belady).order is None
    assert order_of(lru) == DEEP
    assert bound(branches(), proof(lru)) == lru.bound


def test_the_relaxation_runs_once_an_order(monkeypatch: pytest.MonkeyPatch) -> None:
    fakes = install(
        monkeypatch,
        lru=in_order(DEEP),
        belady=in_order(DEEP),
        stream=in_order(BACK),
        lp_bound=bounds_only,
    )
    results = compare(branches(), ["lru", "belady", "stream"], Request())
    assert len(fakes.requests["lp-bound"]) == 2
    assert [result.order.tolist() for result in results if result.order is not None] == [
        DEEP,
        DEEP,
        BACK,
    ]


def test_a_certificate_of_the_schedulers_own_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def proves(problem: Problem, request: Request) -> Result:
        certificate = replace(free(problem, request.objective), order=np.array(DEEP))
        return replace(in_order(DEEP)(problem, request), certificate=certificate)

    fakes = install(monkeypatch, lru=proves, lp_bound=bounds_only)
    assert order_of(solve(branches(), "lru", Request())) == DEEP
    assert fakes.requests.get("lp-bound") is None


def test_an_untrue_bound_of_another_order_never_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, lru=in_order(DEEP), lp_bound=bounds_only)
    monkeypatch.setattr(checked_calls, "bound", lambda *_: Fraction(10**30))
    with pytest.raises(ScheduleError, match="one of them is wrong"):
        solve(branches(), "lru", Request())


def test_files_carry_the_order_and_are_verified(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install(monkeypatch, lru=in_order(DEEP))
    result = solve(branches(), "lru", Request())
    path = tmp_path / "r.json"
    write_result(path, Solution(problem=branches(), result=result))
    again = read_result(path)
    assert order_of(again.result) == DEEP
    found = audit(again.problem, again.result)
    assert found.violations == ()
    assert (found.value, found.bound) == (result.value, result.bound)


@pytest.mark.parametrize("order", [None, [0, 1, 2, 3], BACK])
def test_a_bound_of_another_order_is_found_out(
    monkeypatch: pytest.MonkeyPatch, order: list[int] | None
) -> None:
    install(monkeypatch, lru=in_order(DEEP), lp_bound=bounds_only)
    result = solve(branches(), "lru", Request())
    certificate = replace(proof(result), order=None if order is None else np.array(order))
    (violation,) = audit(branches(), replace(result, certificate=certificate)).violations
    assert "another order than the schedule's" in str(violation)


@pytest.mark.parametrize("order", [[0, 1, 2], [0, 1, 2, 2], [2, 0, 1, 3]])
def test_an_order_that_no_schedule_has_proves_nothing(order: list[int]) -> None:
    certificate = replace(free(branches(), MAKESPAN), order=np.array(order))
    with pytest.raises(InputError):
        bound(branches(), certificate)


def test_tables_say_which_schedules_are_in_another_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(monkeypatch, lru=in_order(DEEP), stream=in_order(BACK))
    results = compare(branches(), ["lru", "belady", "stream"], Request(objective=TRAFFIC))
    remarks = compare_view(branches(), results).remarks
    assert "lru: order: depth-first; gap against the bound of that order" in remarks
    assert "stream: order: its own; gap against the bound of that order" in remarks
    line = "Given order: optimum 24 B (belady), proved"
    assert any(remark.startswith(line) for remark in remarks)
