"""Changing a schedule in one place, and asking which rules that breaks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spmopt.core.problem import Problem
from spmopt.core.schedule import Schedule
from spmopt.verifier import verify


def broken(problem: Problem, residency_plan: Schedule) -> set[str]:
    """Names of the rules broken."""
    return {violation.rule for violation in verify(problem, residency_plan).violations}


def without(residency_plan: Schedule, row: int) -> Schedule:
    """Less one command."""
    rest = np.arange(len(residency_plan.commands)) != row
    return replace(residency_plan, commands=residency_plan.commands.take(rest))


def queue(residency_plan: Schedule, *rows: int) -> Schedule:
    """The commands in another order."""
    return replace(residency_plan, commands=residency_plan.commands.take(np.array(rows)))


def with_cell(residency_plan: Schedule, table: str, column: str, row: int, value: int) -> Schedule:
    """One number changed."""
    rows = getattr(residency_plan, table)
    values = getattr(rows, column).copy()
    values[row] = value
    return replace(residency_plan, **{table: replace(rows, **{column: values})})
