"""Memory space assignment on any problem: legal, whole, never better than the optimum."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings

from spmopt.assemble import derive_commands, step_cycles
from spmopt.assemble.index import resident_bytes
from spmopt.core.errors import InfeasibleError
from spmopt.core.problem import Problem
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.core.timeline import fitting_timeline, timeline
from spmopt.policies import stream
from spmopt.policies.msa import msa
from spmopt.policies.msa.costs import costs
from spmopt.policies.static import nothing_kept
from tests.assemble.small import Op, data, make_problem
from tests.policies.owed import (
    beats_no_optimum,
    is_whole,
    random_problems,
    residency_plan_of,
    totals,
)
from tests.strategies import problems

CHOICES = (("elapsed", "stream"), ("elapsed", "load"), ("idle", "stream"), ("idle", "load"))
each_choice = pytest.mark.parametrize(("copies", "late"), CHOICES)


def assigned(problem: Problem, copies: str = "elapsed", late: str = "stream") -> ResidencyPlan:
    return residency_plan_of(msa(problem, Request(), copies=copies, late=late))


@each_choice
def test_schedules_are_legal_and_whole(copies: str, late: str) -> None:
    kept = stored = 0
    for problem in random_problems(90):
        residency_plan = assigned(problem, copies, late)
        figures = totals(problem, residency_plan)
        assert figures.replay_cycles <= figures.makespan_cycles
        steps = timeline(problem, residency_plan.steps)
        held = resident_bytes(residency_plan.residency, steps.step, steps.tensor)
        assert is_whole(problem, residency_plan)
        kept += int((held > 0).sum() - steps.required_resident.sum())
        stored += len(residency_plan.stores)
    assert kept > 100
    assert stored > 50


@each_choice
@settings(max_examples=40, deadline=None)
@given(problem=problems(max_operations=8, max_tensors=6, max_mappings=2, duplex=True, setup=True))
def test_schedules_of_shrinking_problems_are_legal(
    copies: str, late: str, problem: Problem
) -> None:
    totals(problem, assigned(problem, copies, late))


@each_choice
def test_it_never_beats_the_optimum(copies: str, late: str) -> None:
    beats_no_optimum(partial(msa, copies=copies, late=late), 40)


@each_choice
def test_it_moves_no_more_than_streaming_everything(copies: str, late: str) -> None:
    less = 0
    for problem in random_problems(60):
        mine = totals(problem, assigned(problem, copies, late)).traffic_bytes
        most = totals(problem, residency_plan_of(stream(problem, Request()))).traffic_bytes
        assert mine <= most
        less += mine < most
    assert less > 30


def test_the_same_problem_gives_the_same_plan() -> None:
    for problem in random_problems(10):
        first, second = assigned(problem), assigned(problem)
        assert first.residency == second.residency
        assert first.stores == second.stores


def test_elapsed_time_is_that_of_streaming_everything() -> None:
    checked = 0
    for problem in random_problems(60):
        steps = fitting_timeline(problem)
        commands = derive_commands(steps, nothing_kept(steps))
        expected = step_cycles(problem.machine, steps, commands)
        elapsed = costs(problem.machine, steps).elapsed
        # A required-resident operand of two steps running is loaded once only.
        pinned = np.bincount(steps.step, steps.required_resident, expected.size) > 0
        alone = np.append(True, ~(pinned[1:] & pinned[:-1]))
        assert elapsed[alone].tolist() == expected[alone].tolist()
        assert (elapsed >= expected).all()
        checked += int(alone.sum())
    assert checked > 300


def test_what_fits_in_no_mode_is_infeasible() -> None:
    problem = make_problem({"w": data(9)}, [Op(reads=["w"], required_resident=["w"])], spm=8)
    with pytest.raises(InfeasibleError, match="op0"):
        msa(problem, Request())
