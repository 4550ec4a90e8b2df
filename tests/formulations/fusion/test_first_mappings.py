"""Fusion plans searched in the first mapping of each operation, where time is short."""

from __future__ import annotations

from dataclasses import replace

import pytest

import spmopt
from formulations.fusion.schedule import _Search
from formulations.fusion.trials import FusionPlanTrials
from spmopt.core.fusion.tileable_graph import TileableGraph, tileable_graph_of, whole
from spmopt.core.graph import Graph
from spmopt.core.problem import Problem
from spmopt.core.result import End
from spmopt.core.scheduler import Request
from spmopt.graph.build import GraphBuilder
from tests.checked import need


def stack(count: int = 2) -> Graph:
    """Build convolutions, an activation after each."""
    b = GraphBuilder("stack")
    x = b.input("x", (2, 16, 32, 32))
    for k in range(count):
        x = b.add(
            "Conv", [x, b.weight(f"w{k}", (16, 16, 3, 3))], pads=(1, 1, 1, 1), name=f"conv{k}"
        )
        x = b.add("Relu", [x], name=f"relu{k}")
    return b.finish([x])


def lowered(mapper: str) -> Problem:
    found = spmopt.lower(stack(), spmopt.machine("large-npu", spm="64KiB"), mapper=mapper)
    assert isinstance(found, Problem)
    return found


def graph_of(mapper: str) -> TileableGraph:
    return tileable_graph_of(lowered(mapper))


def test_first_mappings_are_those_of_the_mapper_tiled() -> None:
    every, tiled = graph_of("choose"), graph_of("tiled")
    first = every.in_first_mappings()
    assert every.several_mappings
    assert not first.several_mappings
    assert [each.mappings for each in first.operations] == [
        each.mappings for each in tiled.operations
    ]
    for at in range(len(tiled.operations)):
        found, expected = (need(each.stripe_mappings)(at, 0, 8) for each in (first, tiled))
        assert found == expected
        assert need(every.stripe_mappings)(at, 0, 8)[:1] == expected


@pytest.mark.parametrize(
    ("limit_s", "pace", "short"), [(0.05, 1, True), (60, 1, False), (0.5, 12, True)]
)
def test_a_time_is_short_by_operations_mappings_and_pace(
    limit_s: float, pace: float, short: bool
) -> None:
    for mapper in ("choose", "tiled"):
        tileable = graph_of(mapper)
        search = _Search(tileable, tileable.fusion_space(), Request(time_limit_s=limit_s))
        assert search._is_short(pace) == (short and mapper == "choose")


def test_a_plan_found_in_first_mappings_is_one_in_any(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Search, "_is_short", lambda search, pace: True)
    searched = list[TileableGraph]()
    search = _Search._try_named

    def search_in(run: _Search) -> None:
        searched.append(run.searched)
        search(run)

    monkeypatch.setattr(_Search, "_try_named", search_in)
    found = spmopt.solve(
        lowered("choose"), "fusion:space=batch", time_limit=20.0, tolerance=0.05
    ).result
    assert not searched[0].several_mappings
    assert need(found.fused).several_mappings
    assert found.verified
    (listed,) = found.beside
    assert need(found.value) < need(listed.value)
    assert need(found.fusion_bound) <= need(found.value)
    assert found.end is not End.EXHAUSTED


def test_a_plan_that_is_the_best_in_first_mappings_is_scheduled_in_all() -> None:
    """A bound in first mappings says nothing of the others."""
    tileable = tileable_graph_of(lowered("choose"))
    trials = FusionPlanTrials(tileable, Request(time_limit_s=20.0), 0.0)
    trials.searched = tileable.in_first_mappings()
    trials.attempt(whole(tileable))
    first = need(trials.best)
    trials.found = [replace(first, bound=float(first.value))]
    assert need(trials.finish()).value < first.value
