"""Better schedules near a given one: CP-SAT decides windows of steps anew, all else is fixed.

In a window it decides the order and mappings of operations, the resident pages of each step, and so
the start of each transfer, and the stores; addresses follow
(:func:`spmopt.assemble.addresses.allocate_in_time`). Its times nearly agree with the replay
(:mod:`formulations.step_windows.time_rows`), or of steps with barriers between them, which then
keep their order (:mod:`formulations.step_windows.time_rows`). The verifier judges every decision:
an illegal one, or one that is no better, is dropped. So the search ends anywhere, never with less
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
from spmopt.core.mappings import SEVERAL_MAPPINGS
from spmopt.core.order import dependences
from spmopt.core.problem import Problem
from spmopt.core.result import LEFT_OUT, Result
from spmopt.core.scheduler import Request
from spmopt.core.window import StepWindow, WindowDecision, decide_together
from spmopt.solving.barriers import BY_WINDOWS, NOTHING_BETTER, WINDOWS
from spmopt.solving.checked_calls import TENSORS, CheckedCalls
from spmopt.solving.records import within_class
from spmopt.solving.run_parallel import AT_ONCE
from spmopt.solving.window_cut import Cut, WindowCutter, schedule_all
from spmopt.verifier import require_legal

_SIZES = ((6, 4, 3.0), (10, 6, 8.0))
"""Steps of a window, of its tail, and the counted seconds of one: longer ones on the rest."""
_KEPT_ORDER_SIZES = ((8, 2, 3.0), (16, 2, 8.0))
"""The same where steps keep their order, with barriers: windows of 28 steps gain nothing more."""
_WORKER = "formulations.step_windows.cpsat_worker:decide"


def improve_by_windows(calls: CheckedCalls, start: Result, spent_s: float) -> Result | None:
    """Search from a schedule, for a scheduler of orders too; None where nothing is better.

    ``spent_s`` of the time limit are over.
    """
    limit_s = calls.request.time_limit_s
    left_s = max(0.0, limit_s - spent_s)
    run_parallel = decide_together(calls.problem)
    params = calls.params
    small_s = min(params.windows_fraction * limit_s, left_s)
    share_s = small_s if run_parallel else params.windows_large_fraction * left_s
    request = replace(calls.request.part(bounds=False), time_limit_s=left_s, started=monotonic())
    found = improve_in_windows(calls.problem, start, request.phase(share_s))
    return None if found is start else found


def with_merged_commands(calls: CheckedCalls, result: Result, spent_s: float) -> Result:
    """Search from the schedule of ``residency``, ``whole`` or a fusion plan.

    Where commands have a set-up. Programs count bytes, and know nothing of the commands that these
    take. ``spent_s`` of the time limit are over: the clock ends the search within the rest. Counted
    work has the same limit in each run, so that no result depends on the time spent before.
    """
    request = calls.request
    if result.value is None or not calls.commands_cost or _is_best(calls, result):
        return result
    wall, cpu = monotonic(), cpu_s()
    left_s = max(0.0, request.time_limit_s - spent_s)
    own = replace(request, time_limit_s=left_s, started=wall, on_incumbent=calls.tell)
    problem = calls.problem if result.fused is None else result.fused
    phase, whole = own.phase(request.time_limit_s), _keeps_whole(result)
    better = improve_in_windows(problem, result, phase, whole=whole)
    kept = result.plus(monotonic() - wall, cpu_s() - cpu)
    if better is result or better.value is None:
        return kept
    calls.tell_schedule(better)
    notes = (*_still_true(result, better), BY_WINDOWS)
    return replace(within_class(kept, better.value).with_schedule_of(better), notes=notes)


def _keeps_whole(result: Result) -> bool:
    return result.scheduler == TENSORS and result.fused is None


def _still_true(old: Result, new: Result) -> Iterator[str]:
    """Yield the notes on a schedule that hold for the one in its place as well."""
    assert old.schedule is not None
    assert new.schedule is not None
    same_mappings = np.array_equal(old.schedule.steps.mapping, new.schedule.steps.mapping)
    of_start, of_program = (
        NOTHING_BETTER.partition("{")[0],
        LEFT_OUT.split("{")[1].partition("}")[2],
    )
    for note in old.notes:
        # Notes are texts, so that they are told by the fixed parts of their formats.
        of_old = note.startswith(of_start) or of_program in note
        if not of_old and (same_mappings or note != SEVERAL_MAPPINGS):
            yield note


def _is_best(calls: CheckedCalls, result: Result) -> bool:
    """Whether a result's own dual values prove its schedule to be as good as was asked for.

    Those of a fusion plan prove nothing about all of them.
    """
    if result.value is None or result.fused is not None:
        return False
    duals, known = result.certificate, result.class_bound
    proved = None if duals is None else calls.evaluate(duals)
    least = Fraction(0) if proved is None else proved.value
    # Windows of whole tensors find nothing that a bound for these does not hold for.
    if known is not None and _keeps_whole(result):
        least = max(least, Fraction(known.value))
    return result.value <= least * (1 + Fraction(calls.request.tolerance))


def improve_in_windows(
    problem: Problem, start: Result, request: Request, *, whole: bool = False
) -> Result:
    """Return the best schedule found from ``start`` on, within a request's time; or ``start``.

    It keeps additional ``whole`` tensors, or any additional pages.
    """
    # The program of a window has one memory, in which every tensor may stay.
    if start.residency_plan is None or problem.machine.banks or problem.machine.bypass:
        return start
    residency_plan = replace(start.residency_plan, ranges=None)
    search = _Search(problem, replace(start, residency_plan=residency_plan), request, whole=whole)
    sizes = _SIZES if request.objective.replayed else _KEPT_ORDER_SIZES
    for steps, tail, work_s in sizes:
        search.run(steps, tail, work_s)
    # The original start, whose plan still has its ranges.
    return start if search.best.schedule is start.schedule else search.best


class _Search:
    """The best schedule so far, and which windows of it gain nothing."""

    def __init__(self, problem: Problem, start: Result, request: Request, *, whole: bool) -> None:
        self._problem, self._request, self.best = problem, request, start
        self._whole = whole
        self._barriers = not request.objective.replayed
        self._needed = None if self._barriers else dependences(problem)
        self._cutter = self._make_cutter()

    def _make_cutter(self) -> WindowCutter:
        best = self.best
        if best.residency_plan is None or best.schedule is None:
            raise ScheduleError("a schedule without a residency plan has no windows")
        return WindowCutter(
            self._problem, best.residency_plan, best.schedule, self._needed, whole=self._whole
        )

    def run(self, steps: int, tail: int, work_s: float) -> None:
        """Decide windows of so many steps, until none gains or the time is over."""
        fresh = set(self._starts(steps))
        while fresh and self._request.remaining_s() > 0:
            chosen = self._choose(fresh, steps, steps + tail)
            fresh -= set(chosen)
            cuts = [self._cutter.cut(first, steps, tail) for first in chosen]
            for cut, decision in zip(cuts, self._decide(cuts, work_s), strict=True):
                if decision is not None and self._take(cut, decision):
                    near = range(cut.first - steps + 1, cut.first + steps)
                    # A better schedule changes only windows that overlap: the others still gain
                    # nothing.
                    fresh |= {first for first in self._starts(steps) if first in near}
                    fresh.discard(cut.first)

    def _starts(self, steps: int) -> range:
        return range(0, max(1, self._cutter.line.steps - steps // 2), max(1, steps // 2))

    def _choose(self, fresh: set[int], steps: int, apart: int) -> list[int]:
        """Return windows that do not meet, those first in which most time is lost."""
        lost = np.concatenate(([0], np.cumsum(self._cutter.waiting)))
        worth = {
            first: int(lost[min(first + steps, lost.size - 1)] - lost[first]) for first in fresh
        }
        chosen = list[int]()
        for first in sorted(fresh, key=lambda first: (-worth[first], first)):
            # Tails must not overlap either, so that decisions made at once combine.
            if all(abs(first - other) >= apart for other in chosen):
                chosen.append(first)
            if len(chosen) == AT_ONCE:
                break
        return chosen

    def _decide(self, cuts: Sequence[Cut], work_s: float) -> list[WindowDecision | None]:
        """Decide windows, as many at a time as there are threads."""
        self._request.report(f"windows of {cuts[0].window.steps} steps", None)
        limit_s = self._request.remaining_s()  # of the clock; counted work ends sooner

        def decide(cut: Cut) -> WindowDecision | None:
            return decide_residency(cut.window, work_s, limit_s, self._request.stop)

        with ThreadPoolExecutor(max(1, self._request.threads)) as pool:
            found = list(pool.map(decide, cuts))
        for decision in found:
            # A failed window counts in full, not by the time it took: results must repeat.
            self._request.work.seconds += work_s if decision is None else decision.work_s
        return found

    def _take(self, cut: Cut, decision: WindowDecision) -> bool:
        """Take a decision if the schedule is legal and better."""
        residency_plan = self._cutter.apply(cut, decision)
        try:
            schedule = schedule_all(self._problem, residency_plan, barriers=self._barriers)
            totals = require_legal(self._problem, schedule).totals
        except ScheduleError:
            return False
        value = None if totals is None else totals.value(self._request.objective)
        if value is None or (self.best.value is not None and value >= self.best.value):
            return False
        self.best = replace(
            self.best,
            origin=WINDOWS,
            residency_plan=residency_plan,
            schedule=schedule,
            totals=totals,
            value=value,
        )
        self._request.report_incumbent(value=value)
        self._cutter = self._make_cutter()
        return True


def decide_residency(
    window: StepWindow, work_s: float, limit_s: float = inf, stop: Callable[[], bool] = bool
) -> WindowDecision | None:
    """Decide a window in a process of its own; None where it finds nothing, or dies."""
    # By name: it is loaded only where processes are needed.
    apart = import_module("formulations.solver.apart")
    try:
        found: WindowDecision | None = apart.call(
            _WORKER, window, work_s, time_limit_s=limit_s, stop=stop
        )
    except SpmoptError:
        return None
    return found
