"""Fused results, made by hand: a fusion plan, the best schedule of its problem, and a proof."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from formulations.fusion.paths import FusedGroupArcs
from formulations.fusion.tileable import Listed
from spmopt.core.fusion.fused_groups import FusionPlan
from spmopt.core.fusion.tileable_graph import TileableGraph
from spmopt.core.graph import Graph
from spmopt.core.machine import Machine
from spmopt.core.objective import objective_named
from spmopt.core.result import Status, is_optimal
from spmopt.core.scheduler import Request
from spmopt.core.solution import Solution
from spmopt.graph.tileable import tileable
from spmopt.graph.training import training_graph
from spmopt.hardware.machines import load_machine
from spmopt.solving import solve
from spmopt.verifier.fusion_bound import fusion_bound
from tests.graph.networks import mlp
from tests.uniform import uniform_plan

MACHINE = replace(load_machine("rtx2080ti"), spm_bytes=256, page_bytes=64)
TOLERANCE = 0.05


def solved(
    listed: TileableGraph,
    fusion_plan: FusionPlan,
    *,
    objective: str = "time",
    seconds: float = 60.0,
) -> Solution:
    """The result of a fusion plan of a tileable graph, with a certified bound over all of them."""
    asked = objective_named(objective, listed.machine)
    problem, _ = listed.problem(fusion_plan)
    # Of several mappings the last per mille take most of the time, and no test needs them.
    request = Request(objective=asked, threads=1, time_limit_s=seconds, tolerance=TOLERANCE)
    result = solve(problem, "residency", request)
    figures = Listed(listed, asked)
    arcs = FusedGroupArcs(figures, float(figures.capacity), split=True)
    arcs.cheapest(lambda: False)
    certificate = arcs.certificate()
    result = replace(
        result,
        fused=problem,
        fusion_certificate=certificate,
        fusion_bound=fusion_bound(listed, certificate),
    )
    near = is_optimal(result.fusion_gap, result.tolerance or 0.0)
    result = replace(result, status=Status.OPTIMAL if near else Status.FEASIBLE)
    return Solution(problem=problem, result=result)


def of_graph(
    graph: Graph,
    micro_batches: int,
    *,
    objective: str = "time",
    machine: Machine = MACHINE,
    mapper: str = "choose",
) -> Solution:
    """The result of as many fusion tiles wherever there can be."""
    found = tileable(graph, machine, mapper=mapper)
    return solved(found, uniform_plan(found, micro_batches), objective=objective)


@cache
def perceptron() -> Solution:
    """A training step of two layers, in four fusion tiles."""
    return of_graph(training_graph(mlp(), optimizer="sgd"), 4, objective="traffic")
