"""The one wiring function: schedulers run, the verifier checks, one bound holds for each order.

Nothing leaves here unverified: a schedule that breaks a rule, and a bound above the value of a
verified schedule, are errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from spmopt.core.instance import Instance
from spmopt.core.pieces.listing import Pieces
from spmopt.core.result import Result
from spmopt.core.scheduler import Incumbent, OnIncumbent, Policy, Request
from spmopt.schedulers.registry import SchedulerEntry, able, find
from spmopt.solving.records import (
    Bound,
    Run,
    all_failed,
    order_key,
    require_true_bounds,
    result_of,
)
from spmopt.solving.runner import ScheduleRunner


def solve(instance: Instance, scheduler: str | SchedulerEntry | Policy, request: Request) -> Result:
    """Schedule ``instance`` by one scheduler; otherwise as :func:`compare`."""
    return compare(instance, [scheduler], request)[0]


def compare_on(
    pieces: Pieces,
    schedulers: Sequence[str | SchedulerEntry | Policy],
    request: Request,
    *,
    bound: Bound | None = None,
    of_covers: Fraction | None = None,
) -> list[Result]:
    """Run schedulers on the instance of a cover; otherwise as :func:`compare`.

    Parameters
    ----------
    pieces
        The cover; its certificate stands in the results.
    bound
        What is known of schedules of the cover; without it the schedulers prove one.
    of_covers
        What is known of all covers.
    """
    runner = ScheduleRunner(pieces.instance, replace(request, on_incumbent=_on_cover(request)))
    runs = list[Run]()
    for entry in map(find, schedulers):
        if not runs or not request.stop():
            runs.append(runner.run_asked(entry))
    # Another order is none of a cover.
    own = [run for run in runs if run.order is None]
    best = bound or runner.bounds.best_bounds(own).get(None)
    own_pieces = [
        replace(run, outcome=run.outcome and replace(run.outcome, pieces=pieces)) for run in runs
    ]
    return [
        result_of(run, best if run.order is None else None, request, of_covers)
        for run in own_pieces
    ]


def _on_cover(request: Request) -> OnIncumbent:
    """Tell of schedules of a cover; what bounds them bounds no others."""

    def tell(news: Incumbent) -> None:
        name = f"{news.scheduler} on the cover"
        request.on_incumbent(replace(news, scheduler=name, bound=None, of_covers=True))

    return tell


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
    listed = runner.listed if any(run.pieces is not None for run in runs) else None
    every = [*runs, *([] if listed is None else [listed])]
    require_true_bounds(every)
    best = runner.bounds.best_bounds(every)
    of_covers = runner.bounds.bound_of_covers(runs)
    own = [runner.bounds.bound_of_cover(run) or best.get(order_key(run.order)) for run in runs]
    found = [
        result_of(run, bound, request, of_covers) for run, bound in zip(runs, own, strict=True)
    ]
    if listed is None:
        return found
    given = result_of(listed, best.get(order_key(listed.order)), request, of_covers)
    return [each if each.pieces is None else replace(each, beside=(given,)) for each in found]
