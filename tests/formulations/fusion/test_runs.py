"""Values of runs of operations: never above what their steps cost in any group that has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice, pairwise, product

import numpy as np
import pytest

from formulations.fusion.fused_group import FusedGroupProgram
from formulations.fusion.paths import FusedGroupArcs
from formulations.fusion.tileable import Listed
from formulations.fusion.work import TABLE_S
from spmopt.core.errors import InfeasibleError, InputError
from spmopt.core.fusion.certificate import FusionCertificate, Row
from spmopt.core.fusion.fused_groups import FusedGroup, FusionPlan
from spmopt.core.fusion.fusion_space import Way
from spmopt.core.graph import Graph
from spmopt.core.objective import Objective, objective_named
from spmopt.graph.tileable import tileable
from spmopt.graph.training import training_graph
from spmopt.hardware.machines import load_machine
from spmopt.verifier.fusion_bound import fusion_bound
from tests.formulations.fusion.random_tileable_graph import (
    OBJECTIVES,
    drawn,
    fusion_plans,
    random_tileable_graph,
)
from tests.formulations.fusion.test_fused_groups import fused_groups, relaxed
from tests.graph.networks import attention, convolution, mlp, residual
from tests.thorough import share, some


def cases(seeds: Iterable[int]) -> Iterator[tuple[Listed, FusionPlan, float]]:
    """Yield random graphs, fusion plans, each in runs at random, and what the fusion plans cost."""
    random = np.random.default_rng(5)
    for seed in seeds:
        listed, objective, figures = drawn(seed, most=5)
        for fusion_plan in islice(fusion_plans(listed), 0, 120, 1 + seed % 7):
            if all(each.micro_batches == 1 or each.end - each.begin == 1 for each in fusion_plan):
                continue
            found = relaxed(listed, fusion_plan, objective)
            if found is None:
                continue
            runs = list[FusedGroup]()
            for each in fusion_plan:
                inside = range(each.begin + 1, each.end)
                cuts = [at for at in inside if random.random() < 0.7]
                for begin, end in pairwise([each.begin, *cuts, each.end]):
                    runs.append(FusedGroup(begin=begin, end=end, micro_batches=each.micro_batches))
            yield figures, tuple(runs), found[1]


def too_high(seeds: Iterable[int], *, inner: bool, full: bool = True) -> tuple[int, int]:
    """Return how many sums of runs are above what their fusion plan costs.

    And how many are near it. Each fusion tile of a run finds and leaves a ``full`` scratchpad, or
    all fusion tiles together do.
    """
    above = near = 0
    for figures, runs, value in cases(seeds):
        most = [1.0 if full else 1 / run.micro_batches for run in runs]
        least = sum(
            FusedGroupProgram(figures, run, part * figures.capacity, inner=inner).solve().value
            for run, part in zip(runs, most, strict=True)
        )
        above += least > value * (1 + 1e-6) + 1e-15
        near += least > 0.5 * value
    return above, near


TELLING = (15, 46, 57, 64, 66, 87, 102, 126, 133, 135)
"""Tileable graphs, of 150, in which some run costs more as a group of its own.

Or with less to find."""


def test_no_fusion_plan_costs_less_than_the_runs_of_its_fused_groups() -> None:
    above, near = too_high([*some(range(40)), *some(TELLING, 2)], inner=True)
    assert above == 0
    assert near > share(20)


def test_a_run_costs_less_than_a_fused_group_of_the_same_operations() -> None:
    """What each tile finds may come from others' steps; so may all that fits, before each."""
    assert too_high(some(TELLING, 3), inner=False)[0] > 0
    assert too_high(some(TELLING, 2), inner=True, full=False)[0] > 0


@pytest.mark.parametrize("make", some([mlp, convolution, residual, attention], 2))
def test_runs_raise_values_of_fused_groups_that_are_not_solved(make: Callable[[], Graph]) -> None:
    """As far as the verifier proves them: a certificate of runs alone is worth what they say."""
    raised = 0
    for spm, name in product(some(("2KB", "4KB", "8KB"), 3), OBJECTIVES):
        machine = load_machine("small-npu", {"spm": spm, "page": "64B"})
        listed = tileable(training_graph(make()), machine)
        figures = Listed(listed, objective_named(name, machine))
        arcs = FusedGroupArcs(figures, float(figures.capacity))
        try:
            arcs.cheapest(lambda: True)
        except InfeasibleError:
            continue
        plain = arcs.value.copy()
        runs = arcs.runs.inside(fused_groups(listed))
        arcs.runs.solve(runs)
        arcs.raise_by_runs({Way(each.axis, each.count) for each in runs})
        found = arcs.cheapest(lambda: True)
        certificate = arcs.certificate()
        assert not certificate.duals
        exact = float(fusion_bound(listed, certificate))
        assert exact == pytest.approx(found.value, rel=1e-6, abs=1e-15)
        raised += int(np.count_nonzero(arcs.value > plain * 1.001))
    assert raised > share(20, 3)


def test_duals_of_runs_that_there_are_not_are_refused() -> None:
    listed = random_tileable_graph(3)
    objective = objective_named("time", listed.machine)
    figures = Listed(listed, objective)
    count = len(listed.operations)
    for run, message in (
        (FusedGroup(begin=0, end=count + 1), "is none"),
        (FusedGroup(begin=0, end=1, micro_batches=3), "is none"),
        (FusedGroup(begin=0, end=1), "no row is called"),
    ):
        proof = FusionCertificate(
            fusion_space=figures.fusion_space,
            objective=objective,
            bits=60,
            duals={},
            runs={run: {("found in tiles", 0): 1}},
        )
        with pytest.raises(InputError, match=message):
            fusion_bound(listed, proof)


def test_runs_whose_duals_prove_next_to_nothing_lower_no_bound() -> None:
    """Far below what 64 bits hold."""
    listed = random_tileable_graph(3)
    objective = objective_named("time", listed.machine)
    proof = FusionCertificate(
        fusion_space=Listed(listed, objective).fusion_space, objective=objective, bits=60, duals={}
    )
    dear: dict[Row, int] = {("capacity", 0, 0): -(2**200)}
    runs = {FusedGroup(begin=0, end=1): dear}
    assert fusion_bound(listed, replace(proof, runs=runs)) == fusion_bound(listed, proof)


def test_runs_that_cost_nothing_prove_nothing() -> None:
    listed, free = random_tileable_graph(3), Objective(name="free", unit="")
    runs: dict[FusedGroup, dict[Row, int]] = {
        FusedGroup(begin=at, end=at + 1, micro_batches=micro_batches): {}
        for at, operation in enumerate(listed.operations)
        for micro_batches in operation.mappings
    }
    proof = FusionCertificate(
        fusion_space=Listed(listed, free).fusion_space, objective=free, bits=60, duals={}, runs=runs
    )
    assert fusion_bound(listed, proof) == 0


def test_places_that_runs_raise_are_counted_as_work() -> None:
    _, _, figures = drawn(3)
    arcs = FusedGroupArcs(figures, float(figures.capacity))
    before = arcs.work.seconds
    arcs.raise_by_runs([Way(0, 1)])
    assert arcs.work.seconds - before == pytest.approx(TABLE_S * arcs.value[:, 0].size)


def test_equal_fused_groups_at_the_ends_of_the_listing_have_values_of_their_own() -> None:
    """Before the first and after the last nothing is on chip; between them a scratchpad is full."""
    compared = 0
    for seed in some(range(60), 16):
        listed, _, figures = drawn(seed, most=4)
        arcs = FusedGroupArcs(figures, float(figures.capacity))
        every = fused_groups(listed)
        arcs.solve(every[::-1])
        for fused_group in every:
            value = FusedGroupProgram(figures, fused_group, figures.capacity).solve().value
            assert arcs.solved[fused_group].value == pytest.approx(value, rel=1e-6, abs=1e-15)
            compared += 1
    assert compared > share(300, 16)
