"""Estimates of groups: bytes counted as told one by one, covers that are legal, near programs."""

from __future__ import annotations

import numpy as np
import pytest

import spmopt
from formulations.fusion import schedule
from formulations.fusion.estimates import Estimates, Uses
from formulations.fusion.paths import FusedGroupArcs
from formulations.fusion.search import FusionPlanSearch
from formulations.fusion.tileable import Listed
from spmopt.core.fusion.tileable_graph import tileable_graph_of
from spmopt.core.objective import MAKESPAN
from spmopt.core.params import FusionParams, SolveParams
from spmopt.core.problem import Problem
from spmopt.core.scheduler import Request
from tests.formulations.fusion.random_tileable_graph import fits, random_tileable_graph
from tests.thorough import nightly, some


def _moved(listed: Listed, begin: int, end: int) -> list[float]:
    """Return what a fused group reads from before, leaves for later, and shares, by its uses."""
    into = out = shared = 0
    for tensor, accesses in enumerate(listed.accesses):
        inside = [(at, reads) for at, reads in accesses if begin <= at < end]
        operations = [listed.tileable.operations[at] for at, _ in inside]
        if not inside:
            continue
        size = listed.sizes[tensor]
        into += size * inside[0][1]
        written = any(tensor in each.writes for each in operations)
        out += size * (written and listed.live_after(tensor, inside[-1][0]))
        shared += size * (tensor not in operations[0].cut)
    return [into, out, shared]


def _held(listed: Listed, begin: int, end: int, step: int) -> float:
    """Return what is needed after a step of what was used before it, and not used in it."""
    total = 0
    for tensor, accesses in enumerate(listed.accesses):
        before = [at for at, _ in accesses if begin <= at < step]
        after = [(at, reads) for at, reads in accesses if step <= at < end]
        if before and after and after[0][0] > step:
            total += listed.sizes[tensor] * after[0][1]
    return total


@pytest.mark.parametrize("seed", some(range(60), 3))
def test_bytes_of_every_fused_group_are_those_of_its_uses(seed: int) -> None:
    """However narrow the window of begins."""
    longest = 3 + seed % 5
    params = FusionParams(estimated_group=longest)
    listed = Listed(random_tileable_graph(seed, most=12), MAKESPAN, params=params)
    uses = Uses(listed)
    for at in range(listed.count):
        first = uses.take(at)
        assert first <= max(at + 1 - longest, 0)
        for begin in range(max(at + 1 - longest, 0), at + 1):
            into, out, shared = _moved(listed, begin, at + 1)
            found = uses.moved[:, begin]
            assert found[:2].tolist() == [into, out]
            one_kind = all(listed.apart[each] < begin for each in range(begin, at + 1))
            assert found[2] + found[3] == shared or not one_kind
            assert (found[4:] <= found[:2]).all()
            for step in range(begin, at + 1):
                held = uses.held[:2, begin - uses.origin, step - uses.origin].sum()
                assert held == _held(listed, begin, at + 1, step)


@pytest.mark.parametrize("seed", some(range(40), 2))
def test_covers_are_legal_and_cost_what_their_fused_groups_do(seed: int) -> None:
    tileable = random_tileable_graph(seed, most=8)
    listed = Listed(tileable, MAKESPAN, tileable.fusion_space("batch"))
    found = Estimates(listed)
    fusion_plan = found.fusion_plan()
    if not fusion_plan:
        assert not all(tileable.fits(at, 1) for at in range(listed.count))
        return
    tileable.require(fusion_plan)
    assert not tileable.outside(listed.fusion_space, fusion_plan)
    assert fits(tileable, fusion_plan)


def _resnet() -> Problem:
    workload = spmopt.load("resnet18", training=True, batch=16)
    found = spmopt.lower(workload, spmopt.machine("rtx2080ti", spm="8MB"))
    assert isinstance(found, Problem)
    return found


@nightly
def test_fewer_steps_are_dearer_and_estimates_near_the_values_of_programs() -> None:
    tileable = tileable_graph_of(_resnet())
    listed = Listed(tileable, MAKESPAN, tileable.fusion_space("batch"))
    found = Estimates(listed)
    steps = [
        sum((each.end - each.begin) * each.count for each in found.fusion_plan(most))
        for most in (np.inf, 700, 400)
    ]
    assert steps[0] > 700 >= steps[1] > 400 >= steps[2]
    search = FusionPlanSearch(FusedGroupArcs(listed, listed.capacity), bool)
    for fusion_plan in (found.fusion_plan(), found.fusion_plan(400)):
        assert found.cost(fusion_plan) == pytest.approx(search.value(fusion_plan), rel=0.15)
    fine = found.fusion_plan(fine=True)
    assert found.cost(fine, fine=True) <= found.cost(found.fusion_plan(), fine=True)
    assert found.cost(found.fusion_plan()) < found.cost(found.fusion_plan(400))


def test_a_fusion_plan_by_estimates_is_scheduled_before_values_are_tabulated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Then no time needs to be left for them."""

    def none(*_: object) -> None:
        raise AssertionError("tabulated first")

    params = FusionParams(estimated_operations=10, estimated_operations_per_s=1)
    problem = _resnet()
    tried = list[int]()
    search = schedule._Search(
        tileable_graph_of(problem),
        tileable_graph_of(problem).fusion_space(),
        Request(time_limit_s=60.0, params=SolveParams(fusion=params)),
    )
    monkeypatch.setattr(schedule, "FusedGroupArcs", none)
    monkeypatch.setattr(search, "attempt", lambda fusion_plan, **_: tried.append(len(fusion_plan)))
    search._by_estimates()
    assert tried
    assert all(number > 1 for number in tried)
