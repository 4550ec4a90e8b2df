"""What the verifier makes of a result file, in lines or as JSON."""

from __future__ import annotations

from fractions import Fraction

from spmopt.audit import Audit
from spmopt.core.instance import Instance
from spmopt.core.result import Result
from spmopt.metrics import in_unit
from spmopt.report.quantities import percent, si
from spmopt.report.view import heading

SHOWN = 20


def verification_lines(instance: Instance, result: Result, found: Audit) -> list[str]:
    """Lines for people: what holds, or what does not."""
    lines = [heading(instance, result)]
    shown = [f"  {violation}" for violation in found.violations[:SHOWN]]
    more = len(found.violations) - len(shown)
    if shown:
        rest = [f"  and {more} more"] if more else []
        return [*lines, f"{result.scheduler}: not verified", *shown, *rest]
    lines.append(f"{result.scheduler}: verified")

    def quantity(value: Fraction) -> str:
        return si(*in_unit(result.objective, instance.machine, value))

    if found.value is not None:
        lines.append(f"  schedule  legal by every rule and by replay; {quantity(found.value)}")
    if found.bound is not None:
        lines.append(f"  bound     {quantity(found.bound)}, proved by the prices in the file")
    gap = _gap(found)
    if gap is not None:
        lines.append(f"  gap       {percent(gap)}")
    if found.value is None and found.bound is None:
        lines.append("  nothing to verify: there is neither a schedule nor a bound")
    return lines


def verification_record(instance: Instance, result: Result, found: Audit) -> dict[str, object]:
    """Return the same for programs; ``value`` and ``bound`` are the recomputed ones."""
    return {
        "instance": instance.name,
        "scheduler": result.scheduler,
        "objective": result.objective.name,
        "unit": result.objective.unit,
        "verified": not found.violations,
        "violations": [
            {
                "rule": violation.rule,
                "step": violation.step,
                "tensor": violation.tensor,
                "message": violation.message,
            }
            for violation in found.violations
        ],
        "value": None if found.value is None else float(found.value),
        "bound": None if found.bound is None else float(found.bound),
        "gap": _gap(found),
    }


def _gap(found: Audit) -> float | None:
    if found.value is None or found.bound is None or found.bound <= 0:
        return None
    return float(found.value / found.bound - 1)
