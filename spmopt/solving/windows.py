"""Better schedules near a given one: CP-SAT decides windows of steps anew, all else is fixed.

In a window it decides the order and modes of operations, what is resident, by pages, in each
step, and so when transfers start, and what is stored when; addresses follow
(:func:`spmopt.assemble.addresses.place_in_time`). Its times are nearly those of the replay
(:mod:`formulations.step_windows.time_rows`), or of steps with barriers between them, which then
keep their order (:mod:`formulations.step_windows.barrier_rows`). The verifier judges every
decision: whatever is illegal or no better is dropped. So the search ends anywhere, never with less
than it began.

Short windows come first, those with most time in which nothing is computed, each until it gains
nothing; then longer ones. Four that do not meet are decided at a time, each by one thread and
so much counted work: the result does not depend on load or threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from math import inf
from time import monotonic

import numpy as np

from spmopt.core.clock import cpu_s
from spmopt.core.errors import ScheduleError, SpmoptError
from spmopt.core.instance import Instance
from spmopt.core.modes import SEVERAL_MODES
from spmopt.core.order import dependences
from spmopt.core.result import EVERY_SCHEDULE, LEFT_OUT
from spmopt.core.schedule import Plan
from spmopt.core.scheduler import Request
from spmopt.core.window import StepWindow, WindowDecision, decided_at_once
from spmopt.solving.at_once import AT_ONCE
from spmopt.solving.barriers import NOTHING_BETTER
from spmopt.solving.checked_calls import CheckedCalls
from spmopt.solving.records import Run, VerifiedSchedule, within_class
from spmopt.solving.window_cut import Cut, WindowCutter, scheduled
from spmopt.verifier import require_legal

_SIZES = ((6, 4, 3.0), (10, 6, 8.0))
"""Steps of a window, of its tail, and the counted seconds of one: longer ones on what is left."""
_KEPT_ORDER_SIZES = ((8, 2, 3.0), (16, 2, 8.0))
"""The same where steps keep their order, with barriers: windows of 28 steps gain nothing more."""
_WORKER = "formulations.step_windows.cpsat_worker:decide"
ORIGIN = "CP-SAT in windows of steps"
BY_WINDOWS = "found by CP-SAT in windows of steps, all else of the best start fixed"
"""Note on a schedule of that origin."""


def improved_by_windows(
    calls: CheckedCalls, start: VerifiedSchedule, spent_s: float
) -> VerifiedSchedule | None:
    """Search from a schedule, for who decides the order too; None where nothing is better.

    ``spent_s`` of the time limit are over.
    """
    limit_s = calls.request.time_limit_s
    left_s = max(0.0, limit_s - spent_s)
    at_once = decided_at_once(calls.instance)
    params = calls.params
    small_s = min(params.windows_fraction * limit_s, left_s)
    share_s = small_s if at_once else params.windows_large_fraction * left_s
    request = replace(calls.request.part(bounds=False), time_limit_s=left_s, started=monotonic())
    found = improved_in_windows(calls.instance, start, request.phase(share_s))
    return None if found is start else found


def with_merged_commands(calls: CheckedCalls, run: Run, spent_s: float) -> Run:
    """Search from the schedule of ``page``, ``whole`` or a cover, where commands have a set-up.

    Programs count bytes, and know nothing of the commands that these take. ``spent_s`` of the time
    limit are over: the clock ends the search within what is left. What is counted is a time limit
    whatever is left, so that no result depends on how long all before took.
    """
    legal, request = run.legal, calls.request
    if legal is None or not calls.commands_cost or _is_best(calls, run):
        return run
    wall, cpu = monotonic(), cpu_s()
    left_s = max(0.0, request.time_limit_s - spent_s)
    own = replace(request, time_limit_s=left_s, started=wall, on_incumbent=calls.tell)
    instance = calls.instance if run.pieces is None else run.pieces.instance
    whole = run.entry.granularity == "whole" and run.pieces is None
    better = improved_in_windows(instance, legal, own.phase(request.time_limit_s), whole=whole)
    wall, cpu = monotonic() - wall, cpu_s() - cpu
    run = replace(run, solve_s=run.solve_s + wall, cpu_s=run.cpu_s + cpu)
    if better is legal or run.outcome is None:
        return run
    calls.tell_legal(better)
    notes = (*_still_true(run.notes, legal, better), BY_WINDOWS)
    return replace(run, outcome=within_class(run.outcome, better.value), legal=better, notes=notes)


def _still_true(
    notes: Sequence[str], old: VerifiedSchedule, new: VerifiedSchedule
) -> Iterator[str]:
    """Yield the notes on a schedule that hold for the one in its place as well."""
    same_modes = np.array_equal(old.schedule.steps.mode, new.schedule.steps.mode)
    of_start, of_program = (
        NOTHING_BETTER.partition("{")[0],
        LEFT_OUT.split("{")[1].partition("}")[2],
    )
    for note in notes:
        of_old = note.startswith(of_start) or of_program in note
        if not of_old and (same_modes or note != SEVERAL_MODES):
            yield note


def _is_best(calls: CheckedCalls, run: Run) -> bool:
    """Whether a run's own prices prove its schedule to be as good as was asked for.

    Those of a cover prove nothing about all of them.
    """
    if run.outcome is None or run.legal is None or run.pieces is not None:
        return False
    prices, known = run.outcome.certificate, run.outcome.class_bound
    proved = None if prices is None else calls.evaluate(prices)
    least = Fraction(0) if proved is None else proved.value
    # Windows of whole tensors find nothing that a bound for these does not hold for.
    own = run.entry.granularity == "whole"
    if known is not None and (own or known.holds_for == EVERY_SCHEDULE):
        least = max(least, Fraction(known.value))
    return run.legal.value <= least * (1 + Fraction(calls.request.tolerance))


def improved_in_windows(
    instance: Instance, start: VerifiedSchedule, request: Request, *, whole: bool = False
) -> VerifiedSchedule:
    """Return the best schedule found from ``start`` on, within a request's time; or ``start``.

    What it keeps more of than ``start`` are ``whole`` tensors, or any pages.
    """
    if start.plan is None or instance.machine.banks or instance.machine.bypass:
        return start
    plan = replace(start.plan, ranges=None)
    search = _Search(instance, replace(start, plan=plan), request, whole=whole)
    sizes = _SIZES if request.objective.replayed else _KEPT_ORDER_SIZES
    for steps, tail, work_s in sizes:
        search.run(steps, tail, work_s)
    return start if search.best.schedule is start.schedule else search.best


class _Search:
    """The best schedule so far, and which windows of it gain nothing."""

    def __init__(
        self, instance: Instance, start: VerifiedSchedule, request: Request, *, whole: bool
    ) -> None:
        self._instance, self._request, self.best = instance, request, start
        self._whole = whole
        self._barriers = not request.objective.replayed
        self._needed = None if self._barriers else dependences(instance)
        self._cutter = self._laid_out()

    def _laid_out(self) -> WindowCutter:
        best = self.best
        if best.plan is None:
            raise ScheduleError("a schedule without a plan has no windows")
        return WindowCutter(
            self._instance, best.plan, best.schedule, self._needed, whole=self._whole
        )

    def run(self, steps: int, tail: int, work_s: float) -> None:
        """Decide windows of so many steps, until none gains or the time is over."""
        fresh = set(self._starts(steps))
        while fresh and self._request.remaining_s() > 0:
            chosen = self._chosen(fresh, steps, steps + tail)
            fresh -= set(chosen)
            cuts = [self._cutter.cut(first, steps, tail) for first in chosen]
            for cut, decision in zip(cuts, self._decided(cuts, work_s), strict=True):
                if decision is not None and self._taken(cut, decision):
                    near = range(cut.first - steps + 1, cut.first + steps)
                    fresh |= {first for first in self._starts(steps) if first in near}
                    fresh.discard(cut.first)

    def _starts(self, steps: int) -> range:
        return range(0, max(1, self._cutter.line.steps - steps // 2), max(1, steps // 2))

    def _chosen(self, fresh: set[int], steps: int, apart: int) -> list[int]:
        """Return windows that do not meet, those first in which most time is lost."""
        lost = np.concatenate(([0], np.cumsum(self._cutter.waiting)))
        worth = {
            first: int(lost[min(first + steps, lost.size - 1)] - lost[first]) for first in fresh
        }
        chosen = list[int]()
        for first in sorted(fresh, key=lambda first: (-worth[first], first)):
            if all(abs(first - other) >= apart for other in chosen):
                chosen.append(first)
            if len(chosen) == AT_ONCE:
                break
        return chosen

    def _decided(self, cuts: Sequence[Cut], work_s: float) -> list[WindowDecision | None]:
        """Decide windows, as many at a time as there are threads."""
        self._request.report(f"windows of {cuts[0].window.steps} steps", None)
        limit_s = self._request.remaining_s()  # of the clock; what is counted ends sooner

        def decide(cut: Cut) -> WindowDecision | None:
            return decided(cut.window, work_s, limit_s, self._request.stop)

        with ThreadPoolExecutor(max(1, self._request.threads)) as pool:
            found = list(pool.map(decide, cuts))
        for decision in found:
            self._request.work.seconds += work_s if decision is None else decision.work_s
        return found

    def _taken(self, cut: Cut, decision: WindowDecision) -> bool:
        """Take a decision if the schedule is legal and better."""
        plan = self._cutter.applied(cut, decision)
        found = self._valued(plan)
        if found is None or found.value >= self.best.value:
            return False
        self.best = found
        self._request.report_incumbent(value=found.value)
        self._cutter = self._laid_out()
        return True

    def _valued(self, plan: Plan) -> VerifiedSchedule | None:
        try:
            schedule = scheduled(self._instance, plan, barriers=self._barriers)
            totals = require_legal(self._instance, schedule).totals
        except ScheduleError:
            return None
        if totals is None:
            return None
        return VerifiedSchedule(
            origin=ORIGIN,
            plan=plan,
            schedule=schedule,
            totals=totals,
            value=totals.value(self._request.objective),
        )


def decided(
    window: StepWindow, work_s: float, limit_s: float = inf, stop: Callable[[], bool] = bool
) -> WindowDecision | None:
    """Decide a window in a process of its own; None where it finds nothing, or dies."""
    # By name, as all that is there: nobody needs its processes to load this.
    apart = import_module("formulations.solver.apart")
    try:
        found: WindowDecision | None = apart.call(
            _WORKER, window, work_s, time_limit_s=limit_s, stop=stop
        )
    except SpmoptError:
        return None
    return found
