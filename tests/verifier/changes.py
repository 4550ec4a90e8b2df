"""Changing a schedule in one place, and asking which rules that breaks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spmopt.core.instance import Instance
from spmopt.core.schedule import Schedule
from spmopt.verifier import verify


def broken(instance: Instance, plan: Schedule) -> set[str]:
    """Names of the rules broken."""
    return {violation.rule for violation in verify(instance, plan).violations}


def without(plan: Schedule, row: int) -> Schedule:
    """Less one command."""
    rest = np.arange(len(plan.commands)) != row
    return replace(plan, commands=plan.commands.take(rest))


def queue(plan: Schedule, *rows: int) -> Schedule:
    """The commands in another order."""
    return replace(plan, commands=plan.commands.take(np.array(rows)))


def with_cell(plan: Schedule, table: str, column: str, row: int, value: int) -> Schedule:
    """One number changed."""
    rows = getattr(plan, table)
    values = getattr(rows, column).copy()
    values[row] = value
    return replace(plan, **{table: replace(rows, **{column: values})})
