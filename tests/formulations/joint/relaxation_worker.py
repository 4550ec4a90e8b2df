"""The relaxation alone; only for the process of :mod:`formulations.solver.apart`."""

from __future__ import annotations

from ortools.sat.python import cp_model

from formulations.joint.facts import analyze
from formulations.joint.relaxation import relax
from spmopt.core.problem import Problem


def least(problem: Problem) -> int | None:
    """Return its optimum; None if there is none."""
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    status = solver.solve(relax(analyze(problem)).cp)
    assert status in (cp_model.OPTIMAL, cp_model.INFEASIBLE)
    return round(solver.objective_value) if status == cp_model.OPTIMAL else None
