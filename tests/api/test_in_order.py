"""Objectives in order: within the slack, no worse than the first alone, and a bound that holds."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import spmopt
from spmopt.api.in_order import InOrder, WeightSearch, bound_of_all, is_ordered
from spmopt.api.solutions import Solution
from spmopt.assemble import assemble
from spmopt.audit import Audit
from spmopt.core.errors import InputError
from spmopt.core.objective import MAKESPAN, REPLAY, TRAFFIC, Objective
from spmopt.core.problem import Problem
from spmopt.reporting.results import figures, result_record
from spmopt.reporting.verification import verification_lines
from spmopt.verifier import verify
from tests.graph.networks import mlp
from tests.solving.test_orders import branches
from tests.strategies import random_problem
from tests.thorough import some
from tests.tiny import Op, tiny
from tests.verifier.random_plans import random_residency_plan


def search_on(problem: Problem, slack: Fraction, weights: int = 5) -> WeightSearch:
    def solve(objective: Objective, limit_s: float) -> Solution:
        return spmopt.solve(
            problem, "residency", objective=objective, time_limit=limit_s, threads=1
        )

    asked = InOrder(first=MAKESPAN, second=TRAFFIC, slack=slack)
    search = WeightSearch(asked, solve, solve(MAKESPAN, 5.0))
    for _ in range(weights):
        search.try_next(5.0)
    return search


def test_no_schedule_within_the_slack_is_below_the_bound() -> None:
    improved = checked = 0
    for seed in some([10, 11, 6, 7, 8, 9], 3):
        problem = random_problem(seed, max_operations=6, max_tensors=5)
        search = search_on(problem, Fraction(1, 20), weights=4)
        first = spmopt.solve(problem, "residency", time_limit=5.0, threads=1).result.totals
        assert first is not None
        totals = search.best.result.totals
        assert totals is not None
        assert totals.value(MAKESPAN) <= search.limit
        assert totals.traffic_bytes <= first.traffic_bytes
        improved += totals.traffic_bytes < first.traffic_bytes
        assert search.proven_bound is not None
        assert search.proven_bound <= totals.traffic_bytes
        generator = np.random.default_rng(seed)
        for _ in range(30):
            found = verify(
                problem,
                assemble(problem, random_residency_plan(problem, generator, free_order=False)),
            ).totals
            if found is not None and found.value(MAKESPAN) <= search.limit:
                checked += 1
                assert search.proven_bound <= found.traffic_bytes
    assert improved
    assert checked > 5


def test_a_bound_of_one_order_or_cover_is_none_of_all() -> None:
    result = spmopt.solve(spare(), "residency", time_limit=5.0).result
    assert bound_of_all(result) == result.bound is not None
    problem = branches()
    tsai = spmopt.solve(problem, "tsai", time_limit=5.0).result
    assert tsai.order is not None
    assert tsai.bound is not None
    assert bound_of_all(tsai) is None
    machine = spmopt.machine("rtx2080ti", spm="256B", page="16B", bandwidth="10GB/s")
    cut = spmopt.solve(spmopt.lower(mlp(), machine), "fusion", time_limit=0.8, tolerance=0.2).result
    assert cut.fused is not None
    assert bound_of_all(cut) == cut.fusion_bound
    assert bound_of_all(replace(cut, fusion_bound=None)) is None


def test_the_least_found_is_that_of_all_schedules() -> None:
    """A weight's schedule takes less time than that for time alone, which is beyond the slack."""
    solved = spmopt.solve(spare(), "residency", time_limit=5.0)

    def of(cycles: int, moved: int) -> Solution:
        assert solved.result.totals is not None
        totals = replace(
            solved.result.totals, makespan_cycles=cycles, dram_in_bytes=moved, dram_out_bytes=0
        )
        result = replace(solved.result, totals=totals, bound=Fraction(90))
        return replace(solved, result=result)

    asked = InOrder(first=MAKESPAN, second=TRAFFIC, slack=Fraction(0))
    search = WeightSearch(asked, lambda objective, limit_s: of(95, 50), of(100, 40))
    assert [search.least, search.second] == [100, 40]
    search.try_next(1.0)
    assert [search.least, search.limit, search.second] == [95, 95, 50]


def spare() -> Problem:
    """x is read twice; while the long operations compute, reading it again costs no time."""
    return tiny(
        {"x": (8, "in"), "y": (8, "keep"), "z": (8, "keep")},
        [Op(reads="x", writes="y", cycles=100), Op(reads="x", writes="z", cycles=100)],
        spm=8,
    )


def test_by_hand() -> None:
    """200 cycles with 32 bytes or more; at the least x stays, and 24 move: 8 in, 16 out."""
    solution = spmopt.solve(spare(), "residency", objective="time:0%,traffic", time_limit=5.0)
    assert solution.makespan_s is not None
    assert solution.traffic_bytes == 24
    first, second, of = solution.result.notes[-3:]
    assert first.startswith("time 200 s, 0 % above the least found; 0 % is")
    assert second.startswith("traffic 24 B; schedules within that have traffic 24 B at least")
    assert of.endswith(("are those of time alone", "are those of a weighted sum of both"))
    assert verify(spare(), solution.schedule).legal
    record: Any = solution.record()
    time, traffic = record["results"][0]["objectives"]
    assert (time["objective"], time["value"], time["limit"], time["bound"]) == (
        "time",
        200,
        200,
        None,
    )
    assert (traffic["unit"], traffic["value"]) == ("bytes", 24)
    assert traffic["bound"] == pytest.approx(24)
    assert traffic["gap"] == pytest.approx(0, abs=1e-9)
    weighed = InOrder.with_name("time,traffic", spare().machine).weigh(Fraction(1))
    result = replace(solution.result, objective=weighed)
    found = Audit(violations=(), totals=result.totals, value=result.value, bound=None)
    lines = verification_lines(spare(), result, found)
    assert any("a weighted sum of both" in line for line in lines)
    assert f"legal by every rule and by replay; {result.value}" in "\n".join(lines)
    assert result_record(spare(), result)["unit"] == "weighted sum"
    assert str(result_record(spare(), solution.result)["unit"]) in {"cycles", "weighted sum"}
    value = next(each for each in figures(spare(), result, None) if each.key == "objective")
    assert (value.text, value.unit, value.note) == (
        *(f"time, then traffic {result.value}", "", "weighted sum"),
    )


def test_who_takes_no_sum_is_refused_before_anything_is_solved() -> None:
    with pytest.raises(InputError, match="joint"):
        spmopt.solve(spare(), "joint", objective="replay,traffic")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("time", None),
        ("time,traffic,energy", "give two in order"),
        ("time,time", "must be another"),
        ("time,replay", "of the same time"),
        ("time:x,traffic", "must be a share"),
        ("time:200%,traffic", "must be a share"),
        ("time,speed", "speed"),
    ],
)
def test_read(text: str, said: str | None) -> None:
    machine = spare().machine
    assert is_ordered(text) == (said is not None)
    if said is not None:
        with pytest.raises(InputError, match=said):
            InOrder.with_name(text, machine)
    assert InOrder.with_name("replay:0.5%,traffic", machine).slack == Fraction(1, 200)
    weighed = InOrder.with_name("replay,traffic", machine).weigh(Fraction(2))
    assert weighed.replayed is REPLAY.replayed
    assert (weighed.cycle, weighed.dram_in_byte) == (Fraction(1), Fraction(2))
    assert weighed.name == "replay, then traffic"


def test_others_take_one_objective() -> None:
    with pytest.raises(InputError, match="no objective called 'time,traffic'"):
        spmopt.compare(spare(), ["residency"], objective="time,traffic")
