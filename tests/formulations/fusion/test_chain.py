"""Dual values of one fusion plan, all at once, and bounds of groups that are means of two."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from formulations.fusion.agreement import Agreement
from formulations.fusion.boundary_duals import BoundaryDuals, PricedFusedGroup
from formulations.fusion.chain import chain
from formulations.fusion.chained_plans import single_operations
from formulations.fusion.paths import FusedGroupArcs
from formulations.fusion.tileable import Listed
from spmopt.core.fusion.certificate import FusionCertificate
from spmopt.core.objective import TRAFFIC
from spmopt.verifier import fusion_bound as verifier
from tests.formulations.fusion.agreeing import run_to_its_end
from tests.formulations.fusion.random_tileable_graph import (
    drawn,
    fusion_plans,
    random_tileable_graph,
)
from tests.formulations.fusion.test_fused_groups import relaxed
from tests.thorough import share, some


def test_single_operations_at_the_dual_values_cost_as_much_as_in_one_program() -> None:
    """Strong duality: there are none at which they cost more."""
    compared = 0
    for seed in some(range(120)):
        _, _, figures = drawn(seed, most=6, mappings=1 + seed % 2)
        search = Agreement(FusedGroupArcs(figures, float(figures.capacity), split=True))
        found = run_to_its_end(search._agree_along(single_operations(figures))).duals
        if found is None:
            continue
        for times in (1.0, 1.1, 0.9):
            total = 0.0
            for each in single_operations(figures):
                priced = search._program_of(each)
                priced.solve(times * found)
                total += priced.value
            assert total <= search.least * (1 + 1e-6) + 1e-12, seed
            # Dual values below 0, or above what a certificate may have, are cut off.
            same = total == pytest.approx(search.least, rel=1e-6)
            compared += times == 1 and same and bool(found.any())
    assert compared > share(20)


def test_layer_by_layer_the_programs_in_a_row_are_the_relaxation_in_bytes() -> None:
    """Inputs that are read again, and dirty bytes that a next use has to find, among them."""
    compared = 0
    for seed in some(range(240)):
        listed = random_tileable_graph(seed, most=6)
        # Sums over the batch have no dual values.
        if any(operation.partial_sums for operation in listed.operations):
            continue
        written = {t for operation in listed.operations for t in operation.writes}
        kept = (replace(x, keep=x.keep and t in written) for t, x in enumerate(listed.tensors))
        listed = replace(listed, tensors=tuple(kept))
        figures, objective = Listed(listed, TRAFFIC), TRAFFIC
        plan = single_operations(figures)
        search = Agreement(FusedGroupArcs(figures, float(figures.capacity), split=True))
        if any(each.count > 1 for each in plan):
            continue
        found = run_to_its_end(search._agree_along(plan))
        known = relaxed(listed, plan, objective)
        if found.duals is None or known is None:
            continue
        assert found.least == pytest.approx(known[1], rel=1e-6), seed
        compared += 1
    assert compared > share(40)


@pytest.mark.parametrize("seed", [1447])
def test_dirty_bytes_that_are_written_over_are_dead_before(seed: int) -> None:
    """A program that has them on chip then says more than a plan costs."""
    listed, objective, figures = drawn(seed)
    duals, compared = BoundaryDuals(figures), 0
    for plan in islice(fusion_plans(listed), 0, 40, 3):
        value = relaxed(listed, plan, objective)
        if value is None:
            continue
        priced = [PricedFusedGroup(figures, each, duals, fine=True) for each in plan]
        assert chain(priced, duals.count).least <= value[1] * (1 + 1e-6), plan
        compared += 1
    assert compared


def test_groups_without_dual_values_take_the_best_mean_of_their_bounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By the verifier as by the search; of computing or of bytes alone they prove less."""
    raised = 0
    for seed in some(range(40)):
        listed, objective, figures = drawn(seed, most=6)
        arcs = FusedGroupArcs(figures, float(figures.capacity), split=True)
        search = Agreement(arcs)
        if not any(search._costs):
            continue
        prices = np.full(search.duals.count, 0.5 * search.planes.unit)
        certificate = FusionCertificate(
            fusion_space=figures.fusion_space,
            objective=objective,
            bits=60,
            duals={},
            carried={
                place: (round(held * 2**60), round(newer * 2**60))
                for place, (held, newer) in search.duals.with_name(prices).items()
            },
        )
        bound = float(verifier.FusionPlanPath(listed, certificate).value())
        value = search._path(prices)[0]
        assert bound >= value * (1 - 1e-6) - 1e-9, seed
        with monkeypatch.context() as patch:
            patch.setattr(verifier, "PARTS", 1)
            least = float(verifier.FusionPlanPath(listed, certificate).value())
        assert bound >= least * (1 - 1e-9) - 1e-9, seed
        raised += bound > least * 1.001
    assert raised


def test_a_plan_of_one_group_costs_what_its_program_does() -> None:
    compared = 0
    for seed in some(range(60)):
        _, _, figures = drawn(seed, most=5, mappings=1 + seed % 2)
        search = Agreement(FusedGroupArcs(figures, float(figures.capacity), split=True))
        for way in range(len(figures.ways)):
            group = figures.fused_group(0, figures.count, way)
            can = np.isfinite(figures.of(group).cycles(group.micro_batches)).all()
            if can and figures.allows(group):
                priced = search._program_of(group)
                priced.solve(np.zeros(search.duals.count))
                found = run_to_its_end(search._agree_along((group,)))
                assert found.duals is not None
                assert not found.duals.any()
                assert found.least == pytest.approx(priced.value)
                assert search.plans
                compared += 1
    assert compared > share(20)
