"""The joint model run to its end, and its schedule checked."""

from __future__ import annotations

from dataclasses import dataclass

from formulations.joint.schedule import FoundSchedule, JointSettings, ProvedBound, search
from spmopt.core.problem import Problem
from spmopt.core.schedule import ResidencyPlan, Schedule
from spmopt.verifier import verify
from tests.strategies import random_problem


@dataclass(frozen=True, kw_only=True)
class Solved:
    """The last schedule and bound."""

    cycles: int
    bound: int
    schedule: Schedule


def solved(
    problem: Problem, settings: JointSettings | None = None, start: ResidencyPlan | None = None
) -> Solved:
    """Search; every schedule and bound on the way must be in order."""
    found: FoundSchedule | None = None
    bound = 0
    for answer in search(problem, settings or JointSettings(threads=1), start):
        if isinstance(answer, ProvedBound):
            assert not answer.infeasible
            assert answer.cycles >= bound
            bound = answer.cycles
        else:
            assert found is None or answer.cycles <= found.cycles
            found = answer
    assert found is not None
    assert bound <= found.cycles
    return Solved(cycles=found.cycles, bound=bound, schedule=found.schedule)


def replayed(problem: Problem, schedule: Schedule) -> int | None:
    """``replay_cycles`` by the verifier; None if the schedule is illegal."""
    report = verify(problem, schedule)
    return report.totals.replay_cycles if report.legal and report.totals is not None else None


def small(seed: int, operations: int = 3) -> Problem:
    """A problem for brute force, with every feature; two mappings in every other one."""
    return random_problem(
        seed,
        max_operations=operations,
        max_tensors=3,
        max_tensor_pages=2,
        max_mappings=1 + seed % 2,
        duplex=True,
        setup=True,
    )
