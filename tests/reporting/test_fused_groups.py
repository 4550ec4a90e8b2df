"""Fused groups and fusion tiles in pictures, pages and traces: stretches that fill the schedule."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from spmopt.analysis.fused_groups import FusedGroupSpan
from spmopt.core.errors import InputError
from spmopt.core.fusion.fused_groups import FusedGroup
from spmopt.core.fusion.tileable_graph import source_graph
from spmopt.reporting.differences import contrast_record
from spmopt.reporting.fused_groups import group_labels
from spmopt.reporting.fusion_plans import fusion_plan_words
from spmopt.reporting.plots.schedule import plot_lanes, save_picture
from spmopt.reporting.schedule_view import ScheduleView
from spmopt.reporting.schedule_view.record import schedule_record
from spmopt.reporting.trace import trace_events
from spmopt.reporting.trace.engine import COMPUTE, FUSED_GROUPS, FUSION, OPERATIONS
from spmopt.reporting.trace.events import ENGINE
from tests.fused import perceptron, solved
from tests.reporting.samples import picture as sample
from tests.uniform import uniform_plan


@pytest.fixture(scope="module")
def picture() -> ScheduleView:
    return ScheduleView.of(perceptron())


def test_fused_groups_fill_the_schedule_in_blocks_of_equal_length(picture: ScheduleView) -> None:
    fusion = picture.result.fused
    assert fusion is not None
    steps = picture.times.start.size
    assert picture.fused_groups[0].begin_step == 0
    assert picture.fused_groups[-1].end_step == steps
    assert all(one.end_step == other.begin_step for one, other in pairwise(picture.fused_groups))
    for span, fused_group in zip(picture.fused_groups, fusion.fusion_plan, strict=True):
        assert len(span.blocks) == fused_group.micro_batches
        inner = range(fused_group.begin, fused_group.end)
        expected = [source_graph(fusion).operations[at].name for at in inner]
        of = picture.problem.tile_of
        for first in span.blocks:
            names = [each.name for each in picture.problem.operations[first : first + len(inner)]]
            assert [of.get(name, name) for name in names] == expected


def test_a_page_gets_them_in_cycles(picture: ScheduleView) -> None:
    record: Any = schedule_record(picture)
    found = record["fused_groups"]
    assert [each["micro_batches"] for each in found] == [
        each.fused_group.micro_batches for each in picture.fused_groups
    ]
    assert found[0]["start"] == 0
    assert found[-1]["stop"] == picture.times.cycles
    assert all(one["stop"] == other["start"] for one, other in pairwise(found))
    assert all(each["blocks"][0] == each["start"] for each in found)


def test_a_trace_has_threads_of_them(picture: ScheduleView) -> None:
    events: Any = trace_events([picture])
    own = [each for each in events if each["pid"] == ENGINE]
    slices = {
        thread: [each for each in own if each.get("tid") == thread and each["ph"] == "X"]
        for thread in (FUSED_GROUPS, FUSION, OPERATIONS, COMPUTE)
    }
    assert len(slices[FUSED_GROUPS]) == len(picture.fused_groups)
    assert len(slices[FUSION]) == sum(len(each.blocks) for each in picture.fused_groups)
    assert slices[FUSION][0]["args"]["block"].startswith("micro-batch 1 of ")
    listed = picture.result.fused
    assert listed is not None
    names = {each.name for each in source_graph(listed).operations}
    assert {each["name"] for each in slices[OPERATIONS]} <= names
    assert {each["name"] for each in slices[COMPUTE]} <= names
    whole = trace_events([sample("belady")])
    of_whole = [each for each in whole if each["pid"] == ENGINE]
    assert not any(each.get("tid") in (FUSED_GROUPS, FUSION) for each in of_whole)


def test_layers_are_drawn_beside_their_fusion_but_not_on_a_page(
    picture: ScheduleView, tmp_path: Path
) -> None:
    fusion = picture.result.fused
    assert fusion is not None
    listed = source_graph(fusion)
    # On four pages with dozens of mappings no search ends soon.
    pair = [ScheduleView.of(solved(listed, uniform_plan(listed, 1), seconds=0.3)), picture]
    save_picture("compare", pair, tmp_path / "c.svg")
    with pytest.raises(InputError, match="fusion plans differ; make a page of each"):
        contrast_record(*pair)
    count = len(listed.operations)
    apart = (FusedGroup(begin=0, end=1), FusedGroup(begin=1, end=count))
    assert contrast_record(pair[0], ScheduleView.of(solved(listed, apart, seconds=0.3)))[
        "same_order"
    ]


def test_labels_are_never_cut(picture: ScheduleView) -> None:
    known = {label for each in picture.fused_groups for label in group_labels(each)}
    drawn = [each.get_text() for each in plot_lanes(picture).texts]
    assert drawn
    assert known.issuperset(drawn)
    stripes = FusedGroupSpan(
        fused_group=FusedGroup(begin=0, end=2, micro_batches=4, stripes=2),
        first="a",
        last="b",
        begin_step=0,
        end_step=16,
    )
    assert group_labels(stripes) == (
        "4 micro-batches of 2 stripes: a to b",
        "4 micro-batches of 2 stripes",
        "4 x 2",
    )
    whole = replace(stripes, fused_group=FusedGroup(begin=0, end=2))
    assert group_labels(whole) == ("a to b", "untiled", "1")


def test_words_tell_what_some_fused_groups_are_from_what_all_are() -> None:
    one = FusedGroup(begin=0, end=2, micro_batches=4)
    striped = FusedGroup(begin=2, end=3, micro_batches=4, stripes=2)
    whole = FusedGroup(begin=3, end=4)
    fusion = perceptron().result.fused
    assert fusion is not None
    for fusion_plan, words in {
        (one,): "1 group, 4 micro-batches",
        (replace(whole, begin=0),): "layer by layer",
        (replace(whole, begin=0, end=2), whole): "layer by layer",
        (one, striped, whole): "3 groups, 1 untiled, 4 micro-batches, 2 stripes",
        (striped,): "1 group, 4 micro-batches, 2 stripes",
    }.items():
        assert fusion_plan_words(replace(fusion, fusion_plan=fusion_plan)) == words
    tokens = replace(
        fusion, fusion_plan=(one,), fused_from=replace(source_graph(fusion), along="tokens")
    )
    assert fusion_plan_words(tokens) == "1 group, 4 tiles along tokens"
