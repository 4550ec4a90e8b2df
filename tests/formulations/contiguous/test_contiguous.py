"""Contiguous addresses: legal, one range a tensor, never below the bound, close to the optimum."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.contiguous.blocks import Block, Dirty, Holding
from formulations.contiguous.memory import SpmMap
from formulations.contiguous.packing import ORDERS, cut, pack
from formulations.contiguous.rounds import ContiguousPlan
from formulations.contiguous.schedule import schedule
from formulations.residency import page
from spmopt.assemble import assemble
from spmopt.assemble.cost import residency_plan_value
from spmopt.core.errors import InfeasibleError, ScheduleError
from spmopt.core.objective import MAKESPAN, TRAFFIC, Objective
from spmopt.core.problem import Problem
from spmopt.core.schedule import Ranges, ResidencyPlan, Schedule
from spmopt.core.scheduler import Request
from spmopt.frontends import zoo
from spmopt.graph.lower import lower
from spmopt.graph.training import training_graph
from spmopt.hardware.machines import load_machine
from spmopt.schedulers.registry import find
from spmopt.solving import compare
from spmopt.verifier import bound, require_legal
from tests.instances.golden import problem as golden
from tests.strategies import random_problem
from tests.thorough import share


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
    assert outcome.residency_plan is not None
    assert outcome.certificate is not None
    found = assemble(problem, outcome.residency_plan)
    report = require_legal(problem, found)
    assert report.totals is not None
    assert report.totals.value(objective) >= bound(problem, outcome.certificate)
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


@pytest.mark.parametrize(("name", "spm", "cost"), [("resnet50", "24MB", 5e-3)])
def test_contiguity_costs_little(name: str, spm: str, cost: float) -> None:
    machine = load_machine("rtx2080ti", {"spm": spm})
    problem = lower(training_graph(zoo.network(name)), machine, mapper="panel")
    found = require_legal(problem, scheduled(problem, MAKESPAN, tolerance=cost / 2)).totals
    outcome = page.schedule(problem, Request())
    assert found is not None
    assert outcome.certificate is not None
    least = bound(problem, outcome.certificate)
    assert found.makespan_cycles <= least * (1 + Fraction(cost))


def test_without_time_starts_are_placed_once_each(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_problem(5)
    start = find("stream").load()(problem, Request()).residency_plan
    assert start is not None
    none = np.empty(0, np.int64)
    nothing = Holding(blocks=[], dirty=Dirty(none, none, 1))

    class Placed:
        """The paged optimum is placed badly, a start as it is."""

        def __init__(
            self, _: Problem, request: Request, residency_plan: ResidencyPlan, duals: object
        ) -> None:
            del request, duals
            self._residency_plan = residency_plan

        def residency_plans(self) -> Iterator[ContiguousPlan]:
            if self._residency_plan is not start:
                yield ContiguousPlan(
                    residency_plan=self._residency_plan, value=Fraction(10**12), held=nothing
                )
                return
            yield ContiguousPlan(
                residency_plan=start,
                value=residency_plan_value(problem, start, MAKESPAN),
                held=nothing,
            )
            pytest.fail("no time for a second plan")

    monkeypatch.setattr("formulations.contiguous.schedule.Repair", Placed)
    assert schedule(problem, Request(time_limit_s=1e-9, others=(start,))).residency_plan is start


def block(
    begin: int, heights: list[int], uses: list[int], required_resident: Sequence[int] = ()
) -> Block:
    return Block(
        tensor=0,
        begin=begin,
        heights=np.array(heights),
        uses=np.array(uses),
        required_resident=np.array(required_resident, np.int64),
    )


@pytest.mark.parametrize("order", ORDERS)
def test_packed_stays_keep_apart(order: str) -> None:
    rng = np.random.default_rng(7)
    for _ in range(30):
        blocks = []
        for _ in range(12):
            begin, length = int(rng.integers(0, 15)), int(rng.integers(1, 6))
            heights = rng.integers(1, 7, length).tolist()
            uses = sorted({begin, begin + int(rng.integers(0, length))})
            blocks.append(block(begin, heights, uses))
        wanted = [one.heights for one in blocks]
        assert pack(blocks, SpmMap(10, np.zeros(21, np.int64)), ORDERS[order])
        taken = np.zeros((21, 10), int)
        for one, heights in zip(blocks, wanted, strict=True):
            assert (one.heights <= heights).all()
            for step, height in enumerate(one.heights.tolist(), one.begin):
                taken[step, one.base : one.base + height] += 1
        assert taken.max() == 1


def test_a_stay_is_cut_where_least_is_lost() -> None:
    # The first fills pages 0 to 5 of 8; above it there is room for 2 pages of the second.
    blocks = [block(0, [6, 6, 6], [0, 2]), block(1, [4, 4], [1, 2])]
    assert pack(blocks, SpmMap(8, np.zeros(3, np.int64)), ORDERS["area"])
    assert [one.base for one in blocks] == [0, 6]
    assert blocks[1].heights.tolist() == [2, 2]


def test_a_required_resident_operand_is_never_cut() -> None:
    blocks = [block(0, [6, 6, 6], [0, 2]), block(1, [4, 4], [1, 2], [1])]
    assert pack(blocks, SpmMap(8, np.zeros(3, np.int64)), ORDERS["area"])
    assert blocks[1].heights.tolist() == [4, 4]
    assert blocks[0].heights.tolist() in ([6, 4, 4], [4, 4, 4], [6, 4, 6])
    crowd = [block(0, [5], [0], [0]), block(0, [5], [0], [0])]
    assert not pack(crowd, SpmMap(8, np.zeros(1, np.int64)), ORDERS["area"])


def test_what_is_cut_comes_back_at_a_use() -> None:
    one = replace(block(0, [2, 4, 4, 4, 4, 4], [0, 4]), base=0)
    assert cut(one, np.array([9, 9, 1, 9, 9, 9])).tolist() == [2, 4, 1, 1, 4, 4]


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


def test_scratch_lies_at_the_top() -> None:
    memory = SpmMap(10, np.array([0, 3, 0]))
    assert memory.around(1, 2, -2).low.tolist() == [7]
    low, high = memory.around(0, 3, -2).free_runs(10)
    assert (low.tolist(), high.tolist()) == ([0], [7])


def test_taking_again_gives_back_first() -> None:
    memory = SpmMap(10, np.zeros(4, np.int64))
    memory.take(0, 2, 1, np.array([3, 3, 5]))
    assert memory.around(0, 4, -2).high.tolist() == [5, 7]
    memory.take(0, 2, 1, np.array([1]))
    taken = memory.around(0, 4, -2)
    assert (taken.low.tolist(), taken.high.tolist()) == ([2], [3])
    low, high = taken.free_runs(10)
    assert (low.tolist(), high.tolist()) == ([0, 3], [2, 10])


@pytest.mark.parametrize("name", ["mlp", "attention", "residual"])
def test_no_worse_than_policies_that_fit_as_they_are(name: str) -> None:
    belady, contiguous = compare(golden(name), ["belady", "contiguous"], Request(tolerance=1e-2))
    assert belady.value is not None
    assert contiguous.value is not None
    assert contiguous.value <= belady.value
    assert contiguous.schedule is not None
    ranges(contiguous.schedule)
