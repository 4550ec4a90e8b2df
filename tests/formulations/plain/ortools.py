"""GLOP and PDLP of OR-Tools on linear programs, in a process of their own: a second opinion."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

from formulations.solver.apart import call
from formulations.solver.program import Program, SolverResult
from spmopt.core.errors import InputError

_ROOT = Path(__file__).parents[3]
_SOLVERS = ("glop", "pdlp")
_WORKER = "tests.formulations.plain.ortools_worker:solve"


def solve_with_ortools(
    programs: Sequence[Program],
    solver: str,
    *,
    tolerance: float = 1e-9,
    time_limit_s: float = float("inf"),
) -> list[SolverResult]:
    """Solve linear programs one after the other, with ``glop`` or ``pdlp``.

    Parameters
    ----------
    programs
        With matrices by rows and without integers.
    tolerance
        Of PDLP's optimality criterion, absolute and relative (GLOP has its own).
    time_limit_s
        Of each program.

    Raises
    ------
    InputError
        Another solver, or a program with integers.
    """
    if solver not in _SOLVERS:
        raise InputError(f"solver {solver!r}: choose {' or '.join(_SOLVERS)}")
    if any(program.integer is not None and program.integer.any() for program in programs):
        raise InputError(f"solver {solver}: takes no integer columns; solve with HiGHS")
    if any(not program.matrix.by_rows for program in programs):
        raise InputError(f"solver {solver}: takes the matrix by rows")
    with patch.dict(os.environ, PYTHONPATH=str(_ROOT)):  # the process has to find the tests
        return [
            call(_WORKER, program, solver, tolerance, time_limit_s, library="ortools, tests")
            for program in programs
        ]
