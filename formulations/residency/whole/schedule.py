"""The scheduler ``whole``."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from formulations.residency.cost import plan_value
from formulations.residency.whole.choices import Choices
from formulations.residency.whole.greedy import filled, repaired
from formulations.residency.whole.plans import plan_of
from formulations.residency.whole.traffic import Prices, TrafficModel, build
from formulations.residency.whole.traffic_search import search
from formulations.residency.whole.uses import Uses
from spmopt.core.instance import Instance
from spmopt.core.modes import SEVERAL_MODES, fitting_modes
from spmopt.core.plan import Plan
from spmopt.core.result import ClassBound, Outcome
from spmopt.core.scheduler import Request
from spmopt.core.timeline import Timeline, timeline

_CLASS = "whole-tensor schedules, fixed order"


def schedule(instance: Instance, request: Request) -> Outcome:
    """Least objective of a whole-tensor schedule in the instance's order, within the limits.

    The class bound holds for whole-tensor schedules only, and is the integer program's own.
    Where operations have several modes, each runs in the first that fits.

    Raises
    ------
    InfeasibleError
        An operation's stationary operands and scratch do not fit the SPM.
    """
    order = np.arange(len(instance.operations), dtype=np.int64)
    line = timeline(instance, order, fitting_modes(instance))
    case = _Case(instance, request, line)
    if request.start is not None:
        case.offer(request.start)
    bound = case.least_traffic()
    return Outcome(plan=case.plan, class_bound=bound, notes=tuple(case.notes))


class _Case:
    """One instance and request, and the best plan so far."""

    def __init__(self, instance: Instance, request: Request, line: Timeline) -> None:
        self.instance = instance
        self.request = request
        self.line = line
        self.uses = Uses.of(instance, line)
        self.plan: Plan | None = None
        self.value: Fraction | None = None
        self.several = any(len(operation.modes) > 1 for operation in instance.operations)
        self.notes: list[str] = [SEVERAL_MODES] if self.several else []

    def offer(self, plan: Plan) -> None:
        """Keep a legal plan that costs less."""
        value = plan_value(self.instance, plan, self.request.objective)
        if self.value is None or value < self.value:
            self.plan, self.value = plan, value

    def start(self, model: TrafficModel) -> Choices:
        """The best of keeping what fits, and of what the start plan keeps and then fits."""
        nothing = np.zeros(self.uses.step.size, bool)
        tried = [Choices.of(self.uses, nothing, nothing)]
        own = self.request.start
        if own is not None and np.array_equal(own.operation, self.line.operation):
            theirs = Choices.of_plan(self.uses, own)
            tried.append(repaired(self.uses, theirs, model.worth))
        full = [filled(self.uses, choices, model.worth, model.absent) for choices in tried]
        return min(full, key=model.cost)

    def least_traffic(self) -> ClassBound | None:
        """Solve for what bytes cost alone."""
        model = build(self.uses, Prices.of(self.request.objective))
        start = self.start(model)
        self.offer(plan_of(self.line, self.uses, start))
        found = search(model, self.request, start)
        self.offer(plan_of(self.line, self.uses, found.choices))
        if not np.isfinite(found.bound) or self.request.objective.cycle > 0:
            return None
        line, objective = self.line, self.request.objective
        constant = (
            objective.spm_read_byte * int(line.spm_read_bytes.sum())
            + objective.spm_write_byte * int(line.spm_write_bytes.sum())
            + objective.mac * int(line.macs.sum())
        )
        holds = f"{_CLASS}; {SEVERAL_MODES}" if self.several else _CLASS
        value = float(Fraction(found.bound) * model.unit + constant)
        return ClassBound(value=value, holds_for=holds, proved_by=found.solver)
