"""Mappings to choose among: their dual values, and problems with fewer of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.residency import page
from formulations.residency.cheap_mappings import choose_by_duals, in_numbers
from formulations.residency.plain import search
from formulations.residency.plain.mappings import FewerMappings, cheapest_mappings
from spmopt.analysis.shadow_prices import ShadowPrices
from spmopt.assemble.cost import residency_plan_value
from spmopt.core.mappings import fitting_mappings, in_mappings, unfit
from spmopt.core.objective import MAKESPAN, TRAFFIC, objective_named
from spmopt.core.operation import REQUIRED_RESIDENT, STREAMED, Operand, Operation, OpMapping
from spmopt.core.params import ResidencyParams, SolveParams
from spmopt.core.problem import Problem
from spmopt.core.scheduler import Request
from spmopt.core.timeline import fitting_timeline
from spmopt.verifier import bound
from tests.checked import need, totals_of
from tests.formulations.small import optimum_if_small, small_optimum
from tests.instances import golden
from tests.strategies import problems, random_problem
from tests.thorough import share, some
from tests.verifier.builders import machine, tensor

TINY: dict[str, Any] = {
    "max_operations": 5,
    "max_tensors": 3,
    "page_bytes": 2,
    "duplex": True,
    "setup": True,
    "max_mappings": 3,
}


@settings(max_examples=share(2000, 60), deadline=None)
@given(problems(**TINY), st.sampled_from(["time", "traffic", "energy"]))
def test_no_schedule_in_any_mapping_costs_less_than_the_bound(problem: Problem, name: str) -> None:
    objective = objective_named(name, problem.machine)
    relaxed = search.relax(problem, Request(objective=objective), fitting_timeline(problem))
    if relaxed is None:
        return
    assert bound(problem, relaxed.certificate) <= small_optimum(problem, objective).value


def test_dual_values_of_mappings_prove_more() -> None:
    """Of random problems nearly the relaxation's value; without them up to all of it is lost."""
    kept, lost = list[float](), list[float]()
    for seed in range(60):
        problem = random_problem(seed, max_mappings=3, max_operations=8, max_tensors=6)
        if not problem.several_mappings:
            continue
        found = search.relax(problem, Request(), fitting_timeline(problem))
        if found is None or found.bound <= 0:
            continue
        kept.append(float(bound(problem, found.certificate)) / found.bound)
        without = replace(found.certificate, uses=None)
        lost.append(float(bound(problem, without)) / found.bound)
    assert np.mean(kept) > 0.97
    assert np.mean(kept) > np.mean(lost) + 0.01


@pytest.mark.parametrize("seed", some(range(40), 8))
def test_plans_change_their_numbers_and_back(seed: int) -> None:
    problem = random_problem(seed, max_mappings=4, max_operations=6)
    generator = np.random.default_rng(seed)
    own = fitting_timeline(problem).chosen.mapping
    reduced = generator.random(problem.operands.mapping.size)
    few = FewerMappings(problem, cheapest_mappings(problem, own, reduced, 2))
    plan = need(page.schedule(few.problem, Request(time_limit_s=5.0)).residency_plan)
    outside = few.outside(plan)
    steps = zip(outside.steps.operation, outside.steps.mapping, plan.steps.mapping, strict=True)
    for operation, number, there in steps:
        every, fewer = (each.operations[operation].mappings for each in (problem, few.problem))
        assert every[number] == fewer[there]
    again = need(few.inside(outside))
    assert again.steps.mapping.tolist() == plan.steps.mapping.tolist()
    for step, operation in enumerate(outside.steps.operation.tolist()):
        every, fewer = (each.operations[operation].mappings for each in (problem, few.problem))
        for left_out in (m for m, each in enumerate(every) if each not in fewer):
            mapping = outside.steps.mapping.copy()
            mapping[step] = left_out
            assert (
                few.inside(replace(outside, steps=replace(outside.steps, mapping=mapping))) is None
            )


def test_the_better_mapping_is_run_and_proved() -> None:
    problem = golden.problem("two-modes")
    found = page.schedule(problem, Request(tolerance=0.0))
    assert need(found.residency_plan).steps.mapping.tolist() == [1]
    assert bound(problem, need(found.certificate)) == 9


def test_half_a_step_in_each_mapping_has_the_room_of_one() -> None:
    """Half of the weight beside the scratch, half without: of it 8 bytes stay, but 4 in either."""
    x, weight = tensor("x", 8, "d"), tensor("w", 8, "d")
    tiled = OpMapping(compute_cycles=0, operands=(STREAMED, STREAMED), scratch_bytes=4)
    plain = OpMapping(compute_cycles=0, operands=(Operand(fetches=3), Operand(fetches=3)))
    several = Operation(name="a", reads=(0, 1), writes=(), mappings=(tiled, plain))
    problem = Problem(
        name="rooms",
        machine=machine(2),
        tensors=(x, weight),
        operations=(several, replace(several, name="b")),
    )
    found = need(search.relax(problem, Request(objective=TRAFFIC), fitting_timeline(problem)))
    proved = bound(problem, found.certificate)
    assert proved == small_optimum(problem, TRAFFIC).value
    without = replace(found.certificate, rooms=None)
    assert bound(problem, without) < proved
    # One page more for all lowers the bound by the room of the cheapest mapping too.
    prices = ShadowPrices.of(problem, found.certificate)
    more = replace(problem, machine=machine(3))
    least = proved - more.machine.page_bytes * prices.spm.per_byte
    assert proved - 8 <= least <= small_optimum(more, TRAFFIC).value < proved
    assert not prices.is_line


@pytest.mark.parametrize("last", [False, True])
def test_a_mapping_that_does_not_fit_is_not_run_and_weakens_no_bound(last: bool) -> None:
    """Beside each other two operands of 1,201 bytes lack a page of 601, and bytes alone do not."""
    slow = OpMapping(compute_cycles=1000, operands=(STREAMED, STREAMED))
    fast = OpMapping(compute_cycles=0, operands=(REQUIRED_RESIDENT, REQUIRED_RESIDENT))
    own = Operation(
        name="a", reads=(0, 1), writes=(), mappings=(slow, fast) if last else (fast, slow)
    )
    tensors = (tensor("x", 1201, "d"), tensor("y", 1201, "d"))
    problem = Problem(name="unfit", machine=machine(601), tensors=tensors, operations=(own,))
    found = page.schedule(problem, Request(tolerance=0.0))
    assert need(found.residency_plan).steps.mapping.tolist() == [0 if last else 1]
    assert bound(problem, need(found.certificate)) == 2402


@pytest.mark.parametrize("last", [False, True])
def test_operations_without_operands_choose_too(last: bool) -> None:
    x, use = tensor("x", 8, "d"), OpMapping(compute_cycles=3, operands=(STREAMED,))
    other = replace(use, compute_cycles=1, scratch_bytes=4)
    reads = Operation(name="u", reads=(0,), writes=(), mappings=(use, other))
    bare = tuple(replace(each, operands=()) for each in (use, other))
    none = Operation(name="n", reads=(), writes=(), mappings=bare)
    operations = (reads, none) if last else (none, reads)
    problem = Problem(name="bare", machine=machine(2), tensors=(x,), operations=operations)
    found = page.schedule(problem, Request(tolerance=0.0))
    assert bound(problem, need(found.certificate)) == small_optimum(problem, MAKESPAN).value


@pytest.mark.parametrize("count", [1, 2])
def test_few_mappings_at_first_are_all_in_the_end(count: int) -> None:
    """The optimum does not depend on how many are tried at once."""
    params = SolveParams(residency=ResidencyParams(mappings=count))
    for seed in some(range(20), 7):
        problem = random_problem(seed, max_mappings=4, max_operations=4, max_tensors=3)
        found = page.schedule(problem, Request(tolerance=0.0, params=params))
        value = residency_plan_value(problem, need(found.residency_plan), MAKESPAN)
        assert value == small_optimum(problem, MAKESPAN).value, seed


def test_dual_values_choose_mappings_no_worse_than_they_begin_with() -> None:
    compared = better = known = 0
    for seed in some(range(150), 60):
        problem = random_problem(seed, max_operations=5, max_tensors=4, max_mappings=3)
        if not problem.several_mappings or unfit(problem):
            continue
        request = Request(objective=objective_named(("time", "energy")[seed % 2], problem.machine))
        first = in_mappings(problem, fitting_mappings(problem))
        own = page.round_values(first, request)
        before = totals_of(first, own.residency_plan).value(request.objective)
        plan = in_numbers(need(own.residency_plan), fitting_mappings(problem))
        found = need(choose_by_duals(problem, replace(request, start=plan)))
        assert totals_of(problem, found.plan).value(request.objective) == found.value
        least = optimum_if_small(problem, request.objective)
        assert found.value <= before
        assert least is None or least.value <= found.value
        known += least is not None
        compared += 1
        better += found.value < before
    assert better > compared / 4
    assert known > 0.9 * compared


def test_a_wide_tolerance_leaves_the_bound_of_all_mappings_within_it() -> None:
    for seed in some(range(100), 50):
        problem = random_problem(seed, max_operations=8, max_tensors=6, max_mappings=3)
        if problem.several_mappings and not unfit(problem):
            wide, fine = (
                page.round_values(problem, Request(tolerance=tolerance))
                for tolerance in (0.05, 1e-6)
            )
            best, least = (float(bound(problem, need(x.certificate))) for x in (fine, wide))
            assert least >= best * (1 - 0.05) - 1e-9, seed
