"""Small problems and plans written by hand: names instead of indices, a page of one byte."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spmopt.core.problem import Problem
from spmopt.core.schedule import Command, Commands, Residency, ResidencyPlan, Steps, Stores
from spmopt.core.timeline import Timeline, timeline
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


def residency_plan(
    problem: Problem,
    rows: Sequence[tuple[str, int, int, int]] = (),
    stores: Sequence[tuple[int, str, int]] = (),
) -> ResidencyPlan:
    """A plan in the listed order from (tensor, begin, end, bytes) and (step, tensor, bytes)."""
    names = list(problem.tensor_names)
    count = len(problem.operations)
    table = np.array([(names.index(t), *rest) for t, *rest in rows], np.int64).reshape(-1, 4)
    saved = np.array([(i, names.index(t), x) for i, t, x in stores], np.int64).reshape(-1, 3)
    return ResidencyPlan(
        steps=Steps.listed(np.zeros(count, np.int64)),
        residency=Residency(
            tensor=table[:, 0], begin=table[:, 1], end=table[:, 2], size_bytes=table[:, 3]
        ),
        stores=Stores(step=saved[:, 0], tensor=saved[:, 1], size_bytes=saved[:, 2]),
    )


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
