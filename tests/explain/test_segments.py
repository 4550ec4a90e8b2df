"""Why segments end where they do: figures add up, obstacles are those of the listing."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import inf

import pytest

from formulations.covers.border_costs import border_costs
from formulations.covers.listed import Listed
from formulations.covers.segment import SegmentProgram
from spmopt.analysis.explanation import Explanation
from spmopt.api.analyses import explain
from spmopt.api.solutions import Solution
from spmopt.core.pieces.segments import BorderCost, Segment
from spmopt.reporting.segments import segments_parts
from spmopt.reporting.tables import Grid
from tests.in_pieces import perceptron


@pytest.fixture(scope="module")
def explained() -> Explanation:
    stored = perceptron()
    result = stored.result
    assert result.schedule is not None
    return Explanation.of(stored.instance, result.schedule, result.pieces, result.objective)


def test_figures_of_segments_are_those_of_the_schedule(explained: Explanation) -> None:
    result = perceptron().result
    assert result.pieces is not None
    assert result.totals is not None
    found = explained.segments
    assert tuple(each.segment for each in found) == result.pieces.cover
    assert sum(each.cycles for each in found) == result.totals.makespan_cycles
    assert sum(each.moved_bytes for each in found) == result.totals.traffic_bytes
    assert sum(each.stall_cycles for each in found) == explained.figures.stall_cycles.sum()
    assert found[-1].end_step == explained.figures.cycles.size


def test_an_obstacle_is_why_two_segments_cannot_be_one(explained: Explanation) -> None:
    result = perceptron().result
    assert result.pieces is not None
    listing, seen = result.pieces.listing, 0
    for one, other in zip(explained.segments, explained.segments[1:], strict=False):
        known = {merged.pieces: why for merged, why in one.obstacles}
        for pieces in {one.segment.pieces, other.segment.pieces}:
            merged = Segment(begin=one.segment.begin, end=other.segment.end, pieces=pieces)
            assert known.get(pieces, "") == listing.obstacle(merged)
            seen += bool(listing.obstacle(merged))
    assert seen


def test_estimates_are_differences_of_values() -> None:
    result = perceptron().result
    assert result.pieces is not None
    pieces = result.pieces
    assert pieces.certificate is not None
    family, aim = pieces.certificate.family, result.objective
    listed = Listed(pieces.listing, aim, family)

    def value(segment: Segment) -> float:
        return sum(
            SegmentProgram(listed, segment, held).solve().value / 2
            for held in (0.0, listed.capacity)
        )

    found = border_costs(pieces.listing, pieces.cover, family, aim, 60.0)
    assert {each.change for each in found} >= {"pieces", "merged"}
    for each in found:
        old = pieces.cover[each.segment : each.segment + 1 + (each.change != "pieces")]
        assert each.cover[0].begin == old[0].begin
        assert each.cover[-1].end == old[-1].end
        expected = sum(map(value, each.cover)) - sum(map(value, old))
        assert each.cost == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert border_costs(pieces.listing, pieces.cover, family, aim, -1.0) == []


def test_pieces_of_an_operation_count_as_one(explained: Explanation) -> None:
    steps = explained.largest(3)
    names = [explained.whole(step) for step in steps]
    assert len(set(names)) == len(names)
    assert all("[" not in name for name in names)
    stall = explained.figures.stall_cycles
    totals = [sum(stall[piece] for piece in explained.pieces(step)) for step in steps]
    assert totals == sorted(totals, reverse=True)


def test_the_table_says_why() -> None:
    stored = perceptron()
    found = explain(Solution(stored), top=2)
    text = str(found)
    assert "Segments: " in text
    assert "why it ends there" in text
    assert "the list ends" in text
    record = found.record()["segments"]
    assert isinstance(record, list)
    assert record[0]["begin"] == 0


def test_no_estimate_is_shown_to_gain_more_than_the_bound_leaves() -> None:
    stored = perceptron()
    result = replace(stored.result, value=Fraction(100), cover_bound=Fraction(99))
    schedule = stored.result.schedule
    assert schedule is not None
    figures = Explanation.of(
        stored.instance, schedule, stored.result.pieces, stored.result.objective
    ).segments
    one = figures[0].segment
    shown = {}
    for cost in (-5.0, -0.5, 0.0, 2.0, inf):
        change = BorderCost(segment=0, change="pieces", cover=(one,), cost=cost)
        each = replace(figures[0], costs=(change,))
        (grid,) = [
            part
            for part in segments_parts([each], stored.instance.machine, result)
            if isinstance(part, Grid)
        ]
        shown[cost] = grid.rows[0][-1].partition(": ")[2]
    assert shown == {
        -5.0: "at best -1 %",
        -0.5: "-0.5 %",
        0.0: "no change",
        2.0: "+2 %",
        inf: "does not fit",
    }
