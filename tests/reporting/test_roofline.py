"""Rooflines: no point above the roof, bound by what the engine waits for, sums of the schedule."""

from __future__ import annotations

import numpy as np

from spmopt.analysis import Analysis, Breakdown
from spmopt.analysis.steps import attainable
from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.reporting.plots.roofline import plot_roofline
from tests.ablations import told
from tests.fused import perceptron
from tests.reporting.schedule_view.small import result_of
from tests.verifier.random_plans import rich_schedule


def cases() -> list[tuple[Problem, Result]]:
    """Schedules of a network, of one in fusion tiles, and random ones, duplex ones among them."""
    decisions = [(each.problem, each.result) for each in told().decisions]
    stored = [perceptron(), *(result_of(*rich_schedule(seed)) for seed in range(12))]
    return [*decisions, *((each.problem, each.result) for each in stored)]


def layers_of(problem: Problem, result: Result) -> Breakdown:
    assert result.schedule is not None
    return Analysis.of(problem, result.schedule).by_layer()


def test_layers_are_under_the_roof_and_add_up_to_the_schedule() -> None:
    for problem, result in cases():
        layers, totals = layers_of(problem, result), result.totals
        assert totals is not None
        assert layers.traffic_bytes.sum() == totals.traffic_bytes
        assert layers.cycles.sum() == totals.makespan_cycles
        assert layers.stall_cycles.sum() == totals.makespan_cycles - totals.compute_cycles
        moved = layers.traffic_bytes > 0
        # The work of operations without MACs is rounded down to whole cycles.
        roof = attainable(problem.machine, layers.compute_peak, layers.flop_per_byte[moved])
        by_dram = roof < layers.compute_peak
        assert (layers.flop_per_s[moved][by_dram] <= roof[by_dram] * (1 + 1e-9)).all()


def test_memory_bound_is_what_waits_for_dram() -> None:
    """The engine computes all the time of what is kept on chip, however few its FLOP/B."""
    for problem, result in cases():
        layers = layers_of(problem, result)
        assert set(layers.roofline[layers.stall_cycles == 0]) <= {"compute"}
        if not problem.machine.banks:
            waits = layers.stall_cycles > 0.01 * layers.cycles
            assert ((layers.roofline == "memory") == waits).all()


def test_every_layer_is_drawn_in_its_color_or_counted_as_left_out() -> None:
    stored = perceptron()
    layers = layers_of(stored.problem, stored.result)
    assert len(layers.names) < len(stored.problem.operations)  # tiles of one are one point
    ax = plot_roofline(layers)
    assert ax.get_ylabel() == "attained OP/s"
    compute, memory = (np.asarray(each.get_offsets()) for each in ax.collections)
    drawn = (layers.flop > 0) & np.isfinite(layers.flop_per_byte)
    for bound, places in (("compute", compute), ("memory", memory)):
        of_it = drawn & (layers.roofline == bound)
        expected = np.stack((layers.flop_per_byte[of_it], layers.flop_per_s[of_it]), axis=1)
        assert places.tolist() == expected.tolist()
    absent = len(layers.names) - int(drawn.sum())
    assert (f"{absent} without" in ax.get_title("left")) == (absent > 0)
