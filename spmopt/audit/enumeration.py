"""Optima that a result claims by enumeration: repeated where the problem is small."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from importlib import import_module
from typing import cast

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.problem import Problem
from spmopt.core.result import Result, relative_gap
from spmopt.core.schedule import Command, ResidencyPlan, Schedule, Stores
from spmopt.core.scheduler import Request
from spmopt.schedulers.registry import Kind, SchedulerEntry, find

_REPEAT = "formulations.residency.states.schedule", "least_value"
"""Loaded by name, and only where there is such a claim: it knows no solver."""
_LIMIT_S = 30.0


def enumeration_claim(problem: Problem, result: Result, value: Fraction) -> tuple[list[str], bool]:
    """Repeat an enumeration that proves a schedule optimal, as far as the problem is small.

    Returns
    -------
    tuple
        Violations, and whether the enumeration proves the claim. Neither where the problem is
        too large: the claim is the scheduler's alone then.
    """
    if result.schedule is None or _proves_nothing(result.scheduler):
        return [f"optimal is not true: {result.scheduler} proves nothing by enumeration"], False
    # The enumeration knows neither.
    if problem.machine.bypass or problem.machine.banks:
        return [], False
    repeat = cast(
        "Callable[..., tuple[Fraction, Fraction] | None]",
        getattr(import_module(_REPEAT[0]), _REPEAT[1]),
    )
    tolerance = result.tolerance or 0.0
    request = Request(objective=result.objective, tolerance=tolerance, time_limit_s=_LIMIT_S)
    found = repeat(problem, request, _residency_plan(result.schedule))
    if found is None:
        return [], False
    best, least = found
    gap = relative_gap(value, best)
    if gap is None or gap > tolerance:
        return [f"optimal is not true: an enumeration finds a schedule of {best}"], False
    gap = relative_gap(value, least)
    return [], gap is not None and gap <= tolerance


def _proves_nothing(scheduler: str) -> bool:
    """Return whether a scheduler of the program is a policy, or is not one that enumerates."""
    try:
        entry: SchedulerEntry = find(scheduler)
    except InputError:
        return False
    return entry.is_own and entry.kind is not Kind.FORMULATION


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
