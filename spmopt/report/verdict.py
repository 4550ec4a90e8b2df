"""The comparison in words: where the optimum lies, and what greedy rules cost against it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from spmopt.core.machine import Machine
from spmopt.core.result import Result, Status
from spmopt.metrics import in_unit
from spmopt.report.quantities import percent, si
from spmopt.schedulers.registry import Kind, find

_LISTED = " in the listed order"
_COSTS = {
    "makespan": "takes {} more time than",
    "traffic": "moves {} more bytes than",
    "energy": "spends {} more energy than",
}


def verdict(machine: Machine, results: Sequence[Result], subject: str = "belady") -> list[str]:
    """One line on the optimum, one on ``subject``, one on the best policy if that is another.

    Schedules in another order than the instance's have another optimum and are left out; where
    there are any, the lines say that they are about the listed order.
    """
    known = [
        result
        for result in results
        if result.value is not None and result.bound is not None and result.order is None
    ]
    if not known:
        return []
    best = min(known, key=lambda result: result.value or Fraction(0))
    where = _LISTED if any(result.order is not None for result in results) else ""
    lines = [_optimum(machine, best, where)]
    judged = next((result for result in known if result.scheduler == subject), None)
    if judged is not None:
        lines.append(_cost(judged, best, judged.scheduler.capitalize()))
    policies = [result for result in known if find(result.scheduler).kind is Kind.POLICY]
    if len(policies) > 1:
        nearest = min(policies, key=lambda result: result.value or Fraction(0))
        if judged is None or nearest.value != judged.value:
            lines.append(_cost(nearest, best, f"The best greedy rule{where}, {nearest.scheduler},"))
    return lines


def _optimum(machine: Machine, best: Result, where: str) -> str:
    value, bound = best.value or Fraction(0), best.bound or Fraction(0)
    shown = si(*in_unit(best.objective, machine, value))
    if value == bound:
        return f"The optimum{where} is {shown} ({best.scheduler}), proven."
    apart = "" if best.gap is None else percent(best.gap).removeprefix("+")
    if best.status is Status.OPTIMAL and apart:
        return f"The optimum{where} is {shown} ({best.scheduler}), proven to within {apart}."
    least = si(*in_unit(best.objective, machine, bound))
    span = f"The optimum{where} lies between {least} (bound) and {shown} ({best.scheduler})"
    return f"{span}, {apart} apart." if apart else f"{span}."


def _cost(judged: Result, best: Result, name: str) -> str:
    value, bound = judged.value or Fraction(0), judged.bound or Fraction(0)
    if judged.status is Status.OPTIMAL:
        return f"{name} is optimal here."
    least = float(value / best.value - 1) if best.value else 0.0
    most = float(value / bound - 1) if bound > 0 else None
    low = percent(least).removeprefix("+")
    high = None if most is None else percent(most).removeprefix("+")
    if high is None:
        span = f"at least {low}"
    else:
        span = low if low == high else f"{low.removesuffix(' %')} to {high}"
    cost = _COSTS.get(judged.objective.name, "costs {} more than")
    return f"{name} {cost.format(span)} the optimum."
