"""What the tests of whole-tensor residency share."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from formulations.residency.whole import schedule
from spmopt.assemble import assemble
from spmopt.assemble.index import resident_bytes
from spmopt.core.instance import Instance
from spmopt.core.objective import Objective, energy_objective
from spmopt.core.result import Outcome
from spmopt.core.schedule import Plan
from spmopt.core.scheduler import Request
from spmopt.core.timeline import timeline
from spmopt.verifier import require_legal


def solved(instance: Instance, objective: Objective, start: Plan | None = None) -> Outcome:
    """Schedule to optimality on one thread."""
    request = Request(objective=objective, tolerance=0.0, threads=1, start=start)
    return schedule(instance, request)


def verified_value(instance: Instance, objective: Objective, plan: Plan | None) -> Fraction:
    """Objective of a plan as the verifier recomputes it; fails on an illegal one."""
    assert plan is not None
    totals = require_legal(instance, assemble(instance, plan)).totals
    assert totals is not None
    return totals.value(objective)


def byte_energy(instance: Instance) -> Objective:
    """Energy on a machine that does not leak: time costs nothing."""
    energy = replace(instance.machine.energy, leakage_w=0.0)
    return energy_objective(replace(instance.machine, energy=energy))


def all_or_nothing(instance: Instance, plan: Plan) -> bool:
    """Whether every tensor is whole or absent wherever it is used."""
    line = timeline(instance, plan.steps)
    resident = resident_bytes(plan.residency, line.step, line.tensor)
    return bool(((resident == 0) | (resident == line.size_bytes[line.tensor])).all())
