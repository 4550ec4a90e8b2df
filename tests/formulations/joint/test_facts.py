"""Versions, segments and the intervals that may be."""

from __future__ import annotations

import numpy as np

from formulations.joint.facts import analyze, possible_intervals
from tests.tiny import Op, tiny

# x: there at the start, read twice, updated, read, overwritten and never read again.
CHAIN = tiny(
    {"x": (4, "in"), "big": (40, "in")},
    [
        Op(reads="x"),
        Op(reads="x big"),
        Op(reads="x", writes="x"),
        Op(reads="x"),
        Op(writes="x"),
    ],
    spm=8,
)


def test_versions_and_fused_groups() -> None:
    facts = analyze(CHAIN)
    x = [facts.uses[use] for use in facts.of_tensor[0]]
    assert [(use.reads, use.writes) for use in x] == [(0, -1), (0, -1), (0, 2), (2, -1), (-1, 3)]
    assert [facts.versions[v].is_needed for v in (0, 2, 3)] == [True, True, False]
    assert [use.segment == x[0].segment for use in x] == [True, True, True, True, False]
    assert facts.versions[0].next_writer == facts.of_tensor[0][2]


def test_only_readers_of_one_version_are_free() -> None:
    before = analyze(CHAIN).before
    free = [(i, j) for i in range(5) for j in range(i) if not before[i, j] and not before[j, i]]
    assert free == [(1, 0)]
    assert analyze(CHAIN).chain == ((0, 2), (1, 2), (2, 3), (3, 4))
    order = np.array([1, 0, 2, 3, 4])
    assert analyze(CHAIN, order).chain == ((0, 2), (1, 0), (2, 3), (3, 4))


def test_intervals() -> None:
    facts = analyze(CHAIN)
    intervals = {
        facts.uses[interval.head].operation: interval for interval in possible_intervals(facts)
    }
    assert sorted(intervals) == [0, 1, 2, 3, 4]  # none of the tensor that does not fit
    members = {
        head: [facts.uses[use].operation for use in interval.members]
        for head, interval in intervals.items()
    }
    assert members == {0: [0, 1, 2, 3], 1: [0, 1, 2, 3], 2: [2, 3], 3: [3], 4: [4]}
    assert [intervals[head].loads for head in range(5)] == [True, True, True, True, False]
    # What is read after the update is loaded after it, there being nothing in between.
    assert intervals[3].issues == (3,)
    assert intervals[4].operations == (4,)
