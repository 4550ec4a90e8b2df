"""What the tests of whole-tensor residency share."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from formulations.residency.tensors import schedule
from spmopt.assemble.index import resident_bytes
from spmopt.core.objective import Objective, energy_objective
from spmopt.core.params import DEFAULTS, SolveParams
from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.core.timeline import timeline
from tests.checked import totals_of


def solved(
    problem: Problem,
    objective: Objective,
    start: ResidencyPlan | None = None,
    params: SolveParams = DEFAULTS,
) -> Result:
    """Schedule to optimality on one thread."""
    request = Request(objective=objective, tolerance=0.0, threads=1, start=start, params=params)
    return schedule(problem, request)


def verified_value(
    problem: Problem, objective: Objective, residency_plan: ResidencyPlan | None
) -> Fraction:
    """Objective of a residency plan as the verifier recomputes it; fails on an illegal one."""
    totals = totals_of(problem, residency_plan)
    return totals.value(objective)


def byte_energy(problem: Problem) -> Objective:
    """Energy on a machine that does not leak: time costs nothing."""
    energy = replace(problem.machine.energy, leakage_w=0.0)
    return energy_objective(replace(problem.machine, energy=energy))


def all_or_nothing(problem: Problem, residency_plan: ResidencyPlan) -> bool:
    """Whether every tensor is whole or absent wherever it is used."""
    line = timeline(problem, residency_plan.steps)
    resident = resident_bytes(residency_plan.residency, line.step, line.tensor)
    return bool(((resident == 0) | (resident == line.size_bytes[line.tensor])).all())
