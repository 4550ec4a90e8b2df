"""Values of segments: never above what a cover costs, and the program of the list as a whole."""

from __future__ import annotations

from itertools import islice

import pytest

from formulations.covers.listed import Listed
from formulations.covers.paths import SegmentArcs
from formulations.covers.segment import SegmentProgram
from formulations.residency.column_generation import ColumnGeneration
from spmopt.core.errors import InfeasibleError
from spmopt.core.listing import Cover, Listing, Segment
from spmopt.core.objective import Objective, objective_named
from spmopt.core.scheduler import Request
from spmopt.graph.listing import listing
from spmopt.graph.training import training_graph
from spmopt.hardware.machines import load_machine
from tests.formulations.covers.random_listing import covers, random_listing
from tests.graph.networks import attention, convolution, lstm, mlp, residual

OBJECTIVES = ("time", "traffic", "energy")


def relaxed(listed: Listing, cover: Cover, objective: Objective) -> tuple[float, float] | None:
    """Bound and value, in whole bytes, of the relaxation of a cover; None where nothing fits."""
    instance, _ = listed.instance(cover)
    try:
        search = ColumnGeneration(
            instance, Request(objective=objective, tolerance=1e-7, threads=1), fluid=True
        )
        search.run(1e-7)
    except InfeasibleError:
        return None
    assert search.value is not None
    return search.bound, float(search.value)


@pytest.mark.parametrize("make", [mlp, convolution, residual, attention, lstm])
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", OBJECTIVES)
def test_one_whole_segment_from_nothing_to_nothing_is_the_relaxation(
    make: object, training: bool, name: str
) -> None:
    assert callable(make)
    graph = training_graph(make(), optimizer="adam") if training else make()
    machine = load_machine("rtx2080ti", {"spm": "16KB"})
    listed, objective = listing(graph, machine), objective_named(name, machine)
    whole = Segment(begin=0, end=len(listed.operations))
    value = SegmentProgram(Listed(listed, objective), whole, 0.0).solve().value
    found = relaxed(listed, (whole,), objective)
    assert found is not None
    assert found[0] * (1 - 1e-6) <= value <= found[1] * (1 + 1e-6)


def test_no_cover_costs_less_than_the_values_of_its_segments() -> None:
    """Every legal schedule is a solution of the programs of its segments."""
    compared = tight = 0
    for seed in range(40):
        listed = random_listing(seed)
        objective = objective_named(OBJECTIVES[seed % 3], listed.machine)
        figures = Listed(listed, objective)
        for cover in islice(covers(listed), 0, 60, 1 + seed % 3):
            found = relaxed(listed, cover, objective)
            if found is None:
                continue
            value = found[1]
            least = sum(
                SegmentProgram(figures, segment, figures.capacity).solve().value
                for segment in cover
            )
            slack = 1e-6 * value + 1e-15
            assert least <= value + slack, (seed, cover)
            compared += 1
            tight += least > 0.8 * value
    assert compared > 150
    assert tight > compared / 4


def test_no_cover_is_below_the_bound_over_all() -> None:
    compared = 0
    for seed in range(200, 225):
        listed = random_listing(seed, most=3)
        objective = objective_named(OBJECTIVES[seed % 3], listed.machine)
        figures = Listed(listed, objective)
        values = [relaxed(listed, cover, objective) for cover in covers(listed)]
        known = [value[1] for value in values if value is not None]
        if not known:
            continue
        found = SegmentArcs(figures, float(figures.capacity)).cheapest(lambda: False)
        assert found.exact
        assert found.value <= min(known) * (1 + 1e-6) + 1e-15, seed
        early = SegmentArcs(figures, float(figures.capacity)).cheapest(lambda: True)
        assert early.value <= found.value * (1 + 1e-9) + 1e-15, seed
        compared += 1
    assert compared > 15
