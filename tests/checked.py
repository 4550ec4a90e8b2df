"""Figures of schedules and plans as the verifier recomputes them."""

from __future__ import annotations

from fractions import Fraction
from typing import TypeVar

from spmopt.assemble import assemble
from spmopt.core.objective import Objective
from spmopt.core.problem import Problem
from spmopt.core.result import Totals
from spmopt.core.schedule import ResidencyPlan, Schedule
from spmopt.verifier import require_legal

T = TypeVar("T")


def need(found: T | None) -> T:
    """Return a value that must be there."""
    assert found is not None
    return found


def totals_of(problem: Problem, made: Schedule | ResidencyPlan | None) -> Totals:
    """Return the totals of a schedule, or of a plan once it is assembled; fail if it is illegal."""
    schedule = assemble(problem, made) if isinstance(made, ResidencyPlan) else need(made)
    return need(require_legal(problem, schedule).totals)


def value_of(
    problem: Problem, objective: Objective, made: Schedule | ResidencyPlan | None
) -> Fraction:
    """Return the objective of a schedule or plan; fail if it is illegal."""
    return totals_of(problem, made).value(objective)
