"""Rooflines: no point above the roof, bound by what the engine waits for, sums of the schedule."""

from __future__ import annotations

from typing import Any

import pytest

from spmopt.analysis import Analysis, Breakdown
from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.reporting.roofline import roofline_record
from tests.ablations import told
from tests.analysis.small import kept, training_step
from tests.fused import perceptron
from tests.reporting.schedule_view.small import result_of
from tests.verifier.random_plans import rich_schedule


def cases() -> list[tuple[Problem, Result]]:
    """Schedules of a network, of one in fusion tiles, and random ones, duplex ones among them."""
    decisions = [(each.problem, each.result) for each in told().decisions]
    stored = [perceptron(), *(result_of(*rich_schedule(seed)) for seed in range(30))]
    return [*decisions, *((each.problem, each.result) for each in stored)]


def layers_of(problem: Problem, result: Result) -> Breakdown:
    assert result.schedule is not None
    return Analysis.of(problem, result.schedule).by_layer()


def test_no_point_is_above_the_roof() -> None:
    for problem, result in cases():
        record: Any = roofline_record(layers_of(problem, result))
        roof, points = record["roof"], record["points"]
        for intensity, attained in zip(points["intensity"], points["attained"], strict=True):
            if intensity is not None:
                assert attained <= intensity * roof["bytes_per_s"] * (1 + 1e-9)
        if all(operation.mappings[0].macs == 0 for operation in problem.operations):
            peak = max(each["flop_per_s"] for each in roof["peaks"])
            assert all(each <= peak * (1 + 1e-9) for each in points["attained"])


def test_memory_bound_is_what_waits_for_dram() -> None:
    """The engine computes all the time of what is kept on chip, however few its FLOP/B."""
    for problem, result in cases():
        points: Any = roofline_record(layers_of(problem, result))["points"]
        rows = zip(points["bound"], points["time_s"], points["stall_s"], strict=True)
        for bound, time_s, stall_s in rows:
            if stall_s == 0:
                assert bound == "compute"
            if not problem.machine.banks:
                assert (bound == "memory") == (stall_s > 0.01 * time_s)


def test_intensity_counts_what_crosses_the_dram_boundary() -> None:
    layers = kept(training_step(spm=1000)).by_layer()
    assert layers.traffic_bytes.sum() < layers.operand_bytes.sum()
    for flop, moved, intensity in zip(
        layers.flop, layers.traffic_bytes, layers.flop_per_byte, strict=True
    ):
        assert intensity == (flop / moved if moved else float("inf"))


def test_points_add_up_to_the_schedule() -> None:
    for problem, result in cases():
        assert result.totals is not None
        record: Any = roofline_record(layers_of(problem, result))
        points, totals, clock = record["points"], result.totals, problem.machine.clock_hz
        if record["without_flop"] == 0:
            assert sum(points["traffic_bytes"]) == totals.traffic_bytes
            assert sum(points["time_s"]) == pytest.approx(totals.makespan_cycles / clock)
            stall_s = (totals.makespan_cycles - totals.compute_cycles) / clock
            assert sum(points["stall_s"]) == pytest.approx(stall_s)


def test_pieces_of_an_operation_are_one_point() -> None:
    stored = perceptron()
    points: Any = roofline_record(layers_of(stored.problem, stored.result))["points"]
    pairs = set(zip(points["name"], points["pass"], strict=True))
    assert len(points["name"]) == len(pairs) < len(stored.problem.operations)
