"""Optima of both models of whole tensors."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pulp

from formulations.pulp_model.model import WholeTensorCase
from formulations.pulp_model.plans import residency_plan_of
from formulations.pulp_model.timed import TimedPulpModel
from formulations.pulp_model.traffic import TrafficPulpModel
from formulations.residency.bound.duals import Multipliers
from formulations.residency.whole import schedule
from formulations.residency.whole.timed import TimedProgram
from formulations.residency.whole.transfers import WholeCase
from formulations.solver.highs import solve
from spmopt.core.objective import Objective
from spmopt.core.problem import Problem
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.core.timeline import fitting_timeline

EXACT = {"mip_rel_gap": 0.0, "mip_feasibility_tolerance": 1e-9}


@dataclass(frozen=True, kw_only=True)
class Solved:
    """Of the second model, in the objective's units."""

    value: float
    residency_plan: ResidencyPlan


def first(problem: Problem, objective: Objective, *, relaxed: bool = False) -> float:
    """Optimum of the first model; where time counts, with every step of each gap as a column."""
    if objective.cycle == 0:
        outcome = schedule(problem, Request(objective=objective, tolerance=0.0, threads=1))
        assert outcome.class_bound is not None
        return outcome.class_bound.value
    line = fitting_timeline(problem)
    request = Request(objective=objective, threads=1)
    setting = WholeCase(problem, request, line)
    free = Multipliers.zero(setting.coefficients)
    every = setting.nearby(free, line.steps + 1)
    model = TimedProgram(setting, every)
    program = replace(model.program, integer=None) if relaxed else model.program
    answer = solve(program, options={} if relaxed else EXACT, threads=1)
    if answer.objective is None:  # HiGHS 1.15.1 wrongly calls a few infeasible in presolve
        answer = solve(program, options={"presolve": "off", **EXACT}, threads=1)
    assert answer.objective is not None
    return model.built.value(answer.objective)


def second(
    problem: Problem,
    objective: Objective,
    *,
    solver: str = "HiGHS",
    spread: bool = False,
    relaxed: bool = False,
    families: Sequence[Any] | None = None,
) -> Solved:
    """Optimum of the second model, with rows of all families or of some."""
    case = WholeTensorCase(problem, objective)
    model = TrafficPulpModel(case) if objective.cycle == 0 else TimedPulpModel(case, spread=spread)
    program = model.program(families)
    more = {} if solver != "HiGHS" else {"threads": 1, "mip_feasibility_tolerance": 1e-9}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of what PuLP 4 will change
        program.solve(pulp.getSolver(solver, msg=False, mip=not relaxed, gapRel=0.0, **more))
    assert program.sol_status == pulp.LpSolutionOptimal
    return Solved(
        value=pulp.value(program.objective) * float(case.unit),
        residency_plan=residency_plan_of(model),
    )
