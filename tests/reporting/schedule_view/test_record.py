"""The record: columns of equal length, plain numbers, and totals that are those of the metrics."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from spmopt.analysis.shadow_prices import ShadowPrices, little_bandwidth
from spmopt.core.errors import InputError, ScheduleError
from spmopt.core.objective import MAKESPAN, REPLAY
from spmopt.core.result import Status
from spmopt.core.scheduler import Request
from spmopt.core.solution import Solution
from spmopt.io.files import read_problem
from spmopt.metrics import metrics
from spmopt.reporting.analysis import detail
from spmopt.reporting.headings import barrier_notes
from spmopt.reporting.quantities import PART
from spmopt.reporting.schedule_view import TIMINGS, ScheduleView, schedule_record
from spmopt.solving import solve
from tests.reporting.schedule_view.small import pictures, result_of
from tests.verifier import hand_made

PROBLEMS = Path(__file__).parents[3] / "instances"


def solved(name: str, request: Request) -> Solution:
    problem = read_problem(PROBLEMS / f"{name}.json")
    return Solution(problem=problem, result=solve(problem, "residency", request))


@pytest.fixture(scope="module")
def stored() -> Solution:
    """One with dual values."""
    return solved("lenet5", Request(objective=MAKESPAN, time_limit_s=5))


def figures(record: Any) -> dict[str, Any]:
    return {figure["key"]: figure for figure in record["figures"]}


@pytest.mark.parametrize("timing", TIMINGS)
def test_totals_are_those_of_the_metrics(stored: Solution, timing: str) -> None:
    record: Any = schedule_record(ScheduleView.of(stored, timing=timing))
    machine, totals = stored.problem.machine, stored.result.totals
    assert totals is not None
    found, known = figures(record), metrics(machine, totals)
    expected = {
        "makespan": known.time_s,
        "replay": known.replay_s,
        "traffic": totals.traffic_bytes,
        "energy": known.energy_j,
        "compute_busy": known.compute_busy,
        "dma_busy": known.dma_busy,
        "spm_peak": known.spm_peak,
        "gap": stored.result.gap,
        "bound": float((stored.result.bound or 0) / machine.clock_hz),
        "transfers": totals.dma_commands,
        "seconds": stored.result.solve_s,
    }
    assert {key: found[key]["value"] for key in expected} == expected
    assert found["status"]["text"] == str(stored.result.status)
    cycles = totals.makespan_cycles if timing == "step" else totals.replay_cycles
    assert record["cycles"] == sum(record["steps"]["cycles"]) == cycles
    assert sum(record["steps"]["compute_cycles"]) == totals.compute_cycles
    assert sum(record["commands"]["bytes"]) == totals.traffic_bytes
    assert sum(record["commands"]["cycles"]) == totals.dma_cycles
    tensors = record["tensors"]
    assert sum(tensors["loaded"] + tensors["streamed_in"]) == totals.dram_in_bytes
    assert sum(tensors["stored"] + tensors["streamed_out"]) == totals.dram_out_bytes
    assert len(record["commands"]["step"]) == totals.dma_commands
    assert (record["title"], record["timing"]) == (f"{stored.problem.name}, residency", timing)


def test_columns_have_one_length_and_plain_numbers() -> None:
    for picture in pictures():
        record: Any = schedule_record(picture)
        assert json.loads(json.dumps(record, allow_nan=False)) == record
        tensors, steps = len(picture.problem.tensors), picture.view.timeline.steps
        lengths = {
            name: {len(column) for column in record[name].values() if column is not None}
            for name in ("residencies", "commands")
        }
        assert all(len(found) == 1 for found in lengths.values())
        assert lengths["commands"] == {len(picture.view.schedule.commands)}
        found = {name: len(column) for name, column in record["steps"].items() if column}
        assert found.pop("stall_by_cause") == len(record["causes"])
        assert {*found.values()} == {steps}
        uses = record["tensors"]["uses_first"]
        assert len(uses) == tensors + 1
        assert uses[-1] == len(record["tensors"]["uses_step"])
        for tensor in range(tensors):
            mine = record["tensors"]["uses_step"][uses[tensor] : uses[tensor + 1]]
            line = picture.view.timeline
            assert mine == line.step[line.tensor == tensor].tolist()


def test_tables_are_those_of_the_analysis(stored: Solution) -> None:
    picture = ScheduleView.of(stored)
    record: Any = schedule_record(picture)
    for per in ("layer", "tensor", "operation"):
        table, columns = record["tables"][per], detail(picture.analysis, per)
        assert [head["name"] for head in table["columns"]] == list(columns)
        assert table["rows"] == [list(row) for row in zip(*columns.values(), strict=True)]
        for head, column in zip(table["columns"], columns.values(), strict=True):
            assert head["numeric"] == all(not isinstance(value, str) for value in column)
    units = {head["name"]: head["unit"] for head in record["tables"]["layer"]["columns"]}
    assert units["time_s"] == "s"
    assert units["dram_in_bytes"] == "B"
    assert units["bandwidth_bytes_per_s"] == "B/s"
    assert units["attainable_flop_per_s"] == "FLOP/s"
    assert units["flop_per_byte"] == "FLOP/B"
    assert units["active_time"] == units["compute_utilization"] == PART
    assert units["name"] == ""


@pytest.mark.parametrize("timing", TIMINGS)
def test_causes_add_up_to_the_stall(stored: Solution, timing: str) -> None:
    record: Any = schedule_record(ScheduleView.of(stored, timing=timing))
    by_step = [sum(causes) for causes in zip(*record["steps"]["stall_by_cause"], strict=True)]
    assert by_step == record["steps"]["stall_cycles"]
    assert sum(by_step) > 0


def test_duals_add_up_to_the_worth_of_a_megabyte(stored: Solution) -> None:
    record: Any = schedule_record(ScheduleView.of(stored))
    certificate = stored.result.certificate
    assert certificate is not None
    worth = ShadowPrices.of(stored.problem, certificate)
    clock = stored.problem.machine.clock_hz
    assert record["shadow_prices"] == {"unit": "s", "little": 1000}
    found, per_byte = figures(record), float(worth.spm.per_byte / clock)
    assert found["spm_shadow_price"]["value"] == pytest.approx(per_byte * 1000)
    note = "by how much the bound falls at most with 1 kB more"
    assert found["spm_shadow_price"]["note"] == note
    more = little_bandwidth(stored.problem.machine)
    value = found["dram_shadow_price"]["value"]
    assert value == pytest.approx(float(worth.per_byte_per_s * more / clock))
    assert sum(record["steps"]["dual"]) == pytest.approx(per_byte * 10**6, rel=0.01)
    assert per_byte > 0


def test_without_duals_nothing_is_worth_anything() -> None:
    picture = pictures()[0]
    record: Any = schedule_record(picture)
    assert record["steps"]["dual"] is None
    assert "spm_shadow_price" not in figures(record)
    assert figures(record)["bound"]["value"] is None
    assert figures(record)["gap"]["text"] == "none"


def hand() -> Solution:
    case = hand_made.reuse()
    return result_of(case.problem, case.schedule)


def changed(stored: Solution, **changes: Any) -> Solution:
    return replace(stored, result=replace(stored.result, **changes))


def test_what_is_not_true_is_no_picture() -> None:
    stored = hand()
    totals = stored.result.totals
    assert totals is not None
    lies: list[dict[str, Any]] = [
        {"totals": replace(totals, dram_in_bytes=1)},
        {"value": Fraction(1)},
        {"bound": Fraction(1)},
        {"status": Status.OPTIMAL},
    ]
    for lie in lies:
        with pytest.raises(ScheduleError, match=r"^hand, belady: not verified: .*claim"):
            ScheduleView.of(changed(stored, **lie))
    schedule = stored.result.schedule
    assert schedule is not None
    residency = replace(schedule.residency, size_bytes=schedule.residency.size_bytes + 4)
    with pytest.raises(ScheduleError, match="not verified: R"):
        ScheduleView.of(changed(stored, schedule=replace(schedule, residency=residency)))


def test_what_cannot_be_shown_is_said_in_a_line() -> None:
    stored = hand()
    empty = changed(stored, schedule=None, totals=None, value=None, status=Status.UNKNOWN)
    with pytest.raises(InputError, match="hand, belady: holds no schedule: none was found"):
        ScheduleView.of(empty)
    with pytest.raises(InputError, match="no choice for timing called 'stpe'; did you mean"):
        ScheduleView.of(stored, timing="stpe")


def test_a_schedule_for_the_replay_says_that_steps_have_barriers() -> None:
    totals = hand().result.totals
    assert totals is not None
    stored = changed(hand(), objective=REPLAY, value=Fraction(totals.replay_cycles))
    record: Any = schedule_record(ScheduleView.of(stored))
    assert record["remarks"] == barrier_notes(stored.result) != []
    assert schedule_record(ScheduleView.of(stored, timing="async"))["remarks"] == []
