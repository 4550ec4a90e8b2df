"""One scheduler on several problems, at the same time where that pays."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib import import_module
from math import inf
from time import monotonic

from spmopt.core.errors import ScheduleError, SpmoptError
from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.scheduler import Request, Work
from spmopt.schedulers.registry import find
from spmopt.solving.checked_calls import CheckedCalls

Case = tuple[Problem, Request]
AT_ONCE = 4
"""Cases that are chosen before any of them is scheduled, however many threads there are: so the
result does not depend on their number."""


def schedule_parallel(
    name: str, problem: Problem, request: Request, limit_s: float | None = None
) -> Result:
    """Run a scheduler by name, from nothing but the dual values of the request.

    ``limit_s``: from now on, by counted work, in place of the rest of the request's time.
    """
    if limit_s is not None:
        # Four times: a phase ends by the clock after three, at the latest.
        own = replace(request, started=monotonic(), time_limit_s=4 * limit_s, work=Work())
        due = request.started + request.time_limit_s
        request = replace(own, due=due, work_end=inf).phase(limit_s)
    return CheckedCalls(problem, request).call(find(name))


def schedule_all(
    name: str, cases: Sequence[Case], *, threads: int, limit_s: float | None = None
) -> list[Result | None]:
    """Run a scheduler on each case, ``threads`` at a time, in processes of their own.

    ``limit_s`` holds for each, see :func:`schedule_parallel`. None where it was stopped, where
    there was no time left, or where its process died (for want of memory, for example): nothing is
    known of this case then.

    Raises
    ------
    ScheduleError
        An illegal schedule, an error in the scheduler.
    """
    large = any(
        len(problem.operations) >= request.params.orders.parallel_operations
        for problem, request in cases
    )
    if threads == 1 or len(cases) < 2 or not large:
        return [
            schedule_parallel(name, *case, limit_s)
            if number == 0 or case[1].remaining_s() > 0
            else None
            for number, case in enumerate(cases)
        ]
    # By name: it is loaded only where processes are needed.
    apart = import_module("formulations.solver.apart")
    where = f"{schedule_parallel.__module__}:{schedule_parallel.__name__}"

    def run(case: Case) -> Result | None:
        problem, request = case
        notes = list[str]()
        try:
            found: Result = apart.call(
                where,
                name,
                problem,
                request.apart(),
                limit_s,
                stop=request.stop,
                library="highs",
                note=notes.append,
            )
        # A fault of the scheduler, where the parent class below is mere lack of time or memory.
        except ScheduleError:
            raise
        except SpmoptError:
            return None
        return replace(found, notes=(*found.notes, *dict.fromkeys(notes)))

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(run, cases))
