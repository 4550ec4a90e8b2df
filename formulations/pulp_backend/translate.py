"""From a :class:`Program` to a problem of PuLP, whose columns and rows have names."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pulp

from formulations.solver.program import Program


@dataclass(frozen=True, kw_only=True)
class Names:
    """Name of a program, and of its columns (n,) and rows (m,), all different."""

    program: str
    columns: Sequence[str]
    rows: Sequence[str]


def translate(program: Program, names: Names) -> tuple[Any, list[Any]]:
    """Return the problem of PuLP, and its variables by column of ``program``."""
    integer = np.zeros(program.cost.size, bool) if program.integer is None else program.integer
    sides = np.stack((program.lower, program.upper), axis=1).tolist()
    # PuLP 4 will have another way, PuLP 3.0 has this one only.
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        columns = [
            pulp.LpVariable(name, _side(low), _side(high), "Integer" if whole else "Continuous")
            for name, (low, high), whole in zip(names.columns, sides, integer.tolist(), strict=True)
        ]
        # As a variable: file formats and solvers treat constants differently.
        constant = pulp.LpVariable("constant", 1, 1)
    problem = pulp.LpProblem(names.program, pulp.LpMinimize)
    costs = zip([*columns, constant], [*program.cost.tolist(), program.offset], strict=True)
    problem += pulp.LpAffineExpression((one, cost) for one, cost in costs if cost), "objective"
    matrix = program.matrix
    start, index, value = matrix.start.tolist(), matrix.index.tolist(), matrix.value.tolist()
    rows = zip(names.rows, program.row_lower.tolist(), program.row_upper.tolist(), strict=True)
    for row, (name, low, high) in enumerate(rows):
        entries = range(start[row], start[row + 1])
        terms = pulp.LpAffineExpression((columns[index[k]], value[k]) for k in entries)
        if not len(terms):
            continue
        if low == high:
            problem += terms == low, name
            continue
        # A row of two sides is two in PuLP.
        both = np.isfinite(low) and np.isfinite(high)
        if np.isfinite(low):
            problem += terms >= low, f"{name}_least" if both else name
        if np.isfinite(high):
            problem += terms <= high, f"{name}_most" if both else name
    return problem, columns


def _side(value: float) -> float | None:
    return value if np.isfinite(value) else None
