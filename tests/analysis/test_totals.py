"""Every breakdown adds up to the verifier's totals."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from spmopt.analysis import Analysis, Breakdown
from spmopt.analysis.breakdown import break_down
from spmopt.core.result import Totals
from spmopt.verifier import verify
from tests.verifier.random_plans import rich_schedule

SEEDS = 60


@cache
def cases() -> list[tuple[Analysis, Totals]]:
    """Random schedules, in any order, with everything that the format knows."""
    found = []
    for seed in range(SEEDS):
        problem, schedule = rich_schedule(seed)
        totals = verify(problem, schedule).totals
        assert totals is not None
        found.append((Analysis.of(problem, schedule), totals))
    return found


def summed(groups: Breakdown) -> Totals:
    """The totals that can be had from a breakdown; the others are 0 or not counted."""
    return Totals(
        makespan_cycles=int(groups.cycles.sum()),
        replay_cycles=0,
        dram_in_bytes=int(groups.dram_in_bytes.sum()),
        dram_out_bytes=int(groups.dram_out_bytes.sum()),
        spm_read_bytes=0,
        spm_write_bytes=0,
        macs=int(groups.macs.sum()),
        compute_cycles=int(groups.compute_cycles.sum()),
        dma_cycles=int(groups.dma_cycles.sum()),
        peak_spm_bytes=int(groups.peak_spm_bytes.max()),
    )


def test_groups_of_steps_add_up() -> None:
    for analysis, totals in cases():
        for groups in (analysis.by_layer(), analysis.by_operation()):
            assert summed(groups) == replace(
                totals,
                replay_cycles=0,
                spm_read_bytes=0,
                spm_write_bytes=0,
                dma_commands=None,
                dma_descriptors=None,
            )
            assert groups.steps.sum() == analysis.steps.cycles.size
            np.testing.assert_array_equal(groups.stall_by_cause.sum(0), groups.stall_cycles)


def test_tensors_add_up() -> None:
    for analysis, totals in cases():
        tensors = analysis.by_tensor()
        assert int(tensors["dram_in_bytes"].sum()) == totals.dram_in_bytes
        assert int(tensors["dram_out_bytes"].sum()) == totals.dram_out_bytes
        line, reuse = analysis.steps.view.timeline, analysis.reuse
        reusable = line.size_bytes[line.tensor[reuse.access]].sum()
        assert int(tensors["reusable_bytes"].sum()) == reusable
        assert int(tensors["captured_bytes"].sum()) == reuse.captured_bytes.sum()


def test_rates_follow_from_the_totals() -> None:
    for analysis, totals in cases():
        machine, steps = analysis.problem.machine, analysis.steps
        if totals.makespan_cycles == 0:
            continue
        count = steps.cycles.size
        network = break_down(steps, np.zeros(count, np.int64), ("all",), ("",))
        time_s = totals.makespan_cycles / machine.clock_hz
        assert network.bandwidth_bytes_per_s[0] == pytest.approx(totals.traffic_bytes / time_s)
        peak = machine.dram_bytes_per_s * (2 if machine.duplex else 1)
        active = totals.traffic_bytes / time_s / peak
        assert network.active_time[0] == pytest.approx(active)
        assert network.active_time[0] <= 1 + 1e-12
        occupied = steps.occupied_bytes @ steps.cycles
        assert network.mean_spm_bytes[0] == pytest.approx(occupied / totals.makespan_cycles)
