"""A schedule as fast that moves less, where computing decides the time."""

from __future__ import annotations

import pytest

import spmopt
from spmopt.core.objective import MAKESPAN, TRAFFIC
from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.scheduler import Request
from spmopt.graph.build import GraphBuilder
from spmopt.hardware.machines import load_machine
from spmopt.solving import runs, solve
from spmopt.solving.case import Case
from spmopt.verifier import require_legal
from spmopt.verifier.any_order import moved_once
from tests.checked import need


def slow(spm: str = "4KiB", rows: int = 4) -> Problem:
    """Products on an array of few lanes: they take far longer than their bytes move."""
    b = GraphBuilder("slow", element_type="int8")
    y = b.input("x", (64, 64))
    for number in range(3):
        y = b.add("MatMul", [y, b.weight(f"w{number}", (64, 64))])
    sides: dict[str, str] = dict.fromkeys(("array.rows", "array.columns"), str(rows))
    machine = load_machine("small-npu", sides | {"spm": spm, "page": "64B"})
    found = spmopt.lower(b.finish([y]), machine)
    assert isinstance(found, Problem)
    return found


def plainly(problem: Problem, scheduler: str, monkeypatch: pytest.MonkeyPatch) -> Result:
    """Return the result without the search for less traffic."""
    with monkeypatch.context() as patch:
        patch.setattr(runs, "with_less_traffic", lambda _, found: found)
        return solve(problem, scheduler, Request(time_limit_s=5.0))


@pytest.mark.parametrize("scheduler", ["residency", "fusion"])
def test_it_takes_no_longer_and_moves_less(scheduler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = slow()
    before = plainly(problem, scheduler, monkeypatch)
    found = solve(problem, scheduler, Request(time_limit_s=5.0))
    assert need(found.totals).makespan_cycles <= need(before.totals).makespan_cycles
    assert need(found.totals).traffic_bytes < 3 / 4 * need(before.totals).traffic_bytes
    assert found.objective == MAKESPAN
    assert found.value == need(found.totals).makespan_cycles
    assert found.best_bound == before.best_bound
    require_legal(found.fused or problem, need(found.schedule))


def test_where_bytes_decide_or_all_fit_nothing_more_is_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls, call = list[str](), Case.call

    def heard(case: Case, *given: object, **named: object) -> Result:
        calls.append(case.request.objective.name)
        return call(case, *given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(Case, "call", heard)
    found = solve(slow(rows=128), "residency", Request(time_limit_s=2.0, tolerance=0.05))
    assert need(found.totals).traffic_bytes > 2 * sum(moved_once(slow()))
    solve(slow(), "residency", Request(objective=TRAFFIC, time_limit_s=5.0))
    assert set(calls) == {"makespan", "traffic"}
