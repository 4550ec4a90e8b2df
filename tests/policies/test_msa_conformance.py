"""Memory space assignment on any instance: legal, whole, never better than the optimum."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings

from spmopt.assemble import derive_commands, step_cycles
from spmopt.assemble.index import resident_bytes
from spmopt.core.errors import InfeasibleError
from spmopt.core.instance import Instance
from spmopt.core.schedule import Plan
from spmopt.core.scheduler import Request
from spmopt.core.timeline import fitting_timeline, timeline
from spmopt.policies import stream
from spmopt.policies.msa import msa
from spmopt.policies.msa.costs import costs
from spmopt.policies.static import nothing_kept
from tests.assemble.small import Op, data, problem
from tests.policies.owed import beats_no_optimum, is_whole, plan_of, random_instances, totals
from tests.strategies import instances

CHOICES = (("elapsed", "stream"), ("elapsed", "load"), ("idle", "stream"), ("idle", "load"))
each_choice = pytest.mark.parametrize(("copies", "late"), CHOICES)


def assigned(instance: Instance, copies: str = "elapsed", late: str = "stream") -> Plan:
    return plan_of(msa(instance, Request(), copies=copies, late=late))


@each_choice
def test_schedules_are_legal_and_whole(copies: str, late: str) -> None:
    kept = stored = 0
    for instance in random_instances(90):
        plan = assigned(instance, copies, late)
        figures = totals(instance, plan)
        assert figures.replay_cycles <= figures.makespan_cycles
        steps = timeline(instance, plan.steps)
        held = resident_bytes(plan.residency, steps.step, steps.tensor)
        assert is_whole(instance, plan)
        kept += int((held > 0).sum() - steps.stationary.sum())
        stored += len(plan.stores)
    assert kept > 100
    assert stored > 50


@each_choice
@settings(max_examples=40, deadline=None)
@given(instance=instances(max_operations=8, max_tensors=6, max_modes=2, duplex=True, setup=True))
def test_schedules_of_shrinking_instances_are_legal(
    copies: str, late: str, instance: Instance
) -> None:
    totals(instance, assigned(instance, copies, late))


@each_choice
def test_it_never_beats_the_optimum(copies: str, late: str) -> None:
    beats_no_optimum(partial(msa, copies=copies, late=late), 40)


@each_choice
def test_it_moves_no_more_than_streaming_everything(copies: str, late: str) -> None:
    less = 0
    for instance in random_instances(60):
        mine = totals(instance, assigned(instance, copies, late)).traffic_bytes
        most = totals(instance, plan_of(stream(instance, Request()))).traffic_bytes
        assert mine <= most
        less += mine < most
    assert less > 30


def test_the_same_instance_gives_the_same_plan() -> None:
    for instance in random_instances(10):
        first, second = assigned(instance), assigned(instance)
        assert first.residency == second.residency
        assert first.stores == second.stores


def test_elapsed_time_is_that_of_streaming_everything() -> None:
    checked = 0
    for instance in random_instances(60):
        steps = fitting_timeline(instance)
        commands = derive_commands(steps, nothing_kept(steps))
        expected = step_cycles(instance.machine, steps, commands)
        elapsed = costs(instance.machine, steps).elapsed
        # A stationary operand of two steps running is loaded once only.
        pinned = np.bincount(steps.step, steps.stationary, expected.size) > 0
        alone = np.append(True, ~(pinned[1:] & pinned[:-1]))
        assert elapsed[alone].tolist() == expected[alone].tolist()
        assert (elapsed >= expected).all()
        checked += int(alone.sum())
    assert checked > 300


def test_what_fits_in_no_mode_is_infeasible() -> None:
    instance = problem({"w": data(9)}, [Op(reads=["w"], stationary=["w"])], spm=8)
    with pytest.raises(InfeasibleError, match="op0"):
        msa(instance, Request())
