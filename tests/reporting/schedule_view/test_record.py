"""The record: columns of equal length, plain numbers, and totals that are those of the metrics."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from spmopt.analysis import Cause
from spmopt.analysis.explanation import Explanation
from spmopt.analysis.shadow_prices import ShadowPrices
from spmopt.core.errors import InputError, ScheduleError
from spmopt.core.objective import MAKESPAN, REPLAY, TRAFFIC
from spmopt.core.problem import TensorKind
from spmopt.core.result import Status
from spmopt.core.schedule import Command
from spmopt.core.scheduler import Request
from spmopt.io.files import StoredResult, read_problem
from spmopt.metrics import metrics
from spmopt.reporting.analysis import detail
from spmopt.reporting.headings import barrier_notes
from spmopt.reporting.occupancy import KINDS
from spmopt.reporting.results import PART
from spmopt.reporting.schedule_view import TIMINGS, ScheduleView, schedule_record
from spmopt.reporting.schedule_view import record as record_module
from spmopt.solving import solve
from tests.reporting.schedule_view.small import pictures, result_of
from tests.verifier import hand_made

PROBLEMS = Path(__file__).parents[3] / "instances"


def solved(name: str, request: Request) -> StoredResult:
    problem = read_problem(PROBLEMS / f"{name}.json")
    return StoredResult(problem=problem, result=solve(problem, "residency", request))


@pytest.fixture(scope="module")
def stored() -> StoredResult:
    """One with dual values."""
    return solved("lenet5", Request(objective=MAKESPAN, time_limit_s=5))


def figures(record: Any) -> dict[str, Any]:
    return {figure["key"]: figure for figure in record["figures"]}


@pytest.mark.parametrize("timing", TIMINGS)
def test_totals_are_those_of_the_metrics(stored: StoredResult, timing: str) -> None:
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
    cycles = totals.makespan_cycles if timing == "steps" else totals.replay_cycles
    assert record["cycles"] == sum(record["steps"]["cycles"]) == cycles
    assert sum(record["steps"]["compute_cycles"]) == totals.compute_cycles
    assert sum(record["commands"]["bytes"]) == totals.traffic_bytes
    assert sum(record["commands"]["cycles"]) == totals.dma_cycles
    tensors = record["tensors"]
    assert sum(tensors["loaded"] + tensors["streamed_in"]) == totals.dram_in_bytes
    assert sum(tensors["stored"] + tensors["streamed_out"]) == totals.dram_out_bytes
    assert len(record["commands"]["step"]) == totals.dma_commands
    assert (record["title"], record["timing"]) == (f"{stored.problem.name}, page", timing)


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


def test_words_are_found_by_their_numbers(stored: StoredResult) -> None:
    record: Any = schedule_record(ScheduleView.of(stored))
    assert record["causes"] == [cause.words for cause in Cause]
    assert record["kinds"][-1] == "scratch"
    assert len(KINDS) == len(TensorKind) + 1
    for tensor, kind in zip(stored.problem.tensors, record["tensors"]["kind"], strict=True):
        assert record["kinds"][kind] == str(tensor.kind).replace("_", " ")
    operations = [stored.problem.operations[k].name for k in record["steps"]["operation"]]
    assert record["steps"]["name"] == operations
    assert {*record["commands"]["kind"]} <= {*Command}


def test_tables_are_those_of_the_analysis(stored: StoredResult) -> None:
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
def test_causes_add_up_to_the_stall(stored: StoredResult, timing: str) -> None:
    record: Any = schedule_record(ScheduleView.of(stored, timing=timing))
    rows = record["tables"]["cause"]["rows"]
    by_step = [sum(causes) for causes in zip(*record["steps"]["stall_by_cause"], strict=True)]
    assert by_step == record["steps"]["stall_cycles"]
    total = sum(by_step)
    assert sum(row[1] for row in rows) == total > 0
    assert sum(row[3] for row in rows) == pytest.approx(1)
    assert "none" not in [row[0] for row in rows]


def test_the_roofline_has_the_layers_that_compute(stored: StoredResult) -> None:
    picture = ScheduleView.of(stored)
    roofline: Any = schedule_record(picture)["roofline"]
    layers = picture.analysis.by_layer()
    computes = [name for name, flop in zip(layers.names, layers.flop, strict=True) if flop]
    assert roofline["points"]["name"] == computes
    assert roofline["without_flop"] == len(layers.names) - len(computes)


def test_duals_add_up_to_the_worth_of_a_megabyte(stored: StoredResult) -> None:
    record: Any = schedule_record(ScheduleView.of(stored))
    certificate = stored.result.certificate
    assert certificate is not None
    worth = ShadowPrices.of(stored.problem, certificate)
    clock = stored.problem.machine.clock_hz
    assert record["shadow_prices"] == {
        "per_mb": float(worth.spm.per_byte * 10**6 / clock),
        "per_gbps": float(worth.per_byte_per_s * 10**9 / clock),
        "unit": "s",
        "little": 1000,
    }
    assert record["shadow_prices"]["per_mb"] > 0
    found = figures(record)
    assert found["spm_dual"]["value"] == pytest.approx(record["shadow_prices"]["per_mb"] / 1000)
    assert found["spm_dual"]["note"] == "how much the bound falls per extra 1 kB"
    assert found["dram_dual"]["text"].endswith("s")
    assert sum(record["steps"]["dual"]) == pytest.approx(
        record["shadow_prices"]["per_mb"], rel=0.01
    )


def test_duals_are_in_the_unit_of_the_objective() -> None:
    stored = solved("mlp", Request(objective=TRAFFIC, time_limit_s=5))
    record: Any = schedule_record(ScheduleView.of(stored))
    assert record["shadow_prices"]["unit"] == "B"
    certificate = stored.result.certificate
    assert certificate is not None
    expected = float(ShadowPrices.of(stored.problem, certificate).spm.per_byte * 10**6)
    assert record["shadow_prices"]["per_mb"] == expected
    bound = figures(record)["bound"]
    assert (bound["value"], bound["unit"]) == (float(stored.result.bound or 0), "B")


def test_without_duals_nothing_is_worth_anything() -> None:
    picture = next(pictures())
    record: Any = schedule_record(picture)
    assert record["steps"]["dual"] is None
    assert record["shadow_prices"]["per_mb"] is record["shadow_prices"]["per_gbps"] is None
    assert figures(record)["bound"]["value"] is None
    assert figures(record)["gap"]["text"] == "none"


def hand() -> StoredResult:
    case = hand_made.reuse()
    return result_of(case.problem, case.schedule)


def changed(stored: StoredResult, **changes: Any) -> StoredResult:
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
    with pytest.raises(InputError, match=r"hand, belady: holds no schedule \(unknown\); name"):
        ScheduleView.of(empty)
    with pytest.raises(InputError, match="no choice for timing called 'repaly'; did you mean"):
        ScheduleView.of(stored, timing="repaly")


def test_a_schedule_for_the_replay_says_that_steps_have_barriers() -> None:
    totals = hand().result.totals
    assert totals is not None
    stored = changed(hand(), objective=REPLAY, value=Fraction(totals.replay_cycles))
    record: Any = schedule_record(ScheduleView.of(stored))
    assert record["remarks"] == barrier_notes(stored.result) != []
    assert schedule_record(ScheduleView.of(stored, timing="replay"))["remarks"] == []


def test_stalls_are_explained_as_the_explanation_has_them(stored: StoredResult) -> None:
    picture = ScheduleView.of(stored)
    record: Any = schedule_record(picture)
    explained, schedule = record["explained"], stored.result.schedule
    assert schedule is not None
    found = Explanation.of(stored.problem, schedule)
    stalls = found.figures.stall_cycles.tolist()
    assert {int(step) for step in explained["steps"]} == {k for k, s in enumerate(stalls) if s}
    columns = explained["columns"]
    for step, rows in explained["steps"].items():
        largest = found.transfers(int(step))[0]
        row = dict(zip(columns, rows[0], strict=True))
        assert row["tensor"] == largest.name
        assert row["transfer"] == largest.cause.words
        assert row["blocked by"] == largest.obstacle.words
        assert row["detail"] or largest.obstacle.words != "capacity"


def test_the_longest_stalls_alone_are_explained(
    stored: StoredResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_module, "MOST_EXPLAINED", 2)
    picture = ScheduleView.of(stored)
    record: Any = schedule_record(picture)
    stalls = picture.analysis.steps.stall_cycles
    shown = [int(step) for step in record["explained"]["steps"]]
    assert sorted(stalls[shown]) == sorted(stalls)[-2:]
