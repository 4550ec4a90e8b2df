"""Fusion plans of other tools: each loads, has a legal schedule, and is within the fusion space."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import spmopt
from spmopt.api.fusion import resolve_fusion
from spmopt.core.fusion.certificate import FusionCertificate
from spmopt.core.fusion.tileable_graph import tileable_graph_of
from spmopt.core.objective import MAKESPAN
from spmopt.core.problem import Problem
from spmopt.core.scheduler import Request
from spmopt.policies.belady import belady
from spmopt.verifier.fusion_bound import fusion_bound
from tests.checked import value_of
from tests.instances.golden import FOLDER


def stream() -> Problem:
    network = spmopt.load("resnet18", batch=1, dtype="int8")
    return spmopt.lower(network, spmopt.machine("ethos-u65"))


def spyre() -> Problem:
    """Make a narrow layer, which has the operations and axes of the wide one of the file."""
    sizes = {"sequence": 32, "hidden": 32, "heads": 4, "groups": 2, "inner": 64, "vocabulary": 64}
    network = spmopt.load("llama3", dtype="bf16", parameters={"layers": 1, **sizes})
    return spmopt.lower(network, spmopt.machine("tpuv4i", spm="16KiB", page="64B"))


@pytest.mark.parametrize(
    ("name", "make", "tiles"),
    [("stream-resnet18", stream, [8, 4, 1]), ("spyre-llama3", spyre, [1, 16, 1])],
)
def test_plans_of_other_tools_are_scheduled_and_bounded(
    name: str, make: Callable[[], Problem], tiles: list[int]
) -> None:
    problem = make()
    fused = resolve_fusion(problem, FOLDER / "plans" / f"{name}.toml", None)
    assert [each.count for each in fused.fusion_plan] == tiles
    value = value_of(fused, MAKESPAN, belady(fused, Request()).residency_plan)
    graph = tileable_graph_of(problem)
    # Without dual values it is a bound still, if a low one.
    certificate = FusionCertificate(
        fusion_space=graph.fusion_space(), objective=MAKESPAN, bits=0, duals={}
    )
    assert 0 < fusion_bound(graph, certificate) <= value
