"""The bound over all covers in a process of its own, and what becomes of it where that ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod
from time import monotonic

import pytest

import spmopt
from formulations.covers.bounding import Problem, cheapest
from formulations.covers.listed import Listed
from formulations.covers.paths import SegmentArcs
from formulations.solver import apart
from spmopt.core.graph import Graph
from spmopt.core.instance import Instance
from spmopt.core.objective import MAKESPAN
from spmopt.core.pieces.listing import listing_of
from spmopt.core.scheduler import Request
from spmopt.graph import operators
from spmopt.graph.build import GraphBuilder
from spmopt.graph.operators.spec import OperatorSpec, Style
from spmopt.solving import solve

OWN = "com.acme.Swirl"


@pytest.fixture
def swirl() -> Iterator[str]:
    """Register an operator at run time, by functions that no other process knows."""
    operators.register_operators(
        [
            OperatorSpec(
                name=OWN,
                style=Style.POINTWISE,
                shapes=lambda inputs, attributes: (inputs[0],),
                operations=lambda inputs, results, attributes: 3 * prod(results[0]),
                computes=operators.lookup("Relu").computes,
            )
        ]
    )
    yield OWN
    operators.SPECS.added.pop(OWN)


def stack(activation: str) -> Graph:
    """Build six convolutions, an activation after each."""
    b = GraphBuilder("stack")
    x = b.input("x", (4, 16, 32, 32))
    for k in range(6):
        x = b.add(
            "Conv", [x, b.weight(f"w{k}", (16, 16, 3, 3))], pads=(1, 1, 1, 1), name=f"conv{k}"
        )
        x = b.add(activation, [x], name=f"{activation}{k}")
    return b.finish([x])


def lowered(activation: str) -> Instance:
    found = spmopt.lower(stack(activation), spmopt.machine("large-npu", spm="64KiB"))
    assert isinstance(found, Instance)
    return found


def test_operators_of_this_process_need_not_be_known_there(swirl: str) -> None:
    listing, began = listing_of(lowered(swirl)), monotonic()
    family = listing.family()
    assert len(family.bands) > 1
    found = cheapest(
        Problem(listing, MAKESPAN, family),
        lambda: monotonic() - began > 30,
        lambda cover, proof: None,
        lambda solved, runs: None,
        more=bool,
    )
    figures = Listed(listing, MAKESPAN, family)
    here = SegmentArcs(figures, float(figures.capacity)).cheapest(lambda: False)
    assert found.exact
    assert found.value == pytest.approx(here.value)


def test_the_search_goes_on_where_the_process_of_the_bound_dies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(apart, "_idle", [])
    monkeypatch.setattr(apart, "_SERVE", "import os; os._exit(3)")
    instance = lowered("Relu")
    asked = replace(Request(time_limit_s=6.0), tolerance=1e-4, threads=2)
    result = solve(instance, "pieces", asked)
    (note,) = (each for each in result.notes if "ended early" in each)
    assert note.startswith("the search of the bound ended early: the solver's process ended by")
    assert result.pieces is not None
    assert len(result.pieces.cover) >= 1
    assert result.value is not None
    assert result.cover_bound is not None
    whole = solve(instance, "page", replace(asked, time_limit_s=2.0)).value
    assert whole is not None
    assert result.cover_bound <= result.value < whole
