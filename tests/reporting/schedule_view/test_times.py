"""Steps follow each other, commands keep their queue and their channel, and all adds up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spmopt.analysis.stalls import inward
from spmopt.assemble import assemble
from spmopt.core.problem import Problem
from spmopt.core.scheduler import Request
from spmopt.core.table import Bools
from spmopt.reporting.schedule_view import TIMINGS, ScheduleView
from spmopt.reporting.schedule_view.times import expand
from spmopt.schedulers.registry import find
from spmopt.verifier import replay
from spmopt.verifier.arrays import AFTER, BEFORE
from spmopt.verifier.durations import durations
from tests.reporting.schedule_view.small import pictures, result_of
from tests.strategies import problems
from tests.thorough import share

POLICIES = ("stream", "lru", "belady", "belady-size:granularity=page", "static", "msa")


def channels(picture: ScheduleView) -> list[Bools]:
    """Commands of each channel."""
    into = inward(picture.view)
    return [into, ~into] if picture.problem.machine.duplex else [np.ones_like(into)]


def require_consistent(picture: ScheduleView) -> None:
    """What holds of any picture's times."""
    times, line = picture.times, picture.view.timeline
    end, command_end = times.start + times.duration, times.command_end
    np.testing.assert_array_equal(times.start, np.concatenate(([0], end[:-1])))
    assert end[-1] == times.cycles
    assert int((command_end - times.command_start).sum()) == picture.totals.dma_cycles
    assert command_end.max(initial=0) <= times.cycles
    assert (times.compute_start >= times.start).all()
    computed = times.compute_start + line.compute_cycles
    assert (computed <= times.operation_end).all()
    assert (times.operation_end <= end).all()
    assert int(picture.stall.sum()) == times.cycles - picture.totals.compute_cycles
    for rows in channels(picture):
        assert (times.command_start[rows][1:] >= command_end[rows][:-1]).all()
    phase, step = picture.view.command_phase, picture.view.schedule.commands.step
    before, after = phase == BEFORE, phase == AFTER
    assert (command_end[before] <= times.compute_start[step[before]]).all()
    assert (times.command_start[after] >= times.operation_end[step[after]]).all()
    stall = times.stall_by_cause.sum(axis=0)
    if picture.times.timing == "step" or not picture.problem.machine.duplex:
        np.testing.assert_array_equal(stall, picture.stall)
        assert int(times.command_stall.sum()) == int(stall.sum())
    else:  # both channels may be busy at once
        assert (stall >= picture.stall).all()
        assert (stall <= 2 * picture.stall).all()


@pytest.mark.parametrize("timing", TIMINGS)
def test_times_are_consistent(timing: str) -> None:
    for picture in pictures((timing,)):
        require_consistent(picture)


@settings(deadline=None, max_examples=share(60, 3))
@given(
    problems(max_operations=6, duplex=True, setup=True),
    st.sampled_from(POLICIES),
    st.sampled_from(TIMINGS),
)
def test_times_of_policies_are_consistent(problem: Problem, policy: str, timing: str) -> None:
    residency_plan = find(policy).load()(problem, Request()).residency_plan
    assert residency_plan is not None
    require_consistent(
        ScheduleView.of(result_of(problem, assemble(problem, residency_plan)), timing=timing)
    )


def test_steps_are_those_of_the_makespan() -> None:
    for picture in pictures(("step",)):
        times, step = picture.times, picture.view.schedule.commands.step
        np.testing.assert_array_equal(times.duration, durations(picture.view).step)
        assert times.cycles == picture.totals.makespan_cycles
        assert (times.command_start >= times.start[step]).all()
        assert (times.command_end <= (times.start + times.duration)[step]).all()
        if picture.problem.machine.duplex:  # what goes out waits for the operation
            out = ~inward(picture.view)
            assert (times.command_start >= times.compute_start[step])[out].all()


def test_the_replay_is_that_of_the_verifier() -> None:
    for picture in pictures(("async",)):
        run = replay(picture.view)
        assert picture.times.cycles == run.cycles == picture.totals.replay_cycles
        np.testing.assert_array_equal(picture.times.command_start, run.command_start)
        np.testing.assert_array_equal(picture.times.compute_start, run.operation_start)
        np.testing.assert_array_equal(picture.times.operation_end, run.operation_end)


def test_stalls_of_the_replay_are_what_the_channel_does_meanwhile() -> None:
    """Counted cycle by cycle."""
    for picture in pictures(("async",)):
        times, line = picture.times, picture.view.timeline
        computes = np.zeros(times.cycles, bool)
        for start, cycles in zip(times.compute_start, line.compute_cycles, strict=True):
            computes[start : start + cycles] = True
        cause = picture.analysis.steps.stalls.cause
        expected = np.zeros_like(times.stall_by_cause)
        lasts = times.command_end - times.command_start
        rows = zip(cause, times.command_start, lasts, times.command_stall, strict=True)
        for kind, start, cycles, stall in rows:
            waits = start + np.flatnonzero(~computes[start : start + cycles])
            assert waits.size == stall
            # The last step that begins by then: empty ones before it have no such cycle.
            np.add.at(expected[kind], np.searchsorted(times.start, waits, side="right") - 1, 1)
        np.testing.assert_array_equal(times.stall_by_cause, expected)


def test_expand_lists_places_row_by_row() -> None:
    row, place = expand(np.array([2, 5, 7]), np.array([4, 5, 8]))
    assert (row.tolist(), place.tolist()) == ([0, 0, 2], [2, 3, 7])
    row, place = expand(np.array([3]), np.array([1]))
    assert (row.size, place.size) == (0, 0)
