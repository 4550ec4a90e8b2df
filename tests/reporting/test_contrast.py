"""Differences against a second way to find them, by hand, and what cannot be compared."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import pytest

from spmopt.core.errors import InputError
from spmopt.core.problem import Problem
from spmopt.core.schedule import Schedule
from spmopt.core.timeline import Access
from spmopt.reporting.differences import contrast_record
from spmopt.reporting.schedule_view import TIMINGS, ScheduleView
from tests.reporting import samples
from tests.reporting.schedule_view.small import result_of
from tests.verifier.builders import IN, LOAD, machine, operation, schedule, tensor
from tests.verifier.random_plans import random_schedule

SEEDS = 16
FEATURES: dict[str, Any] = {"max_operations": 9, "max_tensors": 6, "setup": True}


def picture(problem: Problem, residency_plan: Schedule, timing: str = "step") -> ScheduleView:
    return ScheduleView.of(result_of(problem, residency_plan), timing=timing)


def two_uses() -> tuple[Problem, Schedule, Schedule]:
    """w is read in steps 0 and 2: kept on chip, or streamed twice; op1 only computes."""
    problem = Problem(
        name="hand",
        machine=machine(2),
        tensors=(tensor("w", 8, "d"), tensor("x", 4, "d")),
        operations=(
            operation("first", (0,), (), 4),
            operation("between", (1,), (), 6),
            operation("last", (0,), (), 4),
        ),
    )
    keeps = schedule(
        3,
        [(0, 0, 3, 8)],
        [(0, LOAD, 0, 0, 8, 1), (1, IN, 1, 0, 4, 1)],
        [(0, 0, 2, 0, 0, 3)],
    )
    streams = schedule(3, [], [(0, IN, 0, 0, 8, 1), (1, IN, 1, 0, 4, 1), (2, IN, 0, 0, 8, 1)], [])
    return problem, keeps, streams


def table(found: Any, name: str) -> list[dict[str, Any]]:
    """The rows of a table, by the names of its columns."""
    shown = found["tables"][name]
    names = [column["name"] for column in shown["columns"]]
    return [dict(zip(names, row, strict=True)) for row in shown["rows"]]


def test_what_one_keeps_and_the_other_does_not() -> None:
    problem, keeps, streams = two_uses()
    found: Any = contrast_record(picture(problem, keeps), picture(problem, streams))
    assert found["gaps"] == {
        "tensor": [0],
        "from_step": [0],
        "to_step": [2],
        "kept_a": [8],
        "kept_b": [0],
        "bytes_saved": [-8],
    }
    assert table(found, "kept between uses") == [
        {
            "tensor": "w",
            "kind": "activation",
            "after": "first",
            "until": "last",
            "kept_a_bytes": 8,
            "kept_b_bytes": 0,
            "b_less_a_bytes": -8,
            "channel_s": -8.0,
        }
    ]
    assert found["gained_cycles"] == [0, 0, 0, -4]
    assert found["same_order"]
    assert [list(row.values()) for row in table(found, "layers")] == [
        ["last", 4, 8, 4, 0, 4],
        ["first", 8, 8, 0, 4, 4],
        ["between", 6, 6, 0, 0, 0],
    ]
    assert found["only"] == [
        {"tensor": [0], "start": [0], "stop": [18], "page": [0], "pages": [2]},
        {"tensor": [], "start": [], "stop": [], "page": [], "pages": []},
    ]
    figures = {figure["key"]: figure for figure in found["figures"]}
    assert figures["makespan"]["change"] == pytest.approx(22 / 18 - 1)
    assert (figures["traffic"]["a"], figures["traffic"]["b"]) == (12, 20)
    assert figures["spm_peak"]["change"] is figures["gap"]["change"] is None


def test_what_says_much_is_main() -> None:
    found: Any = contrast_record(samples.picture("belady"), samples.picture("residency"))
    main = {figure["key"] for figure in found["figures"] if figure["is_main"]}
    assert {"makespan", "traffic", "energy", "gap", "status", "compute_busy"} <= main
    assert not main & {"objective", "replay", "seconds", "verified", "any_order_bound"}
    changed = {f["key"] for f in found["figures"] if abs(f["change"] or 0) >= 0.01}
    assert changed - {"objective", "replay"} <= main


def kept(of: ScheduleView) -> dict[tuple[int, int, int], int]:
    """By tensor, operation and the next: the fewest bytes on chip from one to the other."""
    line, table = of.view.timeline, of.view.schedule.residency
    found = {}
    for tensor_number in range(len(of.problem.tensors)):
        uses = [k for k in range(line.step.size) if line.tensor[k] == tensor_number]
        for one, other in pairwise(uses):
            if line.kind[other] == Access.WRITE:
                continue
            sizes = []
            for step in range(int(line.step[one]), int(line.step[other]) + 1):
                here = (table.tensor == tensor_number) & (table.begin <= step) & (table.end > step)
                sizes.append(int(table.size_bytes[here].sum()))
            first, last = (int(line.order[line.step[k]]) for k in (one, other))
            found[tensor_number, first, last] = min(sizes)
    return found


@cache
def pairs(timing: str = "step") -> list[tuple[ScheduleView, ScheduleView]]:
    """Two plans of one problem each, mostly in different orders."""
    found = []
    for seed in range(SEEDS):
        problem, first = random_schedule(seed, **FEATURES)
        other, second = random_schedule(seed, free_order=True, **FEATURES)
        assert problem == other
        found.append((picture(problem, first, timing), picture(problem, second, timing)))
    return found


def test_gaps_are_matched_by_operations() -> None:
    differ = 0
    for first, second in pairs():
        found: Any = contrast_record(first, second)["gaps"]
        one, other = kept(first), kept(second)
        expected = {
            key: (one[key], other[key])
            for key in one.keys() & other.keys()
            if one[key] != other[key]
        }
        order = first.view.timeline.order
        rows = list(zip(*found.values(), strict=True))
        assert {
            (tensor_number, int(order[begin]), int(order[end])): (a, b)
            for tensor_number, begin, end, a, b, _ in rows
        } == expected
        assert [abs(row[-1]) for row in rows] == sorted(abs(row[-1]) for row in rows)[::-1]
        assert all(saved == b - a for *_, a, b, saved in rows)
        differ += len(rows)
    assert differ > 4


@pytest.mark.parametrize("timing", TIMINGS)
def test_both_sides_add_up(timing: str) -> None:
    for both in pairs(timing):
        found: Any = contrast_record(*both)
        clock = both[0].problem.machine.clock_hz
        for side, one in zip("ab", both, strict=True):
            rows = table(found, "layers")
            time = sum(row[f"time_{side}_s"] for row in rows)
            assert time == pytest.approx(one.times.cycles / clock)
            stall = sum(row[f"stall_{side}_s"] for row in rows)
            assert stall == pytest.approx(one.stall.sum() / clock)


def test_gains_sum_up_to_the_whole() -> None:
    apart = 0
    for first, second in pairs():
        found: Any = contrast_record(first, second)
        gain = 0
        lasts = dict(zip(second.view.timeline.order.tolist(), second.times.duration, strict=True))
        for step, runs in enumerate(first.view.timeline.order.tolist()):
            assert found["gained_cycles"][step] == gain
            gain += int(first.times.duration[step] - lasts[runs])
        assert found["gained_cycles"][-1] == gain == first.times.cycles - second.times.cycles
        apart += not found["same_order"]
    assert 0 < apart < SEEDS


def test_a_schedule_does_not_differ_from_itself() -> None:
    problem, keeps, _ = two_uses()
    found: Any = contrast_record(picture(problem, keeps), picture(problem, keeps))
    assert found["gaps"]["tensor"] == []
    assert {figure["change"] for figure in found["figures"]} <= {0.0, None}


def test_other_problems_are_refused_with_the_difference() -> None:
    problem, keeps, _ = two_uses()
    base = picture(problem, keeps)
    larger = replace(problem, machine=replace(problem.machine, spm_bytes=12))
    more = replace(problem, tensors=(*problem.tensors, tensor("y", 4, "d")))
    grown = replace(problem, tensors=(problem.tensors[0], tensor("x", 4, "dk")))
    slower = operation("between", (1,), (), 7)
    changed = (problem.operations[0], slower, problem.operations[2])
    for other, text in (
        (larger, r"hand and hand: their machines differ in spm_bytes \(8 and 12\); name two"),
        (more, "their tensors differ"),
        (grown, "their tensors differ"),
        (replace(problem, operations=changed), "their operations differ"),
        (
            replace(problem, operations=changed, mapper="tiled"),
            rf"hand \(mapper {problem.mapper}\) and hand \(mapper tiled\): their operations",
        ),
    ):
        with pytest.raises(InputError, match=text):
            contrast_record(base, picture(other, keeps))
    renamed = picture(replace(problem, name="again"), keeps)
    assert contrast_record(base, renamed)["figures"]
    with pytest.raises(InputError, match="timing step and async"):
        contrast_record(base, picture(problem, keeps, "async"))
