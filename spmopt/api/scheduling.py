"""Scheduling: one scheduler, or several against one certified bound."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spmopt.api.arguments import checked
from spmopt.api.callbacks import QUIET, Callbacks
from spmopt.api.solutions import ComparisonTable, Solution
from spmopt.core.errors import InputError

if TYPE_CHECKING:
    from spmopt.core.instance import Instance
    from spmopt.core.objective import Objective
    from spmopt.core.pieces.segments import Segment
    from spmopt.core.scheduler import Policy, Request
    from spmopt.schedulers.registry import SchedulerEntry
    from spmopt.solving import SolveParams

_JOINT = "joint does, of small instances"


def require_limits(time_limit: float, tolerance: float, **counts: int | None) -> None:
    """Raise :class:`InputError` for a limit or a count that makes no sense."""
    # Whoever has read --tolerance 0.1% may write "0.1%" here as well.
    for name, value in (("time_limit", time_limit), ("tolerance", tolerance)):
        if not isinstance(value, Real) or not isfinite(value) or value < 0:
            raise InputError(f"{name} {value}: must be a number, 0 or more")
    for name, count in counts.items():
        if count is not None and count < 1:
            raise InputError(f"{name} {count}: must be at least 1")


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
    params: SolveParams | None = None,
    callbacks: Callbacks = QUIET,
) -> Solution:
    """Schedule an instance, verify the schedule and certify its bound.

    Parameters
    ----------
    instance
        What :func:`lower` returns.
    scheduler
        Name (see :func:`list_schedulers`); default: pieces or page.
    pieces
        Covers to choose from: none (all operations whole), fuse, batch or all.
    cover
        File with the cover to schedule: TOML, JSON or a result.
    objective
        What to minimize: time, replay (time without barriers between steps), traffic or energy.
    time_limit
        Time limit of each scheduler, in seconds.
    tolerance
        Gap at which a schedule counts as optimal.
    threads
        Number of threads of a solver.
    params
        Parameters of the search, :class:`spmopt.SolveParams`.
    callbacks
        Receive progress and incumbents, and stop the search.

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
    A cover (PROBLEM.md, section 1) cuts the list of operations into segments, each computed whole,
    or depth first in pieces of the batch: one piece through all of the segment, then the next.
    ``pieces`` names the covers to choose from: ``none`` (the list as given), ``fuse`` (a segment in
    pieces has one matrix product at most), ``batch`` (any segments) or ``all`` (bands of rows too);
    the command line takes ``all`` for networks and ONNX files where no scheduler is named, here the
    default is ``none``. With ``cover`` that one is scheduled. Results of covers have a bound over
    all of them beside their own.

    Two objectives in order, as ``time:0.5%,traffic``, ask for the least of the second among
    schedules within 0.5 % (default: 0.1 %) of the least of the first; notes have a bound on it.

    In place of a name a policy itself may be given, a function from an instance to what stays on
    chip (:data:`spmopt.core.scheduler.Policy`), and an :class:`Objective` in place of its name;
    objectives that are registered go by name too.
    """
    from spmopt.api.covers import solver
    from spmopt.api.in_order import is_ordered, solve_named
    from spmopt.solving import SolveParams
    from spmopt.solving import solve as run

    chosen = solver(scheduler, pieces, cover)
    options: dict[str, Any] = {"tolerance": tolerance, "threads": threads, "callbacks": callbacks}
    if is_ordered(objective):

        def solve_for(aim: Objective, limit_s: float) -> Solution:
            limits = {"time_limit": limit_s, "params": params, **options}
            return solve(instance, scheduler, pieces=pieces, cover=cover, objective=aim, **limits)

        require_limits(time_limit, tolerance, threads=threads)
        return solve_named(str(objective), chosen, instance.machine, solve_for, time_limit)
    if cover is not None:  # its bound over all covers is of another scheduler
        limits = {"time_limit": time_limit, "params": params, **options}
        found = compare(
            instance, [chosen], pieces=pieces, cover=cover, objective=objective, **limits
        )
        return found.on_cover.get(chosen.name) or found[chosen.name]
    request = _request(instance, objective, time_limit=time_limit, **options)
    return Solution.made(instance, run(instance, chosen, request, params or SolveParams()))


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
    params: SolveParams | None = None,
    callbacks: Callbacks = QUIET,
) -> ComparisonTable:
    """Run several schedulers, all compared with the best certified bound.

    Parameters
    ----------
    instance
        What :func:`lower` returns.
    schedulers
        Names; default: all usual ones that support the objective.
    pieces
        Covers to choose from: none (all operations whole), fuse, batch or all.
    cover
        File with the cover to schedule: TOML, JSON or a result.
    objective, time_limit, tolerance, threads, params, callbacks
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
    With ``pieces`` (as for :func:`solve`) policies are run on the list as given and on the best
    cover found, with ``cover`` all schedulers on that one; each has two gaps, to the bound of its
    own list or cover and to the bound over all covers.
    """
    from spmopt.api.covers import given_pieces, with_chooser
    from spmopt.schedulers.registry import by_name
    from spmopt.solving import SolveParams, compare_fused

    request = _request(
        instance,
        objective,
        callbacks,
        time_limit=time_limit,
        tolerance=tolerance,
        threads=threads,
    )
    given = usual_schedulers(instance, objective)[0] if schedulers is None else schedulers
    entries = list(with_chooser(by_name(given), pieces, cover).values())
    segments = None if cover is None else given_pieces(instance, cover, pieces)
    results = compare_fused(instance, entries, request, segments, params or SolveParams())
    ran = {result.scheduler for result in results}
    not_run = [entry.name for entry in entries if entry.name not in ran]
    return ComparisonTable(instance, results, not_run)


def _request(
    instance: Instance,
    objective: str | Objective,
    callbacks: Callbacks,
    *,
    time_limit: float,
    tolerance: float,
    threads: int,
) -> Request:
    from spmopt.core.objective import objective_named
    from spmopt.core.scheduler import Request

    require_limits(time_limit, tolerance, threads=threads)
    return Request(
        objective=objective_named(objective, instance.machine),
        tolerance=tolerance,
        time_limit_s=time_limit,
        threads=threads,
        stop=callbacks.stop,
        report=callbacks.progress,
        on_incumbent=callbacks.on_incumbent,
    )


def usual_schedulers(instance: Instance, objective: str | Objective) -> tuple[list[str], str]:
    """Return the schedulers that a comparison has by default, and a note on those left out."""
    from spmopt.core.objective import Objective, objective_entry
    from spmopt.schedulers.registry import compared, find

    asked = objective_entry(objective).of if isinstance(objective, str) else objective
    usual = compared(instance.machine.features)
    able = [n for n in usual if not isinstance(asked, Objective) or find(n).takes(asked)]
    unable = [name for name in usual if name not in able]
    if not unable:
        return able, ""
    name = objective if isinstance(objective, str) else objective.name
    return able, f"left out, for they do not minimize {name}: {', '.join(unable)}; {_JOINT}"
