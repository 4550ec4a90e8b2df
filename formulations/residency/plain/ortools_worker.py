"""The process that :mod:`formulations.residency.plain.ortools` starts: arrays in, arrays out."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from io import BytesIO
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray
from ortools.linear_solver.linear_solver_pb2 import (
    MPModelProto,
    MPModelRequest,
    MPSolutionResponse,
    MPSolverResponseStatus,
)
from ortools.linear_solver.python.model_builder_helper import ModelSolverHelper

from formulations.solver.program import Ending

_TYPES = {"glop": "GLOP_LINEAR_PROGRAMMING", "pdlp": "PDLP_LINEAR_PROGRAMMING"}
_ENDINGS = {
    "MPSOLVER_OPTIMAL": Ending.OPTIMAL,
    "MPSOLVER_INFEASIBLE": Ending.INFEASIBLE,
    "MPSOLVER_UNBOUNDED": Ending.UNBOUNDED,
    "MPSOLVER_CANCELLED_BY_USER": Ending.INTERRUPTED,
}

_Arrays = Mapping[str, NDArray[np.generic]]


def main() -> None:
    """Solve every program on standard input: ``solver tolerance time_limit_s``."""
    solver, tolerance, time_limit_s = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
    reply: dict[str, Any] = {}
    with np.load(BytesIO(sys.stdin.buffer.read())) as arrays:
        for k in range(int(arrays["count"])):
            request = _request(arrays, k, solver, tolerance, time_limit_s)
            began = monotonic()
            # Its stub asks for text, but a serialized request is bytes.
            helper: Any = ModelSolverHelper(solver)
            reply |= _reply(helper.solve_serialized_request(request), k)
            reply[f"seconds{k}"] = np.array(monotonic() - began)
    out = BytesIO()
    np.savez(out, **reply)
    sys.stdout.buffer.write(out.getvalue())


def _request(arrays: _Arrays, k: int, solver: str, tolerance: float, time_limit_s: float) -> bytes:
    request = MPModelRequest(solver_type=MPModelRequest.SolverType.Value(_TYPES[solver]))
    _fill(request.model, arrays, k)
    if solver == "pdlp":
        request.solver_specific_parameters = (
            "termination_criteria { simple_optimality_criteria { "
            f"eps_optimal_absolute: {tolerance} eps_optimal_relative: {tolerance} }} }}"
        )
    if np.isfinite(time_limit_s):
        request.solver_time_limit_seconds = time_limit_s
    serialized: bytes = request.SerializeToString()
    return serialized


def _fill(model: MPModelProto, arrays: _Arrays, k: int) -> None:
    names = ("lower", "upper", "cost")
    for lower, upper, cost in zip(*(arrays[f"{name}{k}"].tolist() for name in names), strict=True):
        model.variable.add(lower_bound=lower, upper_bound=upper, objective_coefficient=cost)
    start, index, value = (arrays[f"{name}{k}"].tolist() for name in ("start", "index", "value"))
    sides = zip(arrays[f"row_lower{k}"].tolist(), arrays[f"row_upper{k}"].tolist(), strict=True)
    for row, (lower, upper) in enumerate(sides):
        begin, end = start[row], start[row + 1]
        model.constraint.add(
            lower_bound=lower,
            upper_bound=upper,
            var_index=index[begin:end],
            coefficient=value[begin:end],
        )


def _reply(serialized: bytes, k: int) -> dict[str, Any]:
    response = MPSolutionResponse.FromString(serialized)
    status = MPSolverResponseStatus.Name(response.status)
    return {
        f"ending{k}": np.array(str(_ENDINGS.get(status, Ending.OTHER))),
        f"primal{k}": np.array(response.variable_value, np.float64),
        f"column_dual{k}": np.array(response.reduced_cost, np.float64),
        f"row_dual{k}": np.array(response.dual_value, np.float64),
    }


if __name__ == "__main__":
    main()
