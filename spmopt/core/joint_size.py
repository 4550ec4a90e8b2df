"""Which problems are small enough for one model of all decisions."""

from __future__ import annotations

from spmopt.core.problem import Problem

MOST_USES = 300
"""Uses of tensors up to which CP-SAT is asked about a problem."""


def decide_together(problem: Problem) -> bool:
    """Return whether order, residency, times and addresses may be decided in one model."""
    # Variables of the model grow with uses, not with operations.
    uses = sum(len({*each.reads, *each.writes}) for each in problem.operations)
    return uses <= MOST_USES
