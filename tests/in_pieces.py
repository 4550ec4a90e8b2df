"""Results in pieces, made by hand: a cover, the best schedule of its instance, and a proof."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from formulations.covers.listed import Listed
from formulations.covers.paths import SegmentArcs
from spmopt.core.graph import Graph
from spmopt.core.machine import Machine
from spmopt.core.objective import objective_named
from spmopt.core.pieces.listing import Listing, Pieces
from spmopt.core.pieces.segments import Cover
from spmopt.core.result import Status, is_optimal
from spmopt.core.scheduler import Request
from spmopt.graph.listing import listing
from spmopt.graph.training import training_graph
from spmopt.hardware.machines import load_machine
from spmopt.io.files import StoredResult
from spmopt.solving import solve
from spmopt.verifier.cover_bound import cover_bound
from tests.graph.networks import mlp

MACHINE = replace(load_machine("rtx2080ti"), spm_bytes=256, page_bytes=64)


def solved(listed: Listing, cover: Cover, *, objective: str = "time") -> StoredResult:
    """The result of a cover of a listing, with a certified bound over all of them."""
    asked = objective_named(objective, listed.machine)
    instance, _ = listed.instance(cover)
    result = solve(instance, "page", Request(objective=asked, threads=1))
    figures = Listed(listed, asked)
    arcs = SegmentArcs(figures, float(figures.capacity))
    arcs.cheapest(lambda: False)
    certificate = arcs.certificate()
    pieces = Pieces(listing=listed, cover=cover, instance=instance, certificate=certificate)
    result = replace(result, pieces=pieces, cover_bound=cover_bound(listed, certificate))
    near = is_optimal(result.cover_gap, result.tolerance or 0.0)
    result = replace(result, status=Status.OPTIMAL if near else Status.FEASIBLE)
    return StoredResult(instance=instance, result=result)


def of_graph(
    graph: Graph, pieces: int, *, objective: str = "time", machine: Machine = MACHINE
) -> StoredResult:
    """The result of as many pieces wherever there can be."""
    found = listing(graph, machine)
    return solved(found, found.uniform(pieces), objective=objective)


@cache
def perceptron() -> StoredResult:
    """A training step of two layers, in four pieces."""
    return of_graph(training_graph(mlp(), optimizer="sgd"), 4, objective="traffic")
