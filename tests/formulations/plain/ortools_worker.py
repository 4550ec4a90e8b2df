"""Linear programs in OR-Tools; only for the process of :mod:`formulations.solver.apart`."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np
from ortools.linear_solver.linear_solver_pb2 import (
    MPModelProto,
    MPModelRequest,
    MPSolutionResponse,
    MPSolverResponseStatus,
)
from ortools.linear_solver.python.model_builder_helper import ModelSolverHelper

from formulations.solver.program import Floats, Program, SolverResult, SolverStatus

_TYPES = {"glop": "GLOP_LINEAR_PROGRAMMING", "pdlp": "PDLP_LINEAR_PROGRAMMING"}
_STATUS = {
    "MPSOLVER_OPTIMAL": SolverStatus.OPTIMAL,
    "MPSOLVER_INFEASIBLE": SolverStatus.INFEASIBLE,
    "MPSOLVER_UNBOUNDED": SolverStatus.UNBOUNDED,
    "MPSOLVER_CANCELED_BY_USER": SolverStatus.INTERRUPTED,
}


def solve(program: Program, solver: str, tolerance: float, time_limit_s: float) -> SolverResult:
    """Solve one linear program with ``glop`` or ``pdlp``."""
    request = _request(program, solver, tolerance, time_limit_s)
    # Its stub asks for text, but a serialized request is bytes.
    helper: Any = ModelSolverHelper(solver)
    response = MPSolutionResponse.FromString(helper.solve_serialized_request(request))
    return _answer(response, program, solver)


def _request(program: Program, solver: str, tolerance: float, time_limit_s: float) -> bytes:
    request = MPModelRequest(solver_type=MPModelRequest.SolverType.Value(_TYPES[solver]))
    _fill(request.model, program)
    if solver == "pdlp":
        request.solver_specific_parameters = (
            "termination_criteria { simple_optimality_criteria { "
            f"eps_optimal_absolute: {tolerance} eps_optimal_relative: {tolerance} }} }}"
        )
    if np.isfinite(time_limit_s):
        request.solver_time_limit_seconds = time_limit_s
    serialized: bytes = request.SerializeToString()
    return serialized


def _fill(model: MPModelProto, program: Program) -> None:
    columns = (program.lower.tolist(), program.upper.tolist(), program.cost.tolist())
    for lower, upper, cost in zip(*columns, strict=True):
        model.variable.add(lower_bound=lower, upper_bound=upper, objective_coefficient=cost)
    matrix = program.matrix
    start, index, value = matrix.start.tolist(), matrix.index.tolist(), matrix.value.tolist()
    sides = zip(program.row_lower.tolist(), program.row_upper.tolist(), strict=True)
    for row, (lower, upper) in enumerate(sides):
        begin, end = start[row], start[row + 1]
        model.constraint.add(
            lower_bound=lower,
            upper_bound=upper,
            var_index=index[begin:end],
            coefficient=value[begin:end],
        )


def _answer(response: MPSolutionResponse, program: Program, solver: str) -> SolverResult:
    status = _STATUS.get(MPSolverResponseStatus.Name(response.status), SolverStatus.OTHER)
    primal = _values(response.variable_value, program.cost.size)
    objective = None if primal is None else float(program.cost @ primal + program.offset)
    solved = status is SolverStatus.OPTIMAL
    return SolverResult(
        status=status,
        objective=objective,
        bound=objective if solved and objective is not None else -np.inf,
        feasible=solved,
        primal=primal,
        column_dual=_values(response.reduced_cost, program.cost.size),
        row_dual=_values(response.dual_value, program.row_lower.size),
        solver=f"OR-Tools {version('ortools')} {solver}",
    )


def _values(values: Any, size: int) -> Floats | None:
    return np.array(values, np.float64) if len(values) == size else None
