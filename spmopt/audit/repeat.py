"""Bounds of a class that a solver claims: solved again on demand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from typing import Protocol, cast

import numpy as np

from spmopt.core.problem import Problem
from spmopt.core.result import ClassBound, Result
from spmopt.core.schedule import Command, ResidencyPlan, Schedule, Stores
from spmopt.core.scheduler import Request

_SOLVE = "formulations.residency.plain.search", "class_optimum"
"""Loaded by name, and only where a claim is repeated: checks need no solver."""


class ClassOptimum(Protocol):
    """The best plan of a class that a solver finds, and its bound."""

    value: Fraction
    bound: float
    solver: str


@dataclass(frozen=True, kw_only=True)
class Repeated:
    """A claim solved again.

    Attributes
    ----------
    complaint
        Reason why the claim is not true; '' if the solver finds it again.
    bound
        Of the second run; None where it ended without one, so that nothing is said.
    solver
        Name of the solver.
    """

    complaint: str = ""
    bound: float | None = None
    solver: str = ""


def repeat_claim(problem: Problem, result: Result, request: Request) -> Repeated | None:
    """Solve the class of a result again, to the gap that the result claims.

    Returns
    -------
    Repeated or None
        None where the result claims no bound of a class, or one with dual values of its own.
    """
    known, schedule = result.class_bound, result.schedule
    if known is None or known.certified or schedule is None or result.value is None:
        return None
    solve = cast("Callable[..., ClassOptimum | None]", getattr(import_module(_SOLVE[0]), _SOLVE[1]))
    request = Request(
        objective=result.objective,
        tolerance=result.tolerance or 0.0,
        time_limit_s=request.time_limit_s,
        start=_residency_plan(schedule),
    )
    found = solve(problem, request, known.holds_for)
    if found is None:
        return Repeated()
    return _judge(known, result, found)


def _judge(known: ClassBound, result: Result, found: ClassOptimum) -> Repeated:
    # A claim is false where a schedule of the class is below it. It is a rounded number.
    if float(found.value) < known.value * (1 - (result.tolerance or 0.0)):
        complaint = (
            f"the bound for {known.holds_for}, {known.value:.9g}, is above a schedule of "
            f"{float(found.value):.9g} that {found.solver} finds"
        )
        return Repeated(complaint=complaint, bound=found.bound, solver=found.solver)
    return Repeated(bound=found.bound, solver=found.solver)


def _residency_plan(schedule: Schedule) -> ResidencyPlan:
    """Return the decisions that a schedule follows from."""
    commands = schedule.commands
    stores = commands.take(commands.kind == Command.STORE)
    # A tensor may be stored by several commands of one step.
    keys, place = np.unique(np.stack((stores.step, stores.tensor)), axis=1, return_inverse=True)
    sizes = np.zeros(keys.shape[1], np.int64)
    np.add.at(sizes, place.ravel(), stores.end - stores.begin)
    return ResidencyPlan(
        steps=schedule.steps,
        residency=schedule.residency,
        stores=Stores(step=keys[0], tensor=keys[1], size_bytes=sizes),
    )
