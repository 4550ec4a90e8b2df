"""What surrounds the rules: mappings, infeasible operations, the reserve."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spmopt.core.errors import InfeasibleError
from spmopt.core.mappings import SEVERAL_MAPPINGS
from spmopt.core.objective import TRAFFIC
from spmopt.core.operation import REQUIRED_RESIDENT, OpMapping
from spmopt.core.problem import Problem
from spmopt.core.result import Totals
from spmopt.core.scheduler import Request, Scheduler
from spmopt.policies.belady import belady
from spmopt.policies.lru import lru
from spmopt.policies.static import stream
from tests.assemble.small import make_problem
from tests.policies.owed import residency_plan_of, totals
from tests.tiny import Op

each_policy = pytest.mark.parametrize("policy", [stream, lru, belady])


@each_policy
def test_an_operation_that_cannot_run_is_named_with_its_bytes(policy: Scheduler) -> None:
    problem = make_problem(
        {"x": (3, "in"), "w": (9, "in"), "v": (2, "in")},
        [Op(reads="x"), Op(reads="w v x", required_resident="w v", scratch=5)],
        spm=19,
        page=4,
    )
    # Pages: 3 + 1 + 2 of 4 bytes; the scratchpad has 4.
    with pytest.raises(InfeasibleError) as raised:
        policy(problem, Request())
    assert str(raised.value) == (
        "operation op1: its required-resident operands and scratch need 24 bytes of SPM in "
        "pages of 4 in "
        "step 1, available are 16, missing are 8; w (12 bytes) and scratch (8 bytes) already do "
        "not fit together; give a larger --spm"
    )


@each_policy
def test_the_first_mode_that_fits_is_taken(policy: Scheduler) -> None:
    problem = make_problem({"w": (9, "in")}, [Op(reads="w", scratch=4)], spm=8)
    fits = problem.operations[0].mappings[0]
    large = OpMapping(compute_cycles=1, operands=(REQUIRED_RESIDENT,))
    operation = replace(problem.operations[0], mappings=(large, fits, fits))
    several = replace(problem, operations=(operation,))
    found = policy(several, Request())
    assert found.residency_plan is not None
    assert found.residency_plan.steps.mapping.tolist() == [1]
    assert found.notes == (SEVERAL_MAPPINGS,)


def tight() -> Problem:
    """Two weights in turn: keeping one leaves no room to load the other ahead."""
    read = {name: Op(reads=name, cycles=8, required_resident=name) for name in "abc"}
    return make_problem(dict.fromkeys("abc", (4, "in")), [read[n] for n in "abcabcabc"], spm=8)


def figures(problem: Problem, request: Request) -> tuple[Totals, tuple[str, ...]]:
    found = belady(problem, request)
    return totals(problem, residency_plan_of(found)), found.notes


def test_room_is_reserved_where_time_counts_and_not_for_traffic() -> None:
    timed, timed_notes = figures(tight(), Request())
    lean, lean_notes = figures(tight(), Request(objective=TRAFFIC))
    assert timed.makespan_cycles < lean.makespan_cycles
    assert timed.traffic_bytes > lean.traffic_bytes
    assert timed_notes == ("1 of 8 pages left free to prefetch into",)
    assert lean_notes == ()


def test_once_stopped_the_first_plan_is_returned() -> None:
    stopped, notes = figures(tight(), Request(stop=lambda: True))
    lean, _ = figures(tight(), Request(objective=TRAFFIC))
    assert stopped == lean
    assert notes == ()
