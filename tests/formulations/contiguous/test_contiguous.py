"""Contiguous addresses: legal, one range a tensor, never below the bound, close to the optimum."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.contiguous.rounds import ContiguousPlan
from formulations.contiguous.schedule import schedule
from spmopt.assemble import assemble
from spmopt.assemble.cost import residency_plan_value
from spmopt.core.errors import InfeasibleError, ScheduleError
from spmopt.core.objective import MAKESPAN, TRAFFIC, Objective
from spmopt.core.problem import Problem
from spmopt.core.schedule import Ranges, Schedule
from spmopt.core.scheduler import Request
from spmopt.schedulers.registry import find
from spmopt.solving import compare
from spmopt.verifier import bound, require_legal
from tests.checked import need
from tests.instances.golden import problem as golden
from tests.strategies import random_problem
from tests.thorough import nightly, share


def ranges(found: Schedule) -> None:
    """Every tensor lies in one range of pages for as long as it blocks."""
    table = found.placements
    order = np.lexsort((table.tensor_page, table.begin, table.tensor))
    last: dict[int, tuple[int, int]] = {}
    for k in order.tolist():
        tensor, begin, end = (int(column[k]) for column in (table.tensor, table.begin, table.end))
        base = int(table.spm_page[k] - table.tensor_page[k])
        if tensor >= 0 and tensor in last and last[tensor][0] >= begin:
            assert last[tensor][1] == base
        last[tensor] = (end, base)


def scheduled(
    problem: Problem, objective: Objective, limit_s: float = 20.0, tolerance: float = 1e-4
) -> Schedule:
    request = Request(objective=objective, time_limit_s=limit_s, tolerance=tolerance)
    outcome = schedule(problem, request)
    found = assemble(problem, need(outcome.residency_plan))
    report = require_legal(problem, found)
    assert need(report.totals).value(objective) >= bound(problem, need(outcome.certificate))
    ranges(found)
    return found


@given(st.integers(0, 100_000), st.sampled_from([MAKESPAN, TRAFFIC]))
@settings(max_examples=share(25), deadline=None)
def test_random_problems(seed: int, objective: Objective) -> None:
    problem = random_problem(seed)
    try:
        scheduled(problem, objective, 2.0)
    except InfeasibleError:
        return


def test_without_time_starts_are_placed_once_each(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_problem(5)
    start = need(find("stream").load()(problem, Request()).residency_plan)

    class Placed:
        """The paged optimum is placed badly, a start as it is."""

        def __init__(self, *given: object) -> None:
            self._plan: Any = given[2]

        def residency_plans(self) -> Iterator[ContiguousPlan]:
            value = residency_plan_value(problem, start, MAKESPAN)
            if self._plan is not start:
                value = Fraction(10**12)
            yield ContiguousPlan(residency_plan=self._plan, value=value, blocks=[])
            if self._plan is start:
                pytest.fail("no time for a second plan")

    monkeypatch.setattr("formulations.contiguous.schedule.Repair", Placed)
    assert schedule(problem, Request(time_limit_s=1e-9, others=(start,))).residency_plan is start


def test_plans_without_a_range_are_refused() -> None:
    problem = random_problem(5)
    outcome = schedule(problem, Request(time_limit_s=5.0))
    assert outcome.residency_plan is not None
    assert outcome.residency_plan.ranges is not None
    none = np.empty(0, np.int64)
    missing = replace(
        outcome.residency_plan, ranges=Ranges(tensor=none, begin=none, end=none, spm_page=none)
    )
    assert len(missing.residency)
    with pytest.raises(ScheduleError, match="has no range of addresses there"):
        assemble(problem, missing)


@pytest.mark.parametrize("name", ["mlp", pytest.param("attention", marks=nightly), "residual"])
def test_no_worse_than_policies_that_fit_as_they_are(name: str) -> None:
    belady, contiguous = compare(golden(name), ["belady", "contiguous"], Request(tolerance=1e-2))
    assert need(contiguous.value) <= need(belady.value)
    ranges(need(contiguous.schedule))
