"""Small problems and plans written by hand: names instead of indices, a page of one byte."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spmopt.assemble import assemble
from spmopt.core.problem import Problem
from spmopt.core.schedule import (
    Command,
    Commands,
    Residency,
    ResidencyPlan,
    Schedule,
    Steps,
    Stores,
)
from spmopt.core.timeline import Timeline, timeline
from spmopt.verifier import verify
from tests.tiny import Op, tiny


def make_problem(
    tensors: Mapping[str, tuple[int, str]],
    operations: Sequence[Op],
    *,
    spm: int = 100,
    page: int = 1,
    **machine: Any,
) -> Problem:
    """A problem on a machine that moves a byte a cycle."""
    return tiny(tensors, operations, spm=spm, page_bytes=page, **machine)


def reading(letters: str, spm: int = 8, size: int = 4, **sizes: int) -> Problem:
    """One operation a letter, which reads that tensor; a dot reads none."""
    tensors = {name: (sizes.get(name, size), "in") for name in sorted(set(letters) - {"."})}
    return make_problem(tensors, [Op(reads=name.strip(".")) for name in letters], spm=spm)


def residency_plan(
    problem: Problem,
    rows: Sequence[tuple[str, int, int, int]] = (),
    stores: Sequence[tuple[int, str, int]] = (),
) -> ResidencyPlan:
    """A plan in the listed order from (tensor, begin, end, bytes) and (step, tensor, bytes)."""
    names = list(problem.tensor_names)
    count = len(problem.operations)
    return ResidencyPlan(
        steps=Steps.listed(np.zeros(count, np.int64)),
        residency=Residency.of_rows(sorted((names.index(t), *rest) for t, *rest in rows)),
        stores=Stores.of_rows([(i, names.index(t), size) for i, t, size in stores]),
    )


def legal_schedule(
    problem: Problem,
    rows: Sequence[tuple[str, int, int, int]] = (),
    stores: Sequence[tuple[int, str, int]] = (),
) -> Schedule:
    """The plan of these rows (see :func:`residency_plan`) with commands, verified."""
    schedule = assemble(problem, residency_plan(problem, rows, stores))
    assert verify(problem, schedule).legal
    return schedule


def arrays(problem: Problem, chosen: ResidencyPlan) -> Timeline:
    """The problem as ``chosen`` runs it."""
    return timeline(problem, chosen.steps)


def rows_of(problem: Problem, residency: Residency) -> list[tuple[str, int, int, int]]:
    """Residency rows with names: (tensor, begin, end, bytes)."""
    names = problem.tensor_names
    columns = (residency.tensor, residency.begin, residency.end, residency.size_bytes)
    return [
        (names[t], begin, end, size)
        for t, begin, end, size in zip(*(c.tolist() for c in columns), strict=True)
    ]


def stores_of(problem: Problem, stores: Stores) -> list[tuple[int, str, int]]:
    """Store rows with names: (step, tensor, bytes)."""
    names = problem.tensor_names
    columns = (stores.step, stores.tensor, stores.size_bytes)
    return [(i, names[t], x) for i, t, x in zip(*(c.tolist() for c in columns), strict=True)]


def listed(problem: Problem, commands: Commands) -> list[tuple[int, str, str, int, int, int]]:
    """Commands with names: (step, kind, tensor, begin, end, passes), in queue order."""
    names = problem.tensor_names
    columns = (
        commands.step,
        commands.kind,
        commands.tensor,
        commands.begin,
        commands.end,
        commands.fetches,
    )
    return [
        (step, Command(kind).name.lower(), names[tensor], begin, end, fetches)
        for step, kind, tensor, begin, end, fetches in zip(
            *(column.tolist() for column in columns), strict=True
        )
    ]
