"""The one wiring function: schedulers run, the verifier checks, one bound holds for each order.

Nothing leaves here unverified: a schedule that breaks a rule, and a bound above the value of a
verified schedule, are errors.
"""

from __future__ import annotations

from collections.abc import Sequence

from spmopt.core.instance import Instance
from spmopt.core.result import Result
from spmopt.core.scheduler import Policy, Request
from spmopt.schedulers.registry import SchedulerEntry, able, find
from spmopt.solving.records import Run, all_failed, order_key, result_of
from spmopt.solving.runner import ScheduleRunner


def solve(instance: Instance, scheduler: str | SchedulerEntry | Policy, request: Request) -> Result:
    """Schedule ``instance`` by one scheduler; otherwise as :func:`compare`."""
    return compare(instance, [scheduler], request)[0]


def compare(
    instance: Instance, schedulers: Sequence[str | SchedulerEntry | Policy], request: Request
) -> list[Result]:
    """Run each scheduler, verify each schedule, hold all against the best certified bound.

    A scheduler is a name, a record, or a policy of your own
    (:data:`~spmopt.core.scheduler.Policy`).

    A schedule that runs the operations in another order than the instance's is compared with a
    bound of that order instead, from the relaxation of the instance so reordered.

    An optimizer starts from the best policy and returns nothing worse; above 5,000 operations from
    one attempt of one policy, unless others have run. The time limit is for
    each scheduler. Once ``request.stop`` is true, the schedulers not yet begun are left out,
    except the first.

    Raises
    ------
    InputError
        An unknown scheduler, or one that does not know the objective.
    ScheduleError
        An illegal schedule or an untrue bound, which is an error in a scheduler. One that a
        package or a user gave has a result of status ``failed`` instead, with the reason in its
        notes, unless no other scheduler has run.
    """
    entries, features = [find(name) for name in schedulers], instance.machine.features
    for entry in entries:
        entry.require(request.objective, able(request.objective, features=features))
        entry.require_features(features)
    runner = ScheduleRunner(instance, request)
    runs: list[Run] = []
    for entry in entries:
        if not runs or not request.stop():
            runs.append(runner.run_asked(entry))
    failures = [run.failure for run in runs if run.failure is not None]
    if len(failures) == len(runs):
        raise all_failed(failures)
    best, of_covers = runner.best_bounds(runs), runner.bound_of_covers(runs)
    own = [runner.bound_of_cover(run) or best.get(order_key(run.order)) for run in runs]
    return [result_of(run, bound, request, of_covers) for run, bound in zip(runs, own, strict=True)]
