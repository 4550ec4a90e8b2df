"""Segments and pieces in pictures, pages and traces: stretches that fill the schedule."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from spmopt.core.pieces.segments import Segment
from spmopt.reporting.covers import cover_words, tile_words
from spmopt.reporting.plots.schedule import plot_lanes
from spmopt.reporting.schedule_view import ScheduleView
from spmopt.reporting.schedule_view.record import schedule_record
from spmopt.reporting.trace import trace_events
from spmopt.reporting.trace.engine import COMPUTE, OPERATIONS, PIECES, SEGMENTS
from spmopt.reporting.trace.events import ENGINE
from tests.in_pieces import perceptron
from tests.reporting.samples import picture as sample


@pytest.fixture(scope="module")
def picture() -> ScheduleView:
    return ScheduleView.of(perceptron())


def test_segments_fill_the_schedule_in_blocks_of_equal_length(picture: ScheduleView) -> None:
    pieces = picture.result.pieces
    assert pieces is not None
    steps = picture.times.start.size
    assert picture.segments[0].begin == 0
    assert picture.segments[-1].end == steps
    assert all(one.end == other.begin for one, other in pairwise(picture.segments))
    for span, segment in zip(picture.segments, pieces.cover, strict=True):
        assert len(span.blocks) == segment.pieces
        inner = range(segment.begin, segment.end)
        expected = [pieces.listing.operations[at].name for at in inner]
        of = picture.instance.piece_of
        for first in span.blocks:
            names = [each.name for each in picture.instance.operations[first : first + len(inner)]]
            assert [of.get(name, name) for name in names] == expected


def test_a_page_gets_them_in_cycles(picture: ScheduleView) -> None:
    record: Any = schedule_record(picture)
    found = record["segments"]
    assert [each["pieces"] for each in found] == [each.pieces for each in picture.segments]
    assert found[0]["start"] == 0
    assert found[-1]["stop"] == picture.times.cycles
    assert all(one["stop"] == other["start"] for one, other in pairwise(found))
    assert all(each["blocks"][0] == each["start"] for each in found)


def test_pieces_of_an_operation_are_one_layer(picture: ScheduleView) -> None:
    assert not any("[" in name for name in picture.analysis.layers.names)


def test_a_trace_has_threads_of_them(picture: ScheduleView) -> None:
    events: Any = trace_events([picture])
    own = [each for each in events if each["pid"] == ENGINE]
    slices = {
        thread: [each for each in own if each.get("tid") == thread and each["ph"] == "X"]
        for thread in (SEGMENTS, PIECES, OPERATIONS, COMPUTE)
    }
    assert len(slices[SEGMENTS]) == len(picture.segments)
    assert len(slices[PIECES]) == sum(len(each.blocks) for each in picture.segments)
    assert slices[PIECES][0]["args"]["block"].startswith("piece 1 of ")
    listed = picture.result.pieces
    assert listed is not None
    names = {each.name for each in listed.listing.operations}
    assert {each["name"] for each in slices[OPERATIONS]} <= names
    assert {each["name"] for each in slices[COMPUTE]} <= names
    whole = trace_events([sample("belady")])
    of_whole = [each for each in whole if each["pid"] == ENGINE]
    assert not any(each.get("tid") in (SEGMENTS, PIECES) for each in of_whole)


def test_a_picture_has_a_lane_of_them(picture: ScheduleView) -> None:
    labels = [each.get_text() for each in plot_lanes(picture).get_yticklabels()]
    assert labels[0] == f"{len(picture.segments)} segments,\ntheir pieces"
    assert len(labels) == 5
    assert len(plot_lanes(sample("belady")).get_yticklabels()) == 4


def test_labels_are_never_cut(picture: ScheduleView) -> None:
    known = {label for each in picture.segments for label in each.labels}
    drawn = [each.get_text() for each in plot_lanes(picture).texts]
    assert drawn
    assert known.issuperset(drawn)
    bands = replace(picture.segments[0], pieces=4, bands=2, begin=0, end=16, operations="a to b")
    assert bands.labels == ("4 pieces x 2 bands: a to b", "4 pieces x 2 bands", "4 x 2")
    whole = replace(bands, pieces=1, bands=1)
    assert whole.labels == ("a to b", "whole", "1")


def test_words_tell_what_some_segments_are_from_what_all_are() -> None:
    one = Segment(begin=0, end=2, pieces=4)
    banded = Segment(begin=2, end=3, pieces=4, bands=2)
    whole = Segment(begin=3, end=4)
    pieces = perceptron().result.pieces
    assert pieces is not None
    for cover, words in {
        (one,): "1 segment, in 4 pieces of the batch",
        (replace(whole, begin=0),): "1 segment, whole",
        (one, banded, whole): (
            "3 segments, whole, in 4 pieces of the batch, some in 2 bands of rows"
        ),
        (banded,): "1 segment, in 4 pieces of the batch, in 2 bands of rows",
    }.items():
        assert cover_words(replace(pieces, cover=cover)) == words
    tokens = replace(pieces, cover=(one,), listing=replace(pieces.listing, along="axis 1 of x"))
    assert cover_words(tokens) == "1 segment, in 4 pieces of axis 1 of x"


@pytest.mark.parametrize(
    ("tiles", "words"),
    [
        ((1, 1), "untiled"),
        ((1, 8), "8 stripes"),
        ((4, 1), "4 micro-batches"),
        ((4, 8), "4 micro-batches of 8 stripes"),
    ],
)
def test_fusion_tiles_are_counted(tiles: tuple[int, int], words: str) -> None:
    assert tile_words(*tiles) == words
