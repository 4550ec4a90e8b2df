"""Scheduling: one scheduler, or several against one certified bound."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isfinite
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spmopt.api.arguments import checked
from spmopt.api.callbacks import QUIET, Callbacks
from spmopt.api.solutions import ComparisonTable, Solution
from spmopt.core.errors import ArgumentError

if TYPE_CHECKING:
    from spmopt.core.instance import Instance
    from spmopt.core.objective import Objective
    from spmopt.core.pieces.segments import Segment
    from spmopt.core.scheduler import Policy
    from spmopt.schedulers.registry import SchedulerEntry

_JOINT = "joint supports it for small instances"


def require_limits(time_limit: float, tolerance: float, **counts: int | None) -> None:
    """Raise :class:`InputError` for a limit or a count that makes no sense."""
    # Whoever has read --tolerance 0.1% may write "0.1%" here as well.
    for name, value in (("time_limit", time_limit), ("tolerance", tolerance)):
        if not isinstance(value, Real) or not isfinite(value) or value < 0:
            raise ArgumentError(name, f" {value}: must be a number, 0 or more")
    for name, count in counts.items():
        if count is not None and count < 1:
            raise ArgumentError(name, f" {count}: must be at least 1")


@checked
def solve(
    instance: Instance,
    scheduler: str | SchedulerEntry | Policy | None = None,
    *,
    pieces: str | None = None,
    cover: str | Path | Sequence[Segment] | None = None,
    objective: str | Objective = "time",
    time_limit: float = 60.0,
    tolerance: float = 1e-4,
    threads: int = 2,
    callbacks: Callbacks = QUIET,
) -> Solution:
    """Schedule an instance, verify the schedule and certify its bound.

    Parameters
    ----------
    instance
        What :func:`lower` returns.
    scheduler
        Name ('spmopt schedulers' lists them); default: pieces or page.
    pieces
        Fusion space: none (layer by layer), fuse (one product a group), batch, all.
    cover
        File with a fusion plan to schedule: TOML, JSON or a result.
    objective
        Objective: time, replay (time without step barriers), traffic or energy; two in order, as
        time,traffic.
    time_limit
        Time limit of each scheduler, in seconds.
    tolerance
        Gap at which a schedule counts as optimal.
    threads
        Number of solver threads.
    callbacks
        Receive progress and incumbents; may stop the search.

    Returns
    -------
    Solution
        The verified schedule, where one was found, and the bound.

    Raises
    ------
    InputError
        An unknown scheduler or objective, or one that does not go with the other.

    Notes
    -----
    A fusion plan (PROBLEM.md, section 1) partitions the operations, in their order, into groups. A
    group is untiled, or runs depth first: one fusion tile goes through all of its operations before
    the next. ``pieces`` names the fusion space: ``none`` (layer by layer), ``fuse`` (micro-batches,
    one matrix product a group), ``batch`` (micro-batches, any groups) or ``all`` (stripes of rows,
    too). The default here is ``none``; the command line takes ``all`` for networks and ONNX files
    where no scheduler is named. With ``cover`` the given plan is scheduled. Results of a plan have
    a bound over the fusion space beside their own.

    Two objectives in order, as ``time:0.5%,traffic``, ask for the least of the second among
    schedules within 0.5 % (default: 0.1 %) of the least of the first; notes have a bound on it.

    A policy itself may stand in place of a name: a function from an instance to residency
    intervals (:data:`spmopt.core.scheduler.Policy`). So may an :class:`Objective`.
    """
    from spmopt.api.covers import solver
    from spmopt.api.in_order import InOrder, is_ordered, solve_in_order

    if is_ordered(objective):

        def solve_for(aim: Objective, limit_s: float) -> Solution:
            options: dict[str, Any] = {"pieces": pieces, "cover": cover, "threads": threads}
            limits: dict[str, Any] = {"time_limit": limit_s, "tolerance": tolerance}
            return solve(
                instance, scheduler, objective=aim, callbacks=callbacks, **options, **limits
            )

        from spmopt.schedulers.registry import able

        require_limits(time_limit, tolerance, threads=threads)
        asked = InOrder.named(str(objective), instance.machine)
        both, features = asked.weighed(Fraction(1)), instance.machine.features
        solver(scheduler, pieces, cover).require(both, able(both, features=features))
        return solve_in_order(asked, solve_for, time_limit)
    chosen = solver(scheduler, pieces, cover)
    found = compare(
        instance,
        [chosen],
        pieces=None if chosen.covers else pieces,
        cover=cover,
        objective=objective,
        time_limit=time_limit,
        tolerance=tolerance,
        threads=threads,
        callbacks=callbacks,
    )
    if cover is not None and found.on_cover:
        return found.on_cover[chosen.name]
    return found[chosen.name]


@checked
def compare(
    instance: Instance,
    schedulers: Sequence[str | SchedulerEntry | Policy] | None = None,
    *,
    pieces: str | None = None,
    cover: str | Path | Sequence[Segment] | None = None,
    objective: str | Objective = "time",
    time_limit: float = 60.0,
    tolerance: float = 1e-4,
    threads: int = 2,
    callbacks: Callbacks = QUIET,
) -> ComparisonTable:
    """Run several schedulers, and compare all with the best certified bound.

    Parameters
    ----------
    instance
        What :func:`lower` returns.
    schedulers
        Names; default: all usual ones that support the objective.
    pieces
        Fusion space: none (layer by layer), fuse (one product a group), batch, all.
    cover
        File with a fusion plan to schedule: TOML, JSON or a result.
    objective, time_limit, tolerance, threads, callbacks
        As for :func:`solve`.

    Returns
    -------
    ComparisonTable
        One result a scheduler. A policy of a package or of one's own that raises, or whose
        schedule breaks a rule, has the status ``failed`` and the reason in its notes.

    Raises
    ------
    InputError
        An unknown scheduler or objective, or one that does not go with the other.
    ScheduleError
        All schedulers failed.

    Notes
    -----
    With ``pieces`` (as for :func:`solve`) heuristics run layer by layer and on the best fusion plan
    found; with ``cover`` all schedulers run on the given plan. Each result has two gaps: to the
    bound for its plan, and to the bound over the fusion space.
    """
    from spmopt.api.covers import given_pieces, on_covers, with_chooser
    from spmopt.core.objective import objective_named
    from spmopt.core.scheduler import Request
    from spmopt.schedulers.registry import by_name
    from spmopt.solving import compare as run

    require_limits(time_limit, tolerance, threads=threads)
    given = usual_schedulers(instance, objective)[0] if schedulers is None else schedulers
    entries = with_chooser(by_name(given), pieces, cover)
    segments = None if cover is None else given_pieces(instance, cover, pieces)
    request = Request(
        objective=objective_named(objective, instance.machine),
        tolerance=tolerance,
        time_limit_s=time_limit,
        threads=threads,
        stop=callbacks.stop,
        report=callbacks.progress,
        on_incumbent=callbacks.on_incumbent,
    )
    results = run(instance, list(entries.values()), request)
    not_run = list(entries)[len(results) :]
    results = on_covers(results, list(entries.values()), request, segments)
    return ComparisonTable(instance, results, not_run)


def usual_schedulers(instance: Instance, objective: str | Objective) -> tuple[list[str], str]:
    """Return the default schedulers of a comparison, and a note on those that are skipped."""
    from spmopt.core.objective import Objective, objective_entry
    from spmopt.schedulers.registry import compared, find

    asked = objective_entry(objective).of if isinstance(objective, str) else objective
    usual = compared(instance.machine.features)
    able = [n for n in usual if not isinstance(asked, Objective) or find(n).takes(asked)]
    unable = [name for name in usual if name not in able]
    if not unable:
        return able, ""
    name = objective if isinstance(objective, str) else objective.name
    return able, f"skipped (objective {name} unsupported): {', '.join(unable)}; {_JOINT}"
