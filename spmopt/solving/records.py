"""Judge results: failures, bounds of classes and of orders, and the status that follows."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from spmopt.core.errors import ContradictionError, ScheduleError, SpmoptError
from spmopt.core.result import (
    Certificate,
    ClassBound,
    End,
    Result,
    Status,
    is_optimal,
)
from spmopt.core.scheduler import Request

_SOLVER_ROUNDING = Fraction("1e-6")  # relative, in a bound that is not certified


@dataclass(frozen=True, kw_only=True)
class Bound:
    """A certificate and the value it proves; a note where its search ended early."""

    value: Fraction
    certificate: Certificate
    notes: tuple[str, ...] = ()


def failure_of(name: str, error: Exception) -> ScheduleError:
    """Return any exception of the scheduler called ``name`` as its error, in one line."""
    if isinstance(error, SpmoptError):
        text = str(error)
    else:
        last = traceback.extract_tb(error.__traceback__)[-1]
        said = f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(": ")
        text = f"raised {said} ({Path(last.filename).name}, line {last.lineno})"
    head = f"scheduler {name}: "
    failure = ScheduleError(text if text.startswith(head) else head + text)
    # Set by hand: the error is returned, and perhaps raised much later.
    failure.__cause__ = error
    return failure


def all_failed(failures: Sequence[ScheduleError]) -> SpmoptError:
    """Return one error for all schedulers of a run; for a single one, its own error."""
    if len(failures) == 1:
        cause = failures[0].__cause__
        return cause if isinstance(cause, SpmoptError) else failures[0]
    return ScheduleError("; ".join(map(str, failures)))


def within_class(result: Result, value: Fraction) -> Result:
    """Without the bound of a class that a schedule of this value is below, and so not of."""
    known = result.class_bound
    if known is None:
        return result
    # A certified bound is exact, so that any excess is real.
    slack = 0 if known.certified else _SOLVER_ROUNDING
    if Fraction(known.value) <= value * (1 + slack):
        return result
    return replace(result, class_bound=None)


def of_other_class(known: ClassBound, unit: str) -> str:
    """Return the note on a bound that says nothing of the schedule, which is not of its class."""
    least = (
        f"at least {known.value:,.10g} {unit} for {known.holds_for} (bound of {known.proved_by})"
    )
    return f"{least}; this schedule is not one of these"


def judge(
    result: Result,
    best: Bound | None,
    request: Request,
    fusion_bound: Fraction | None = None,
    faults: Sequence[str] = (),
) -> Result:
    """Return a result with the best bound of its order, and the status that follows.

    ``fusion_bound``: the best bound over the fusion space of the tileable graph; ``faults``: notes
    on certificates that prove nothing.

    Raises
    ------
    ContradictionError
        A bound is above the schedule's value.
    """
    # A bound beside a failure would look like its result.
    if result.status is Status.FAILED:
        best = None
    said = result.notes
    result = replace(
        result,
        objective=request.objective,
        bound=None if best is None else best.value,
        certificate=None if best is None else best.certificate,
        notes=(*said, *(() if best is None else best.notes), *faults),
        tolerance=request.tolerance,
        # Another order is none of a fusion plan.
        fusion_bound=fusion_bound if result.order is None else None,
        fusion_certificate=result.fusion_certificate if result.order is None else None,
    )
    if result.value is None:
        return result
    for bound in (result.bound, result.fusion_bound):
        if bound is not None and bound > result.value:
            raise ContradictionError(
                f"the bound {float(bound):.9g} is above the schedule of {result.origin}, "
                f"{float(result.value):.9g} {request.objective.unit}: one of them is wrong"
            )
    gap = result.gap if result.fused is None else result.fusion_gap
    if is_optimal(gap, request.tolerance):
        # Without the notes of the bound: an early end does not matter to an optimal schedule.
        result = replace(result, status=Status.OPTIMAL, notes=(*said, *faults))
        return replace(result, end=End.CLOSED if result.end else End.NONE)
    if result.end and gap is not None and gap <= request.tolerance:
        # A wide tolerance ends the search, but makes no schedule optimal.
        result = replace(result, end=End.CLOSED)
    # Layer by layer the search has no more to do; fusion goes on to other plans.
    elif result.end and result.fused is None and result.is_best_of_class:
        result = replace(result, end=End.OF_CLASS)
    return replace(result, status=Status.FEASIBLE)
