"""Groups along several axes: bounds against every fusion plan, and the search against the least."""

from __future__ import annotations

from itertools import islice

import pytest

from formulations.fusion.agreement import Agreement
from formulations.fusion.fused_group import FusedGroupProgram
from spmopt.core.errors import InputError
from spmopt.core.fusion.certificate import FusionCertificate
from spmopt.core.fusion.fused_groups import FusedGroup
from spmopt.core.fusion.fusion_space import Way
from spmopt.verifier.fusion_bound import fusion_bound
from tests.formulations.fusion.random_tileable_graph import drawn, fusion_plans
from tests.formulations.fusion.test_agreement import after, against_all
from tests.formulations.fusion.test_fused_groups import relaxed, same_tables
from tests.thorough import share, some


def test_no_fusion_plan_along_any_axis_costs_less_than_its_groups() -> None:
    compared = along = tight = 0
    for seed in some(range(2000, 2080), 10):
        listed, objective, figures = drawn(seed, axes=2 + seed % 2, mappings=1 + seed % 3 // 2 * 2)
        for fusion_plan in islice(fusion_plans(listed), 0, 80, 1 + seed % 5):
            found = relaxed(listed, fusion_plan, objective)
            if found is None:
                continue
            least = sum(
                FusedGroupProgram(figures.of(each), each, figures.capacity).solve().value
                for each in fusion_plan
            )
            assert least <= found[1] * (1 + 1e-6) + 1e-15, (seed, fusion_plan)
            compared += 1
            along += any(each.axis for each in fusion_plan)
            tight += least > 0.8 * found[1]
    assert compared > share(300, 10)
    assert along > compared / 4
    assert tight > compared / 10


def test_the_bound_over_all_axes_holds_and_duals_at_boundaries_raise_it() -> None:
    """Verified in exact integers, against every fusion plan; sums and duplex among them."""
    compared = raised = least_found = 0
    for seed in some(range(2100, 2172), 18):
        listed, objective, figures = drawn(seed, most=3, axes=2 + seed % 2)
        found = against_all(listed, objective, figures)
        if found is None:
            continue
        arcs, plain, known = found
        bound = float(fusion_bound(listed, arcs.certificate()))
        assert bound >= plain * (1 - 1e-6) - 1e-12, seed
        search = Agreement(arcs, fine=seed % 2 == 0)
        search.improve(after(12))
        agreed = float(fusion_bound(listed, search.certificate()))
        assert agreed >= max(search.best, figures.compulsory) * (1 - 1e-6) - 1e-12, seed
        for each in (bound, agreed):
            assert not known or each <= min(known) * (1 + 1e-6) + 1e-12, seed
        raised += agreed > bound * 1.001
        compared += bool(known)
        least_found += bool(known) and agreed > 0.99 * min(known)
    assert compared > share(36, 18)
    assert raised
    assert least_found


def test_exact_tables_are_those_of_programs_along_each_axis() -> None:
    for seed in some(range(2200, 2240)):
        listed, _, figures = drawn(seed, axes=3)
        path = same_tables(listed, figures)
        assert path.ways == figures.ways
        assert Way(2, 2) in path.ways or not any(
            len(each.mappings) > 1 for each in listed.others[1].operations
        )


def test_sums_have_no_dual_values_of_their_own() -> None:
    """A group that sums up a tensor along a further axis, at prices of that tensor at its end."""
    refused = 0
    for seed in range(2000, 2080):
        listed, objective, figures = drawn(seed, axes=2)
        for at, operation in enumerate(listed.others[0].operations[:-1]):
            group = FusedGroup(begin=at, end=at + 1, micro_batches=2, axis=1)
            summed = [t for t in operation.partial_sums if figures.groups[t] == t]
            if not summed or listed.obstacle(group):
                continue
            proof = FusionCertificate(
                fusion_space=listed.fusion_space(),
                objective=objective,
                bits=0,
                duals={},
                carried={(at + 1, summed[0]): (0, 0)},
                agreed={group: {}},
            )
            with pytest.raises(InputError, match="it sums up a tensor with dual values"):
                fusion_bound(listed, proof)
            refused += 1
    assert refused > 3


def test_an_axis_that_is_none_is_refused() -> None:
    listed, objective, figures = drawn(2000, axes=2)
    space = listed.fusion_space()
    assert len(space.others) == 1
    proof = FusionCertificate(fusion_space=space, objective=objective, bits=0, duals={})
    with pytest.raises(InputError, match="has 2 axes; none is number 5"):
        listed.obstacle(FusedGroup(begin=0, end=1, micro_batches=2, axis=5))
    alone = listed.others[0]
    with pytest.raises(InputError, match="the graph has no 1 further axes"):
        fusion_bound(alone, proof)
    assert figures.way(FusedGroup(begin=0, end=1, micro_batches=2, axis=1)) == len(figures.ways) - 1
