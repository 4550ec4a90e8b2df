"""Of a small listing the scheduler of tiles finds the best fusion plan of each fusion space.

And no less.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from spmopt.audit import audit
from spmopt.core.errors import InfeasibleError, ScheduleError
from spmopt.core.fusion import certificate as sizes
from spmopt.core.fusion.fused_groups import FusedGroup, FusionPlan
from spmopt.core.fusion.fusion_space import FUSION_SPACES
from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.core.objective import Objective, objective_named
from spmopt.core.problem import Problem
from spmopt.core.result import Status
from spmopt.core.scheduler import Request
from spmopt.solving import solve
from tests.checked import need
from tests.formulations.fusion.random_tileable_graph import (
    fits,
    fusion_plans,
    random_tileable_graph,
)
from tests.thorough import some
from tests.uniform import uniform_plan

OBJECTIVES = ("time", "traffic", "energy")


def problem_of(listed: TileableGraph) -> Problem:
    """Return the layer-by-layer plan, which knows its listing."""
    whole = (FusedGroup(begin=0, end=len(listed.operations)),)
    return replace(listed.problem(whole)[0], listed=lambda machine: listed)


def values(listed: TileableGraph, objective: Objective) -> dict[FusionPlan, float]:
    """Return what ``page`` finds for every fusion plan that fits."""
    found = {}
    for fusion_plan in fusion_plans(listed):
        result = solve(listed.problem(fusion_plan)[0], "residency", asked(objective))
        if result.value is not None:
            found[fusion_plan] = float(result.value)
    return found


def asked(objective: Objective) -> Request:
    return Request(objective=objective, tolerance=0.0, time_limit_s=60.0, threads=1)


def compared(seed: int) -> int:
    """Check one listing, all fusion spaces; return how many had a fusion plan that fits."""
    listed = random_tileable_graph(seed, most=3)
    objective = objective_named(OBJECTIVES[seed % 3], listed.machine)
    every, done = values(listed, objective), 0
    for name in FUSION_SPACES:
        fusion_space = listed.fusion_space(name)
        known = [
            v for fusion_plan, v in every.items() if not listed.outside(fusion_space, fusion_plan)
        ]
        problem = problem_of(listed)
        try:
            result = solve(problem, f"fusion:space={name}", asked(objective))
        except (InfeasibleError, ScheduleError):
            assert not known, (seed, name)
            continue
        if result.status is Status.INFEASIBLE:
            assert not known, (seed, name)
            continue
        assert known, (seed, name)
        slack = 1e-9 * min(known) + 1e-18
        assert float(need(result.value)) <= min(known) + slack, (seed, name)
        assert float(need(result.fusion_bound)) <= min(known) + slack, (seed, name)
        wrong = [
            each.message
            for each in audit(need(result.fused), result).violations
            if "without a graph" not in each.message
        ]
        assert wrong == [], (seed, name)
        done += 1
    return done


def test_it_finds_the_best_of_all_fusion_plans_of_a_fusion_space() -> None:
    seeds = some([400, 405, 410, 401, 403, 404, 406, 407, 408, 409, 411], 11)
    assert sum(map(compared, seeds)) > len(seeds)  # most have some that fit


@pytest.mark.parametrize("seed", some([147, 259]))
def test_of_a_long_list_one_operation_fits_in_few_pieces_and_one_in_many(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that it fits in no uniform fusion plan, which is no proof that it fits in none."""
    monkeypatch.setattr(sizes, "ALL_OF", 0)
    monkeypatch.setattr(sizes, "MOST_OPERATIONS", 1)
    listed = random_tileable_graph(seed, most=3)
    assert not any(fits(listed, uniform_plan(listed, micro_batches)) for micro_batches in (1, 2, 4))
    assert any(fits(listed, fusion_plan) for fusion_plan in fusion_plans(listed))
    result = solve(problem_of(listed), "fusion", asked(objective_named("time", listed.machine)))
    assert result.verified
    for name in ("_Search._try_named", "_Search._end", "single_operations"):
        monkeypatch.setattr(f"formulations.fusion.schedule.{name}", lambda *_: ())
    result = solve(problem_of(listed), "fusion", asked(objective_named("time", listed.machine)))
    assert result.status is Status.UNKNOWN
