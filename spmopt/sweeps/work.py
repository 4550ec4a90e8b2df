"""The tasks of a sweep, each for a process of its own: arguments and answers are plain records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from spmopt.core.errors import ContradictionError, ScheduleError
from spmopt.core.objective import objective_named
from spmopt.core.order import depth_first
from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.scheduler import Request
from spmopt.schedulers.registry import SchedulerEntry, find
from spmopt.solving import compare
from spmopt.solving.runs import run_alone
from spmopt.sweeps.cases import SweepCase, lower_network


@dataclass(frozen=True, kw_only=True)
class SolveOptions:
    """Objective and limits of each scheduler at each point.

    ``given`` are schedulers that other processes do not know by name.
    """

    objective: str = "time"
    tolerance: float = 1e-3
    time_limit_s: float = 60.0
    given: tuple[SchedulerEntry, ...] = field(default=(), compare=False)

    def scheduler(self, name: str) -> SchedulerEntry:
        """Return a scheduler by name."""
        return next((each for each in self.given if each.name == name), None) or find(name)

    def request(self, problem: Problem) -> Request:
        """Return the request of each process, on one thread."""
        return Request(
            objective=objective_named(self.objective, problem.machine),
            tolerance=self.tolerance,
            time_limit_s=self.time_limit_s,
            # Sweeps run many processes: threads in each would only compete.
            threads=1,
        )


def point(
    case: SweepCase, spm_bytes: int, schedulers: Sequence[str], options: SolveOptions
) -> list[tuple[Result, str]]:
    """Run schedulers at one capacity; schedules of one order share its bound.

    Returns
    -------
    list
        Of each scheduler its result, without schedule and certificate, and the order of the
        operations: ``listed``, ``depth-first``, ``other`` or, over the fusion space,
        ``fusion_plan``.

    Raises
    ------
    InputError
        A network that cannot be built or lowered.
    ContradictionError
        An illegal schedule, or a bound above a schedule.
    """
    problem = lower_network(case.network, replace(case.machine, spm_bytes=spm_bytes))
    request, entries = options.request(problem), [options.scheduler(name) for name in schedulers]
    try:
        results = compare(problem, entries, request)
    except ContradictionError:
        raise
    except ScheduleError as error:
        # All of them are of a user or a package, and failed: their rows say why.
        if any(entry.is_own for entry in entries):
            raise ScheduleError(f"at {spm_bytes} bytes: {error}") from None
        # compare raises if all fail; each alone returns a row with its reason.
        results = [run_alone(problem, entry, request) for entry in entries]
    return [(_brief(result), _order_name(problem, result)) for result in results]


def _brief(result: Result) -> Result:
    """Leave out the large parts of a result, which a row does not have."""
    # A schedule in fusion tiles is of another problem: the bound of its plan is none of the row's.
    return replace(
        result,
        residency_plan=None,
        schedule=None,
        certificate=None,
        bound=result.bound if result.fused is None else result.fusion_bound,
        fused=None,
        instead=None,
        fusion_certificate=None,
        fusion_bound=None,
        beside=(),
    )


def _order_name(problem: Problem, result: Result) -> str:
    if result.fused is not None:
        return "fusion_plan"
    if result.instead is not None:
        return "other"
    if result.schedule is None:
        return "listed" if result.bound is not None else ""
    order = result.schedule.steps.operation
    if np.array_equal(order, np.arange(order.size)):
        return "listed"
    return "depth-first" if np.array_equal(order, depth_first(problem)) else "other"
