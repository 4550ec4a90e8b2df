"""The search: starts from a plan, keeps what it has, and its bounds are in order."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from formulations.joint.facts import analyze, serial_cycles
from formulations.joint.schedule import FoundSchedule, JointSettings, ProvedBound, search
from spmopt.assemble import assemble
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.policies.belady import belady
from spmopt.policies.static import stream
from tests.checked import need
from tests.formulations.joint.solved import replayed, small, solved
from tests.instances.golden import problem as golden
from tests.thorough import some
from tests.tiny import Op, tiny

PROBLEM = golden("take-turns")


def _residency_plan(seed: int | None = None) -> ResidencyPlan:
    residency_plan = belady(PROBLEM if seed is None else small(seed), Request()).residency_plan
    assert residency_plan is not None
    return residency_plan


# Of a schedule that is not proved optimal the replay may end before the model says.


def test_first_schedule_is_the_plan_s_or_better_and_what_was_found_in_time_stays() -> None:
    residency_plan = _residency_plan()
    found, proved = list[FoundSchedule](), list[ProvedBound]()
    settings = JointSettings(threads=1)
    for answer in search(PROBLEM, settings, residency_plan, stop=lambda: bool(found)):
        (found if isinstance(answer, FoundSchedule) else proved).append(answer)  # type: ignore[arg-type]
    first, last = found[0], found[-1]
    policy = need(replayed(PROBLEM, assemble(PROBLEM, residency_plan)))
    assert need(replayed(PROBLEM, first.schedule)) <= first.cycles <= policy
    assert first.schedule.steps.operation.tolist() == residency_plan.steps.operation.tolist()
    cycles = need(replayed(PROBLEM, last.schedule))
    assert max((bound.cycles for bound in proved), default=0) <= cycles <= last.cycles


@pytest.mark.parametrize("seed", some(range(200, 212)))
def test_start_does_not_change_the_optimum(seed: int) -> None:
    problem = small(seed)
    assert solved(problem, start=_residency_plan(seed)).cycles == solved(problem).cycles


def test_stops_when_told() -> None:
    assert list(islice(search(PROBLEM, JointSettings(), stop=lambda: True), 1)) == []


def test_infeasible_is_proved() -> None:
    problem = tiny({"x": (8, "in")}, [Op(reads="x", required_resident="x")], spm=7)
    answers = list(search(problem, JointSettings(threads=1)))
    assert [a for a in answers if isinstance(a, ProvedBound)][-1].infeasible
    assert not any(isinstance(answer, FoundSchedule) for answer in answers)


@pytest.mark.parametrize("seed", some(range(300, 312)))
def test_looser_models_bound_from_below(seed: int) -> None:
    problem = small(seed)
    order = np.arange(len(problem.operations))
    free = solved(problem).cycles
    fixed = solved(problem, JointSettings(threads=1, order=order)).cycles
    paged = solved(problem, JointSettings(threads=1, paged=True)).cycles
    residency_plan = need(stream(problem, Request()).residency_plan)
    policy = need(replayed(problem, assemble(problem, residency_plan)))
    assert paged <= free <= fixed <= policy <= serial_cycles(analyze(problem))
