"""Sentences on two schedules: their figures are those of the tables, and nothing is said twice."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

import spmopt
from spmopt.analysis.stalls import Cause
from spmopt.reporting.contrast import gaps
from spmopt.reporting.differences import contrast_record
from spmopt.reporting.quantities import si
from spmopt.reporting.reasons import reasons
from spmopt.reporting.schedule_view import ScheduleView
from tests import banks_by_hand
from tests.reporting.schedule_view.small import result_of


@cache
def view(scheduler: str, *, training: bool = True, timing: str = "step") -> ScheduleView:
    workload = spmopt.load("squeezenet", training=training, batch=1)
    problem = spmopt.lower(workload, spmopt.machine("rtx2080ti", spm="1MB"))
    solved = spmopt.solve(problem, scheduler, time_limit=10.0, threads=1)
    return ScheduleView.of(solved, timing=timing)


def test_figures_are_those_of_the_schedules() -> None:
    a, b = view("belady"), view("belady-size:granularity=page")
    time, where, waits, traffic, kept, room = reasons(a, b)
    clock = a.problem.machine.clock_hz
    saved = (a.times.cycles - b.times.cycles) / clock
    assert saved > 0
    assert time.startswith(f"B takes {si(b.times.cycles / clock, 's')}, less than A by")
    assert si(saved, "s") in time
    assert "of the backward pass" in where
    assert where.startswith("B spends ")
    assert "products" in where
    stalls = [si(float(each.stall.sum()) / clock, "s") for each in (a, b)]
    assert waits.startswith(f"The engine waits {stalls[0]} in A and {stalls[1]} in B: ")
    assert (a.totals.traffic_bytes > b.totals.traffic_bytes) == (" less over the DRAM" in traffic)
    assert si(b.totals.traffic_bytes, "B") in traffic
    saved_bytes = gaps(a, b).bytes_saved
    size = int(saved_bytes[saved_bytes > 0].sum())
    channel = si(size / a.problem.machine.dram_bytes_per_s, "s")
    assert kept.startswith(
        f"B keeps {si(size, 'B')} between two uses that A does not, which saves {channel} of the "
    )
    assert "; by layers: " in where
    assert room.startswith("On average over time A fills ")


def test_tensors_are_named_by_layer_and_kind_in_time_of_the_channel() -> None:
    """Against sums over the rows of the table of what is kept otherwise."""
    a, b = view("belady"), view("belady-size:granularity=page")
    (kept,) = [text for text in reasons(a, b) if "between two uses" in text]
    record: Any = contrast_record(a, b)
    found = record["tables"]["kept between uses"]
    names = [column["name"] for column in found["columns"]]
    by: dict[tuple[str, str], dict[str, float]] = {}
    for row in (dict(zip(names, values, strict=True)) for values in found["rows"]):
        if row["channel_s"] > 0:
            own = by.setdefault((row["kind"], re.split(r"[./]", row["until"])[0]), {})
            own[row["tensor"]] = own.get(row["tensor"], 0) + row["channel_s"]
    kind, group = max(by, key=lambda key: sum(by[key].values()))
    own = by[kind, group]
    largest = max(own, key=lambda name: own[name])
    more = f", {len(own) - 1} more" if len(own) > 1 else ""
    said = f"{si(sum(own.values()), 's')} by {kind}s for {group} ({largest} {si(own[largest], 's')}"
    assert f"channel: {said}{more})" in kept


def test_what_is_turned_round_says_the_contrary() -> None:
    a, b = view("belady"), view("belady-size:granularity=page")
    one, other = reasons(a, b), reasons(b, a)
    assert ", less than A by" in one[0]
    assert ", more than A by" in other[0]
    assert re.findall(r"[\d.]+ [µm]s less in", one[1]) == [
        text.replace("more", "less") for text in re.findall(r"[\d.]+ [µm]s more in", other[1])
    ]


def test_of_one_schedule_twice_little_is_said() -> None:
    a = view("belady")
    first, second, last = reasons(a, a)
    assert first.startswith("A and B take the same time")
    assert second.startswith("Both move ")
    assert last.startswith("On average")


@pytest.mark.parametrize("timing", ["step", "async"])
def test_ports_of_banks_and_the_replay(timing: str) -> None:
    stored = result_of(banks_by_hand.problem(), banks_by_hand.moving())
    a = ScheduleView.of(stored, timing=timing)
    slower = replace(a.times, stall_by_cause=a.times.stall_by_cause.copy())
    slower.stall_by_cause[Cause.PORT, 0] += 7
    duration = a.times.duration.copy()
    duration[0] += 7
    b = replace(a, times=replace(slower, duration=duration, cycles=a.times.cycles + 7))
    assert "7 s more for ports of banks" in reasons(a, b)[2]
