"""The trace against the Trace Event Format, and against the picture that it shows."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from functools import cache
from math import floor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spmopt.analysis.stalls import Cause
from spmopt.core.schedule import Command
from spmopt.reporting.schedule_view import TIMINGS, ScheduleView
from spmopt.reporting.trace import trace_events, trace_text
from spmopt.reporting.trace.engine import (
    COMPUTE,
    DMA_IN,
    DMA_OUT,
    MOVES,
    OPERATIONS,
    STALLS,
    THREADS,
)
from spmopt.reporting.trace.events import BANKS, ENGINE, microseconds
from tests import banks_by_hand
from tests.reporting.schedule_view.small import pictures, result_of
from tests.verifier import hand_made

NEEDED = {
    "M": {"pid", "name", "args"},
    "X": {"pid", "tid", "name", "cat", "ts", "dur", "args"},
    "C": {"pid", "name", "ts", "args"},
    "s": {"pid", "tid", "name", "cat", "id", "ts"},
    "i": {"pid", "tid", "name", "cat", "ts", "s", "args"},
    "f": {"pid", "tid", "name", "cat", "id", "ts", "bp"},
}
"""Fields by phase."""
FACTORS = (10**9, 1_545_000_000, 3, 7 * 10**9)
"""For cycles that are nanoseconds, are not, are many of them, or parts of one."""


def clocked(picture: ScheduleView, factor: int) -> ScheduleView:
    """The same on a machine whose clock and DRAM are faster by ``factor``: no cycles change."""
    machine, schedule = picture.problem.machine, picture.result.schedule
    assert schedule is not None
    faster = replace(
        machine,
        clock_hz=factor * machine.clock_hz,
        dram_bytes_per_s=factor * machine.dram_bytes_per_s,
    )
    stored = result_of(replace(picture.problem, machine=faster), schedule)
    found = ScheduleView.of(stored, timing=picture.times.timing)
    assert found.times.cycles == picture.times.cycles
    return found


@cache
def cases() -> list[tuple[ScheduleView, list[Any]]]:
    """Pictures and their events."""
    shown = [
        clocked(picture, FACTORS[number % len(FACTORS)])
        for number, picture in enumerate(pictures())
    ]
    return [(picture, trace_events([picture])) for picture in shown]


def of_phase(events: list[Any], phase: str, pid: int = ENGINE) -> list[Any]:
    return [event for event in events if event["ph"] == phase and event["pid"] == pid]


def ns(value: float) -> int:
    """As Perfetto reads a time stamp."""
    return int(value * 1000)


def spans(events: list[Any], thread: int) -> list[tuple[int, int]]:
    """Begin and end of the slices of a thread."""
    slices = [event for event in of_phase(events, "X") if event["tid"] == thread]
    return [(ns(event["ts"]), ns(event["ts"]) + ns(event["dur"])) for event in slices]


def test_every_event_has_the_fields_of_its_phase() -> None:
    for _, events in cases():
        for event in events:
            assert NEEDED[event["ph"]] <= event.keys()
            assert event["pid"] in (ENGINE, BANKS)
            assert event["pid"] != ENGINE or event.get("tid", OPERATIONS) in THREADS
            assert event.get("ts", 0) >= 0
            assert event.get("dur", 0) >= 0
            assert isinstance(event["name"], str)
            assert event.get("bp", "e") == "e"
            if event["ph"] == "C":
                assert all(isinstance(value, int) for value in event["args"].values())


def tracks(events: list[Any]) -> dict[tuple[int, int], list[tuple[int, int]]]:
    """Begin and end of all slices, by process and thread, in the order of the file."""
    found: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for event in events:
        if event["ph"] == "X":
            begin = ns(event["ts"])
            found.setdefault((event["pid"], event["tid"]), []).append(
                (begin, begin + ns(event["dur"]))
            )
    return found


def test_slices_of_a_thread_follow_each_other_or_lie_within() -> None:
    """Perfetto drops a slice that begins within another and ends after it."""
    for _, events in cases():
        for slices in tracks(events).values():
            around: list[int] = []
            for begin, end in slices:
                while around and around[-1] <= begin:
                    around.pop()
                assert not around or end <= around[-1]
                assert not around
                around.append(end)
            assert slices == sorted(slices, key=lambda each: each[0])


def test_flows_begin_and_end_within_slices() -> None:
    for _, events in cases():
        within = {thread: spans(events, thread) for thread in THREADS}
        arrows: dict[str, dict[int, int]] = {"s": {}, "f": {}}
        for event in events:
            if event["ph"] in arrows:
                at = ns(event["ts"])
                assert any(begin <= at <= end for begin, end in within[event["tid"]])
                assert event["id"] not in arrows[event["ph"]]
                arrows[event["ph"]][event["id"]] = at
        assert arrows["s"].keys() == arrows["f"].keys()
        assert all(at <= arrows["f"][number] for number, at in arrows["s"].items())


def test_a_flow_goes_to_the_first_use_after_a_load() -> None:
    for picture, events in cases():
        table, line = picture.view.schedule.commands, picture.view.timeline
        arrows = {event["id"]: ns(event["ts"]) for event in of_phase(events, "f")}
        operations = spans(events, OPERATIONS)
        for row in np.flatnonzero(table.kind == Command.LOAD).tolist():
            uses = line.step[(line.tensor == table.tensor[row]) & (line.step >= table.step[row])]
            if uses.size:
                begin, end = operations[int(uses.min())]
                assert begin <= arrows.pop(row) <= end
        assert not arrows


def test_slices_show_what_the_picture_has() -> None:
    for picture, events in cases():
        clock, times, table = (
            picture.problem.machine.clock_hz,
            picture.times,
            picture.view.schedule.commands,
        )
        moves = [event for event in of_phase(events, "X") if event["tid"] in (DMA_IN, DMA_OUT)]
        assert len(moves) == len(table)
        traffic = Counter({event["tid"]: 0 for event in moves})
        for row, event in enumerate(moves):
            start = int(times.command_start[row])
            assert event["ts"] * clock / 10**6 == pytest.approx(start, abs=clock / 10**9)
            assert event["args"]["tensor"] == picture.view.name(int(table.tensor[row]))
            step = int(table.step[row])
            operation = picture.problem.operations[int(picture.view.timeline.order[step])]
            assert event["args"]["operation"] == operation.name
            traffic[event["tid"]] += event["args"]["bytes"]
        assert traffic[DMA_IN] == picture.totals.dram_in_bytes
        assert traffic[DMA_OUT] == picture.totals.dram_out_bytes
        computed = [
            event["args"]["cycles"] for event in of_phase(events, "X") if event["tid"] == COMPUTE
        ]
        assert sum(computed) == picture.totals.compute_cycles


def test_stalls_and_computation_fill_the_time() -> None:
    for _, events in cases():
        both = sorted(spans(events, COMPUTE) + spans(events, STALLS))
        filled = sum(end - begin for begin, end in both)
        end = spans(events, OPERATIONS)[-1][1]
        # A stream may last longer than its operation computes: that is stall as well.
        assert filled == end
        words = {cause.words for cause in Cause}
        names = {event["name"] for event in of_phase(events, "X") if event["tid"] == STALLS}
        assert names <= words


def test_counters_are_the_occupancy_and_end_at_nothing() -> None:
    for picture, events in cases():
        counters = [event for event in of_phase(events, "C") if event["name"] == "SPM"]
        assert counters == sorted(counters, key=lambda event: float(event["ts"]))
        assert not any(counters[-1]["args"].values())
        assert len({frozenset(event["args"]) for event in counters}) == 1
        shown = max(sum(event["args"].values()) for event in counters)
        assert shown == picture.totals.peak_spm_bytes


@pytest.mark.parametrize("timing", TIMINGS)
def test_the_file_is_one_object(timing: str) -> None:
    picture = pictures((timing,))[0]
    events = trace_events([picture])
    document = json.loads(trace_text([picture], events))
    assert document["traceEvents"] == events
    assert document["displayTimeUnit"] == "ns"
    assert document["otherData"]["timing"] == timing
    assert document["otherData"]["cycles"] == picture.times.cycles


@given(st.integers(0, 2**62))
def test_nanoseconds_survive_as_microseconds(value: int) -> None:
    found = microseconds(value)
    assert found == pytest.approx(value / 1000)
    if value < 2**50:
        assert floor(found * 1000) == value
        assert floor(float(repr(found)) * 1000) == value


def test_lanes_of_addresses_are_the_pages_in_use() -> None:
    """Bytes by time of all slices are those of the verifier's account, exactly where no step is."""
    for picture, events in cases():
        slices, page = of_phase(events, "X", BANKS), picture.problem.machine.page_bytes
        rows = picture.residencies
        assert len(slices) == len(rows)
        shown = sum(event["args"]["bytes"] * ns(event["dur"]) for event in slices)
        clock = picture.problem.machine.clock_hz
        held = int(((rows.stop - rows.start) * rows.pages).sum()) * page * 10**9 / clock
        size = int(rows.pages.sum()) * page
        assert shown == pytest.approx(held, abs=size + 1e-6)
        if picture.times.timing == "step":
            cycles = int((picture.occupied.sum(axis=0) * picture.times.duration).sum())
            assert held == pytest.approx(cycles * 10**9 / clock)
        for event in slices:
            assert (
                event["args"]["address"] + event["args"]["bytes"]
                <= picture.problem.machine.spm_pages * page
            )
            assert event["args"]["address"] % page == 0


def test_why_a_tensor_came_and_went_by_hand() -> None:
    """``y`` is written, half of it leaves, then the rest; it is loaded again in the last step."""
    case = hand_made.reuse()
    picture = ScheduleView.of(result_of(case.problem, case.schedule))
    slices: list[Any] = of_phase(trace_events([picture]), "X", BANKS)
    names = ("came", "went", "used next", "needed again", "address", "bytes")
    found = sorted(
        (each["ts"], *(each["args"][name] for name in names))
        for each in slices
        if each["args"]["tensor"] == "y"
    )
    again = ["last (step 3)"] * 2
    assert [each[1:] for each in found] == [
        ("written in make", "evicted, needed again", *again, 0, 4),
        ("written in make", "evicted, needed again", *again, 4, 4),
        ("loaded from DRAM in last", "end of the schedule", "never", "never", 8, 8),
    ]


def test_two_schedules_are_two_groups_that_begin_at_zero() -> None:
    one, other = (cases()[place][0] for place in (0, 4))
    events: list[Any] = trace_events([one, other])
    first, second = trace_events([one]), trace_events([other])
    apart = len(first)
    pids = [{event["pid"] for event in part} for part in (events[:apart], events[apart:])]
    assert not pids[0] & pids[1]
    assert len(events) == apart + len(second)
    for part, alone in ((events[:apart], first), (events[apart:], second)):
        assert [each.get("ts") for each in part] == [each.get("ts") for each in alone]
        assert [each.get("dur") for each in part] == [each.get("dur") for each in alone]
    titles = [event["args"]["name"] for event in events if event["name"] == "process_name"]
    assert [title[:3] for title in titles] == ["A: "] * 2 + ["B: "] * 2
    flows = [event["id"] for event in events if event["ph"] == "s"]
    assert len(flows) == len({*flows})
    about = json.loads(trace_text([one, other], events))["otherData"]
    assert [about[mark]["cycles"] for mark in "AB"] == [one.times.cycles, other.times.cycles]


@pytest.mark.parametrize("timing", TIMINGS)
def test_a_move_between_banks_is_an_instant_of_its_own_lane(timing: str) -> None:
    stored = result_of(banks_by_hand.problem(), banks_by_hand.moving())
    found: list[Any] = trace_events([ScheduleView.of(stored, timing=timing)])
    (move,) = (event for event in found if event["ph"] == "i")
    assert (move["name"], move["args"]["bytes"], move["args"]["step"]) == ("move a", 4, 1)
    assert move["tid"] == MOVES
    steps = [event for event in of_phase(found, "X") if event["tid"] == OPERATIONS]
    assert move["ts"] == steps[1]["ts"]
    threads = [event for event in of_phase(found, "M") if event["name"] == "thread_name"]
    assert [event["args"]["name"] for event in threads][-1] == "moves between banks"


def test_each_bank_is_a_process_of_its_own() -> None:
    stored = result_of(banks_by_hand.problem(), banks_by_hand.moving())
    found: list[Any] = trace_events([ScheduleView.of(stored)])
    held = [
        [
            (event["name"], event["args"]["address"], event["args"]["came"], event["args"]["went"])
            for event in of_phase(found, "X", BANKS + bank)
        ]
        for bank in (0, 1)
    ]
    assert held == [
        [
            ("a", 0, "loaded from DRAM in op0", "moved to another address"),
            ("b", 0, "loaded from DRAM in op1", "no longer needed"),
        ],
        [("a", 4, "moved from another address in op1", "end of the schedule")],
    ]
