"""Fusion plans found at the dual values of others, and what schedules of them cost."""

from __future__ import annotations

import numpy as np
import pytest

from formulations.fusion.agreement import Agreement
from formulations.fusion.named_plans import NamedPlans
from formulations.fusion.paths import FusedGroupArcs
from formulations.fusion.tileable import Listed
from spmopt.core.fusion.tileable_graph import TileableGraph, tileable_graph_of, whole
from spmopt.core.graph import Graph
from spmopt.core.objective import MAKESPAN
from spmopt.core.scheduler import Request
from spmopt.frontends.zoo.attention import Widths, perceptron
from spmopt.frontends.zoo.layers import NetworkBuilder
from spmopt.graph.tileable import lower_listed
from spmopt.hardware.machines import load_machine
from tests.checked import need


def experts(count: int) -> Graph:
    """Make a sum of perceptrons of one input, whose inner maps do not fit beside it."""
    widths = Widths(hidden=64, inner=256, heads=1, activation="Relu", attention_bias=True)
    net = NetworkBuilder("experts", element_type="bf16")
    x = y = net.input("tokens", (1, 64, 64))
    for number in range(count):
        expert = perceptron(net, f"expert{number}", x, widths)
        y = net.layer("Add", f"expert{number}.sum", y, expert)
    return net.finish([y])


@pytest.fixture(scope="module")
def tileable() -> TileableGraph:
    machine = load_machine("small-npu", {"spm": "48KiB", "page": "256B", "bandwidth": "1GB/s"})
    return tileable_graph_of(lower_listed(experts(2), machine, mapper="choose"))


@pytest.fixture(scope="module")
def search(tileable: TileableGraph) -> Agreement:
    listed = Listed(tileable, MAKESPAN)
    arcs = FusedGroupArcs(listed, float(listed.capacity), split=True)
    found = Agreement(arcs)
    for _ in found.search_plans():
        pass
    return found


def test_perceptrons_are_fused_along_their_inner_axis(
    tileable: TileableGraph, search: Agreement
) -> None:
    """Layer by layer each map of twice the scratchpad's share would leave and come again."""
    alone = search.plans[whole(tileable)].least
    assert search.least < 0.75 * alone
    along = {tileable.along_axis(each.axis).along for each in search.cheapest if each.count > 1}
    assert "inner" in along


def test_a_named_plan_costs_about_as_much_as_its_programs(
    tileable: TileableGraph, search: Agreement
) -> None:
    trials = NamedPlans(tileable, Request(time_limit_s=2.0), 0.0)
    assert not trials.attempt_named()
    trials.named |= search.new_plans()
    assert not search.new_plans()
    assert trials.attempt_named()
    best = need(trials.best)
    assert search.least * (1 - 1e-6) <= float(best.value) < 1.05 * search.least
    # What programs promised is what others have to beat.
    above = float(best.value) / search.least
    trials.named[whole(tileable)] = search.plans[whole(tileable)]
    assert trials._expect(whole(tileable)) == pytest.approx(
        search.plans[whole(tileable)].least * above, rel=1e-3
    )
    # Only a plan below the bound of the best may be better than that scheduled finer.
    own = search.plans[whole(tileable)]
    for promised, more in ((best.bound * 0.99, True), (best.bound * 1.01, False)):
        trials.named = {whole(tileable): own._replace(least=promised)}
        assert trials.another_promises_more == more


def test_mappings_of_a_chain_are_shares_of_tiles(
    tileable: TileableGraph, search: Agreement
) -> None:
    for plan, found in search.plans.items():
        groups = {at: each for each in plan for at in range(each.begin, each.end)}
        for at, shares in found.mappings:
            own = tileable.along_axis(groups[at].axis).operations[at]
            known = own.common(groups[at].micro_batches)
            assert all(mapping in known for mapping, _ in shares)
            assert np.isclose(sum(share for _, share in shares), 1.0, atol=1e-3)
