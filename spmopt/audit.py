"""A result file is checked against itself: schedule, totals, objective, bound.

Takes nothing on trust but the instance: no scheduler and no solver is involved.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from spmopt.core.errors import InputError
from spmopt.core.instance import Instance
from spmopt.core.objective import Objective, objective_named
from spmopt.core.result import Result, Status, Totals
from spmopt.verify import Violation, bound, verify


@dataclass(frozen=True, kw_only=True)
class Audit:
    """What was found.

    Attributes
    ----------
    violations
        Rules broken and claims that are not true; empty when all is well.
    totals
        Recomputed from the schedule; None when there is none, or it is illegal.
    value, bound
        Recomputed, exact; None where the result has nothing to recompute them from.
    """

    violations: tuple[Violation, ...]
    totals: Totals | None
    value: Fraction | None
    bound: Fraction | None


def audit(instance: Instance, result: Result) -> Audit:
    """Recompute everything that ``result`` claims about ``instance``."""
    complaints = _objective(instance, result.objective)
    totals: Totals | None = None
    value: Fraction | None = None
    violations: tuple[Violation, ...] = ()
    if result.schedule is not None:
        report = verify(instance, result.schedule, result.totals)
        violations, totals = report.violations, report.totals
        value = None if totals is None else totals.value(result.objective)
    proved = None
    try:
        proved = None if result.certificate is None else bound(instance, result.certificate)
    except InputError as error:
        complaints.append(str(error))
    complaints += _claims(result, value, proved) + _proof(result, value, proved)
    said = tuple(
        Violation(rule="claim", step=None, tensor=None, message=text) for text in complaints
    )
    return Audit(violations=violations + said, totals=totals, value=value, bound=proved)


def _objective(instance: Instance, objective: Objective) -> list[str]:
    """A known name must mean what it means everywhere."""
    try:
        known = objective_named(objective.name, instance.machine)
    except InputError:
        return []  # a weighted sum of its own
    same = known == objective
    return [] if same else [f"the weights are not those of the objective {objective.name}"]


def _claims(result: Result, value: Fraction | None, proved: Fraction | None) -> list[str]:
    """Figures in the file against the recomputed ones."""
    complaints = []
    if result.schedule is None and (result.value is not None or result.totals is not None):
        complaints.append("figures of a schedule are claimed, but there is none")
    if value is not None and result.value != value:
        complaints.append(f"the objective is {value}, not {result.value}")
    if result.bound != proved:
        complaints.append(f"the prices prove a bound of {proved}, not {result.bound}")
    return complaints


def _proof(result: Result, value: Fraction | None, proved: Fraction | None) -> list[str]:
    """What the bound says, and whether it speaks of this schedule."""
    complaints = []
    certificate = result.certificate
    if certificate is not None and certificate.objective != result.objective:
        complaints.append("the prices are for another objective")
    if result.status is Status.OPTIMAL and (result.value is None or result.bound is None):
        complaints.append("optimal without both a schedule and a bound")
    if result.status is Status.INFEASIBLE and result.schedule is not None:
        complaints.append("infeasible, yet there is a schedule")
    if proved is None or value is None or result.schedule is None:
        return complaints
    order = result.schedule.steps.operation
    if not np.array_equal(order, np.arange(order.size)):
        complaints.append("the bound holds for the instance's own order only, not for this one")
    elif proved > value:
        complaints.append(f"the bound {proved} is above the schedule's {value}")
    return complaints
