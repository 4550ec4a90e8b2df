"""The search of duals at boundaries.

Bounds that rise, hold for all fusion plans, and are proved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from formulations.fusion import bounding
from formulations.fusion.agreement import Agreement
from formulations.fusion.boundary_duals import BoundaryDuals
from formulations.fusion.paths import FusedGroupArcs
from formulations.fusion.tileable import Listed
from spmopt.core.errors import InfeasibleError
from spmopt.core.fusion.fused_groups import TileMappings
from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.core.objective import Objective, objective_named
from spmopt.core.operation import OpMapping
from spmopt.graph.tileable import tileable
from spmopt.hardware.machines import load_machine
from spmopt.verifier.boundary_credit import BoundaryCredit
from spmopt.verifier.carried import Carried
from spmopt.verifier.fusion_bound import fusion_bound
from tests.formulations.fusion.agreeing import raise_bound
from tests.formulations.fusion.random_tileable_graph import (
    drawn,
    fusion_plans,
    random_tileable_graph,
)
from tests.formulations.fusion.test_fused_groups import relaxed
from tests.graph.networks import attention
from tests.thorough import nightly, share, some


def after(times: int) -> Callable[[], bool]:
    """Return what is true once it was asked so often."""
    steps = iter(range(times))
    return lambda: next(steps, None) is None


def against_all(
    listed: TileableGraph, objective: Objective, figures: Listed
) -> tuple[FusedGroupArcs, float, list[float]] | None:
    """Return the bound of programs, and the fluid values of all fusion plans; None if none fits."""
    arcs = FusedGroupArcs(figures, float(figures.capacity), split=True)
    try:
        plain = arcs.cheapest(lambda: False).value
    except InfeasibleError:
        return None
    values = [relaxed(listed, fusion_plan, objective) for fusion_plan in fusion_plans(listed)]
    return arcs, plain, [value[1] for value in values if value is not None]


@pytest.mark.parametrize("compression", [False, pytest.param(True, marks=nightly)])
def test_bounds_rise_and_no_fusion_plan_costs_less(compression: bool) -> None:
    """Verified in exact integers, of fusion plans by fluid schedules.

    Three objectives, duplex too.
    """
    compared, raised = 0, {False: 0, True: 0}
    for seed in some(range(700, 724), 4):
        listed, objective, figures = drawn(seed, most=4, compression=compression)
        found = against_all(listed, objective, figures)
        if found is None:
            continue
        arcs, plain, known = found
        for fine in raised:
            search, told = Agreement(arcs, fine=fine), list[float]()
            raise_bound(search, after(12), told.append)
            assert told == sorted(told), seed
            bound = float(fusion_bound(listed, search.certificate()[0]))
            least = max(search.best, figures.compulsory)
            # The verifier knows the order of tiles, which programs add up.
            assert bound >= least * (1 - 1e-6) - 1e-12, seed
            assert bound >= plain * (1 - 1e-6) - 1e-12, seed
            assert not known or bound <= min(known) * (1 + 1e-6) + 1e-12, seed
            raised[fine] += bound > plain * 1.001
        compared += bool(known)
    assert compared > share(12, 4)
    # Of these compressed ones too few have something to agree on.
    assert compression or all(raised.values())


def test_bounds_of_a_network_rise_within_a_few_steps() -> None:
    machine = load_machine("rtx2080ti", {"page": "16B", "spm": "256B", "bandwidth": "10GB/s"})
    listed = tileable(attention(), machine, mapper="panel")
    figures = Listed(listed, objective_named("traffic", machine))
    arcs = FusedGroupArcs(figures, float(figures.capacity), split=True)
    plain, search = arcs.cheapest(lambda: False).value, Agreement(arcs)
    raise_bound(search, after(40))
    bound = float(fusion_bound(listed, search.certificate()[0]))
    # The verifier knows the order of tiles, which programs add up.
    assert bound >= search.best * (1 - 1e-6)
    assert bound > 1.002 * plain


def test_what_fused_groups_earn_at_most_is_the_same_or_less_by_the_verifier() -> None:
    """Of two ways of computing it; of dual values of any size."""
    bits, compared, tight = 40, 0, 0
    for seed in some(range(800, 830), 2):
        listed, random = random_tileable_graph(seed, most=6), np.random.default_rng(seed)
        objective = objective_named("traffic", listed.machine)
        figures = Listed(listed, objective)
        duals, arcs = (
            BoundaryDuals(figures),
            FusedGroupArcs(figures, float(figures.capacity), split=True),
        )
        given = random.integers(0, 2**bits, duals.count) / 2.0**bits
        carried = {
            place: (round(held * 2**bits), round(newer * 2**bits))
            for place, (held, newer) in duals.with_name(given).items()
        }
        at_boundaries = Carried(listed, carried)
        for costs in ((0, 0), (1, 1), (2, 1)):
            credit = BoundaryCredit(listed, at_boundaries, (bits, 30), 2**31)
            both = zip(costs, arcs.cheap[0].count_bytes()[:2], strict=True)
            moved = sum(cost * each.T[: figures.count] for cost, each in both)
            given_costs = Fraction(costs[0]), Fraction(costs[1])
            exact = credit.paths(*given_costs) / 2.0**30
            exact = np.maximum(exact[:-1], moved - credit.full(*given_costs)[:-1] / 2.0**30)
            found = moved + duals.least(given, (float(costs[0]), float(costs[1])))[:-1]
            begins, ends = np.triu_indices(len(exact), 1, len(exact) + 1)
            # Paths are tighter than the cases that the search counts.
            assert (exact - found)[begins, ends].min() > -1e-6
            tight += int(np.isclose(exact, found, atol=1e-6)[begins, ends].sum())
            compared += bool(carried)
    assert compared > share(40, 2)
    assert tight > share(500, 2)


def test_proofs_are_told_while_the_bound_rises() -> None:
    """Each proves what is told with it.

    Which is more than the cheapest fusion plan without duals.
    """
    machine = load_machine("rtx2080ti", {"page": "16B", "spm": "256B", "bandwidth": "10GB/s"})
    listed = tileable(attention(), machine, mapper="panel")
    objective, told, plain = objective_named("traffic", machine), 0, 0.0
    task = bounding.BoundingTask(listed, objective, listed.fusion_space())
    for found, _, _, proof, *_ in bounding.improve(task):
        if proof is None:
            plain = found.value
            continue
        assert found.value >= plain
        # The first one, without dual values, may lose a little so that it is short.
        lost = 1e-6 if told else 1e-5
        assert float(fusion_bound(listed, proof)) >= found.value * (1 - lost)
        told += 1
        if told == 3:
            break
    assert found.value > plain
    assert told


@pytest.mark.parametrize("seed", [1087, 1342])
def test_the_verifier_proves_groups_with_programs_by_means_as_well(seed: int) -> None:
    listed, _, figures = drawn(seed, most=4)
    arcs = FusedGroupArcs(figures, float(figures.capacity), split=True)
    arcs.cheapest(lambda: False)
    search = Agreement(arcs, fine=True)
    raise_bound(search, after(12))
    certificate, value = search.certificate()
    # The search of plans solves groups without looking at the best dual values again.
    assert value >= search.best * (1 - 1e-6)
    assert float(fusion_bound(listed, certificate)) == pytest.approx(value)


@pytest.mark.parametrize("name", ["time", "traffic"])
def test_operations_without_operands_are_in_no_proof(name: str) -> None:
    """Nor does a search of a bound of 0 go on for ever."""
    listed = random_tileable_graph(1087, most=4)
    first = listed.operations[0]
    none = TileMappings.of(*2 * ((OpMapping(compute_cycles=0, operands=()),),))
    idle = replace(first, name="idle", reads=(), writes=(), cut=frozenset(), mappings={1: none})
    for operations in ((idle,), (*listed.operations, idle)):
        graph = replace(listed, operations=operations)
        figures = Listed(graph, objective_named(name, graph.machine))
        arcs = FusedGroupArcs(figures, float(figures.capacity), split=True)
        plain = arcs.cheapest(lambda: False).value
        search = Agreement(arcs)
        raise_bound(search, after(10_000))
        for certificate in (arcs.certificate(), search.certificate()[0]):
            assert float(fusion_bound(graph, certificate)) >= plain * (1 - 1e-6)
