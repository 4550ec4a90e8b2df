"""Problems small enough for the brute force."""

from __future__ import annotations

from typing import Any

from hypothesis import assume

from formulations.residency.column_generation import ColumnGeneration
from spmopt.core.objective import Objective
from spmopt.core.problem import Problem
from spmopt.core.scheduler import Request
from tests.brute_force import Optimum, optimum
from tests.checked import need

SMALL: dict[str, Any] = {
    "max_operations": 5,
    "max_tensors": 3,
    "page_bytes": 2,
    "max_mappings": 2,
    "duplex": True,
    "setup": True,
}
"""Features of problems that the brute force mostly gets through."""


def small_optimum(
    problem: Problem,
    objective: Objective,
    residency: str = "page",
    store_bytes: int | None = None,
) -> Optimum:
    """Return the optimum, or give the example up when it is too large."""
    found = optimum_if_small(problem, objective, residency, store_bytes)
    if found is None:
        assume(False)
    return need(found)


def optimum_if_small(
    problem: Problem,
    objective: Objective,
    residency: str = "page",
    store_bytes: int | None = None,
) -> Optimum | None:
    """Return the optimum, or None of a problem that is too large."""
    try:
        found = optimum(problem, objective, residency=residency, store_bytes=store_bytes)
    except ValueError:
        return None
    assert found is not None, "random problems are feasible"
    return found


def relax(problem: Problem, request: Request) -> ColumnGeneration:
    """Return column generation in bytes after its run."""
    search = ColumnGeneration(problem, request, fluid=True)
    search.run(request.tolerance)
    return search
