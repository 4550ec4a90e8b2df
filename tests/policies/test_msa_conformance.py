"""Memory space assignment on any problem."""

from __future__ import annotations

import numpy as np
import pytest

from spmopt.assemble import derive_commands
from spmopt.core.problem import Problem
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.core.timeline import fitting_timeline
from spmopt.policies.msa import msa
from spmopt.policies.msa.costs import costs
from spmopt.policies.static import nothing_kept, stream
from tests.assemble.step_cycles import step_cycles
from tests.policies.owed import (
    random_problems,
    residency_plan_of,
    totals,
)
from tests.thorough import share

CHOICES = (("elapsed", "stream"), ("elapsed", "load"), ("idle", "stream"), ("idle", "load"))
each_choice = pytest.mark.parametrize(("copies", "late"), CHOICES)


def assigned(problem: Problem, copies: str = "elapsed", late: str = "stream") -> ResidencyPlan:
    return residency_plan_of(msa(problem, Request(), copies=copies, late=late))


@each_choice
def test_it_moves_no_more_than_streaming_everything(copies: str, late: str) -> None:
    less = 0
    for problem in random_problems(share(60)):
        mine = totals(problem, assigned(problem, copies, late)).traffic_bytes
        most = totals(problem, residency_plan_of(stream(problem, Request()))).traffic_bytes
        assert mine <= most
        less += mine < most
    assert less > share(20)


def test_elapsed_time_is_that_of_streaming_everything() -> None:
    checked = 0
    for problem in random_problems(share(60)):
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
    assert checked > share(300)
