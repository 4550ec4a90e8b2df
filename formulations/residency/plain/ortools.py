"""GLOP and PDLP of OR-Tools on the arrays of linear programs: a second opinion on HiGHS.

They run in a process of their own. Since highspy 1.15 the two packages cannot be loaded into one
process: each brings its own libhighs.so.1, and whoever comes second gets the other's
(https://github.com/google/or-tools/issues/5246).
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import version
from io import BytesIO
from typing import Any

import numpy as np

from formulations.solver.program import Answer, Ending, Floats, Program
from spmopt.core.errors import InputError

_SOLVERS = ("glop", "pdlp")
_WORKER = "formulations.residency.plain.ortools_worker"


def solve_with_ortools(
    programs: Sequence[Program],
    solver: str,
    *,
    tolerance: float = 1e-9,
    time_limit_s: float = float("inf"),
) -> list[Answer]:
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
    request = BytesIO()
    np.savez(request, **_packed(programs))
    done = subprocess.run(
        [sys.executable, "-m", _WORKER, solver, str(tolerance), str(time_limit_s)],
        input=request.getvalue(),
        stdout=subprocess.PIPE,
        check=True,
    )
    with np.load(BytesIO(done.stdout)) as reply:
        return [_answer(reply, k, program, solver) for k, program in enumerate(programs)]


def _packed(programs: Sequence[Program]) -> dict[str, Any]:
    """Arrays by name; those of program ``k`` end in ``k``."""
    arrays: dict[str, Any] = {"count": np.array(len(programs))}
    for k, program in enumerate(programs):
        arrays[f"cost{k}"] = program.cost
        arrays[f"lower{k}"] = program.lower
        arrays[f"upper{k}"] = program.upper
        arrays[f"row_lower{k}"] = program.row_lower
        arrays[f"row_upper{k}"] = program.row_upper
        arrays[f"start{k}"] = program.matrix.start
        arrays[f"index{k}"] = program.matrix.index
        arrays[f"value{k}"] = program.matrix.value
    return arrays


def _answer(reply: np.lib.npyio.NpzFile, k: int, program: Program, solver: str) -> Answer:
    ending = Ending(str(reply[f"ending{k}"]))
    primal = _values(reply[f"primal{k}"], program.cost.size)
    objective = None if primal is None else float(program.cost @ primal + program.offset)
    solved = ending is Ending.OPTIMAL
    return Answer(
        ending=ending,
        objective=objective,
        bound=objective if solved and objective is not None else -np.inf,
        feasible=solved,
        primal=primal,
        column_dual=_values(reply[f"column_dual{k}"], program.cost.size),
        row_dual=_values(reply[f"row_dual{k}"], program.row_lower.size),
        nodes=0,
        iterations=0,
        seconds=float(reply[f"seconds{k}"]),
        solver=f"OR-Tools {version('ortools')} {solver}",
    )


def _values(values: Floats, size: int) -> Floats | None:
    return values if values.size == size else None
