"""Where no scheduler is named, small problems without barriers are also decided by ``joint``."""

import spmopt
from tests.instances import golden

NOTE = "the better of two"


def solved(**options: object) -> spmopt.Solution:
    return spmopt.solve(golden.problem("take-turns"), time_limit=4.0, **options)  # type: ignore[arg-type]


def test_it_is_no_worse_than_either() -> None:
    found = solved(timing="async").result
    assert found.verified
    assert any(NOTE in note for note in found.notes)
    named = [solved(timing="async", scheduler=name).result for name in ("residency", "joint")]
    values = [each.value for each in named if each.value is not None]
    assert found.value == min(values)


def test_with_barriers_or_a_name_it_is_one() -> None:
    for options in ({}, {"timing": "async", "scheduler": "residency"}):
        assert not any(NOTE in note for note in solved(**options).result.notes)


def test_large_problems_are_solved_once() -> None:
    found = spmopt.solve(golden.problem("gnmt-small"), timing="async", time_limit=0.5).result
    assert found.scheduler == "residency"
    assert not any(NOTE in note for note in found.notes)


def test_a_short_limit_is_for_the_optimizer_of_steps() -> None:
    """Half of it would be too short for a schedule as good as without ``timing``."""
    problem = golden.problem("take-turns")
    limit_s = 0.09 * len(problem.operations)
    found = spmopt.solve(problem, timing="async", time_limit=limit_s).result
    assert found.scheduler == "residency"
    assert not any(NOTE in note for note in found.notes)
