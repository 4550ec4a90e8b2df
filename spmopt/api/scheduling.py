"""Scheduling: one scheduler, or several against one certified bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spmopt.api.arguments import check
from spmopt.api.callbacks import QUIET, Callbacks
from spmopt.api.solutions import ComparisonTable, Solution
from spmopt.core.errors import ArgumentError

if TYPE_CHECKING:
    from spmopt.core.fusion.fused_groups import FusedGroup
    from spmopt.core.objective import Objective
    from spmopt.core.params import SolveParams
    from spmopt.core.problem import Problem
    from spmopt.core.scheduler import Policy, Request
    from spmopt.schedulers.registry import SchedulerEntry

_JOINT = "joint supports it for small problems"


def require_limits(time_limit: float, tolerance: float, **counts: int | None) -> None:
    """Raise :class:`InputError` for a limit or a count that makes no sense."""
    # Users of --tolerance 0.1% may write "0.1%" here as well.
    for name, value in (("time_limit", time_limit), ("tolerance", tolerance)):
        if not isinstance(value, Real) or not isfinite(value) or value < 0:
            raise ArgumentError(name, f" {value}: must be a number, 0 or more")
    for name, count in counts.items():
        if count is not None and count < 1:
            raise ArgumentError(name, f" {count}: must be at least 1")


@check
def solve(
    problem: Problem,
    scheduler: str | SchedulerEntry | Policy | None = None,
    *,
    fusion: str | None = None,
    fusion_plan: str | Path | Sequence[FusedGroup] | None = None,
    objective: str | Objective = "time",
    timing: str = "step",
    time_limit: float = 60.0,
    tolerance: float = 1e-4,
    threads: int = 2,
    params: SolveParams | str | Path | None = None,
    callbacks: Callbacks = QUIET,
) -> Solution:
    """Schedule a problem, verify the schedule and certify its bound.

    Parameters
    ----------
    problem
        Result of :func:`lower`.
    scheduler
        Name ('spmopt schedulers' lists them). By default ``residency``, or ``fusion`` where that
        is asked for; with timing ``async``, on small problems, ``joint`` too.
    fusion
        Fusion space: none (layer by layer), single-product, batch, all.
    fusion_plan
        Fusion plan to schedule: TOML or JSON, by names, or a result file.
    objective
        Objective: time, traffic or energy; or two, as time,traffic.
    timing
        step (sum over steps), or async (no barriers between steps).
    time_limit
        Time limit of each scheduler, in seconds.
    tolerance
        Gap at which a schedule counts as optimal.
    threads
        Number of solver threads.
    params
        Parameters of the search: a TOML file, or SolveParams.
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
    the next. ``fusion`` names the fusion space: ``none`` (layer by layer), ``single-product``
    (micro-batches, one matrix product a group), ``batch`` (micro-batches, any groups) or ``all``
    (stripes of rows, too). The default here is ``none``; the command line takes ``all`` for
    networks and ONNX files where no scheduler is named. With ``fusion_plan`` the given plan is
    scheduled. Results of a residency plan have a bound over the fusion space beside their own.

    Two objectives in order, as ``time:0.5%,traffic``, ask for the least of the second among
    schedules within 0.5 % (default: 0.1 %) of the least of the first; notes have a bound on it.

    A policy itself may stand in place of a name: a function from a problem to residency
    intervals (:data:`spmopt.core.scheduler.Policy`). So may an :class:`Objective`.
    """
    arguments = dict(locals())
    from spmopt.api.fusion import resolve_fusion, solver, with_fusion_scheduler
    from spmopt.api.in_order import is_ordered, solve_named
    from spmopt.core.objective import with_timing
    from spmopt.solving import compare_fused, solve_by_default
    from spmopt.solving import solve as solve_one

    entry, objective = solver(scheduler, fusion, fusion_plan), with_timing(objective, timing)

    def solve_for(aim: str | Objective, limit_s: float) -> Solution:
        request = request_for(problem, aim, {**arguments, "time_limit": limit_s})
        if fusion_plan is None:
            run = solve_by_default if scheduler is None else solve_one
            return Solution.of(problem, run(problem, entry, request))
        # Another scheduler bounds the fusion space.
        entries = with_fusion_scheduler({entry.name: entry}, fusion, fusion_plan).values()
        groups = resolve_fusion(problem, fusion_plan, fusion)
        results = compare_fused(problem, list(entries), request, groups)
        table = ComparisonTable(problem, results)
        # Infeasible on the plan: the layer-by-layer result says why.
        return table.on_fusion_plan.get(entry.name) or table[entry.name]

    if not is_ordered(objective):
        return solve_for(objective, time_limit)
    require_limits(time_limit, tolerance, threads=threads)
    return solve_named(str(objective), entry, problem.machine, solve_for, time_limit)


@check
def compare(
    problem: Problem,
    schedulers: Sequence[str | SchedulerEntry | Policy] | None = None,
    *,
    fusion: str | None = None,
    fusion_plan: str | Path | Sequence[FusedGroup] | None = None,
    objective: str | Objective = "time",
    timing: str = "step",
    time_limit: float = 60.0,
    tolerance: float = 1e-4,
    threads: int = 2,
    params: SolveParams | str | Path | None = None,
    callbacks: Callbacks = QUIET,
) -> ComparisonTable:
    """Run several schedulers, and compare all with the best certified bound.

    Parameters
    ----------
    problem
        Result of :func:`lower`.
    schedulers
        Names; default: all usual ones that support the objective.
    fusion
        Fusion space: none (layer by layer), single-product, batch, all.
    fusion_plan
        Fusion plan to schedule: TOML or JSON, by names, or a result file.
    objective, timing, time_limit, tolerance, threads, params, callbacks
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
    With ``fusion`` (as for :func:`solve`) heuristics run layer by layer and on the best fusion plan
    found; with ``fusion_plan`` all schedulers run on the given plan. Each result has two gaps: to
    the bound for its residency plan, and to the bound over the fusion space.
    """
    arguments = dict(locals())
    from spmopt.api.fusion import resolve_fusion, with_fusion_scheduler
    from spmopt.core.objective import with_timing
    from spmopt.schedulers.registry import by_name
    from spmopt.solving import compare_fused

    objective = with_timing(objective, timing)
    request = request_for(problem, objective, arguments)
    given = usual_schedulers(problem, objective)[0] if schedulers is None else schedulers
    # by_name merges duplicates, so that no scheduler runs twice.
    entries = list(with_fusion_scheduler(by_name(given), fusion, fusion_plan).values())
    fused_groups = None if fusion_plan is None else resolve_fusion(problem, fusion_plan, fusion)
    results = compare_fused(problem, entries, request, fused_groups)
    ran = {result.scheduler for result in results}
    # An interrupt may skip some: tables must not look complete.
    not_run = [entry.name for entry in entries if entry.name not in ran]
    return ComparisonTable(problem, results, not_run)


def request_for(
    problem: Problem, objective: str | Objective, arguments: Mapping[str, Any]
) -> Request:
    """Return the request of a scheduler.

    Parameters
    ----------
    problem
        Problem to schedule.
    objective
        Minimized quantity.
    arguments
        Arguments of :func:`solve` by name: limits, ``params`` and ``callbacks``.

    Raises
    ------
    InputError
        A limit that makes no sense, or an unknown objective.
    """
    from spmopt.core.objective import objective_named
    from spmopt.core.params import SolveParams
    from spmopt.core.scheduler import Request

    time_limit, tolerance = arguments["time_limit"], arguments["tolerance"]
    threads, callbacks = arguments["threads"], arguments["callbacks"]
    require_limits(time_limit, tolerance, threads=threads)
    return Request(
        objective=objective_named(objective, problem.machine),
        tolerance=tolerance,
        time_limit_s=time_limit,
        threads=threads,
        stop=callbacks.stop,
        report=callbacks.progress,
        on_incumbent=callbacks.on_incumbent,
        params=SolveParams.of(arguments.get("params")),
    )


def usual_schedulers(problem: Problem, objective: str | Objective) -> tuple[list[str], str]:
    """Return the default schedulers of a comparison, and a note on those that are skipped."""
    from spmopt.core.objective import Objective, objective_entry
    from spmopt.schedulers.registry import compare_with, find

    asked = objective_entry(objective).of if isinstance(objective, str) else objective
    usual = compare_with(problem.machine.features)
    # An objective of the machine, as energy, is a function here: it has no weights to test.
    able = [n for n in usual if not isinstance(asked, Objective) or find(n).takes(asked)]
    unable = [name for name in usual if name not in able]
    if not unable:
        return able, ""
    name = objective if isinstance(objective, str) else objective.name
    return able, f"skipped (objective {name} unsupported): {', '.join(unable)}; {_JOINT}"
