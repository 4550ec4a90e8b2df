"""One sweep over windows of steps: the past fixed, the future priced."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from threading import Event

import numpy as np

from formulations.residency.bound.dual import DualFunction
from formulations.residency.program.columns import AT_ACCESS, ColumnKind, PathColumns
from formulations.residency.program.master import room
from formulations.residency.windows.costs_to_go import CostsToGo
from formulations.residency.windows.intervals import WindowIntervals, WindowNumbers
from formulations.residency.windows.state import Amounts, State
from formulations.residency.windows.window import EndCosts, WindowProgram, window_columns
from formulations.solver.highs import solve_within
from formulations.solver.program import SolverStatus
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints

# The dual simplex method, without presolve: the program of a window is small.
_OPTIONS: dict[str, bool | int | float | str] = {
    "solver": "simplex",
    "simplex_strategy": 1,
    "presolve": "off",
}
_PART, _PARTS = 10, 4
"""Windows that are worth a part of their own, and most parts."""


class ColumnsByStep:
    """Columns by the step in which something happens: their own, or that of the access."""

    def __init__(self, steps: int, access_step: Ints, columns: PathColumns) -> None:
        # Such a column happens in its access's step.
        at_access = columns.kind < len(AT_ACCESS)
        event = np.where(at_access, access_step[columns.access], columns.step)
        order = np.argsort(event, kind="stable")
        self.kind = columns.kind[order].astype(np.int8)
        self.access = columns.access[order].astype(np.int32)
        self.step = columns.step[order].astype(np.int32)
        self.first = np.searchsorted(event[order], np.arange(steps + 1))

    def between(self, begin: int, end: int) -> PathColumns:
        """Return the columns with their event in [begin, end)."""
        here = slice(int(self.first[begin]), int(self.first[end]))
        arrays = (self.kind[here], self.access[here], self.step[here])
        kind, access, step = (each.astype(np.int64) for each in arrays)
        return PathColumns(kind=kind, access=access, step=step)


@dataclass(frozen=True, slots=True)
class Span:
    """Steps of a window: those that it decides, those beyond that the next one decides anew.

    Of every ``part`` steps the cheapest one is recourse. Bytes that a window leaves dirty leave the
    chip in the next step at the latest, so that the window must have found room there: without any
    overlap the next one may have no solution.

    Raises
    ------
    ValueError
        A number is below 1.
    """

    decided: int
    overlap: int
    part: int

    def __post_init__(self) -> None:
        if min(self.decided, self.overlap, self.part) < 1:
            raise ValueError(f"windows of steps need numbers from 1 on, got {self}")


class Sweep:
    """Decides columns window by window under the dual values of a dual."""

    def __init__(
        self,
        dual: DualFunction,
        columns: PathColumns,
        *,
        page_bytes: int,
        margin: float,
        tie: float,
        span: Span,
    ) -> None:
        self.intervals, self.coefficients = dual.intervals, dual.coefficients
        self.pool = ColumnsByStep(self.intervals.steps, self.intervals.step, columns)
        self.to_go, self.page_bytes, self.tie, self.span = CostsToGo(dual), page_bytes, tie, span
        self.room = room(self.intervals, self.coefficients, page_bytes, margin)

    def run(self, request: Request) -> Amounts:
        """Return the bytes of columns; operands without time to load stream.

        The steps are decided in parts, each as if nothing were on chip before it; how many there
        are does not depend on the threads, so that neither do schedules.
        """
        steps = self.intervals.steps
        # Parts do not depend on threads, so that results do not.
        count = max(1, min(_PARTS, steps // (_PART * self.span.decided)))
        cuts = [steps * part // count for part in range(count + 1)]
        parts = [SweepPart(self, begin, end) for begin, end in pairwise(cuts)]
        if count == 1:
            return parts[0].run(request)
        over = Event()
        each = replace(request, stop=lambda: over.is_set() or request.stop())
        workers = min(count, request.threads)
        with ThreadPoolExecutor(workers, thread_name_prefix="windows") as pool:
            try:
                found = list(pool.map(lambda part: part.run(each), parts))
            finally:
                over.set()
        amounts = Amounts.together(*found)
        if all(part.state.step == part.end for part in parts):
            for cut in cuts[1:-1]:
                amounts = self.join(cut, amounts, request)
        return amounts

    def join(self, cut: int, amounts: Amounts, request: Request) -> Amounts:
        """Decide the steps about a cut anew, so that bytes may remain on chip there."""
        intervals, width = self.intervals, self.span.decided
        begin, end = max(cut - width, 0), min(cut + width, intervals.steps)
        if end == intervals.steps or request.remaining_s() <= 0:
            return amounts
        state, _ = State.at(intervals, begin, amounts)
        after, later = State.at(intervals, end, amounts)
        part = SweepPart(self, begin, end, state)
        own = ColumnsByStep(intervals.steps, intervals.step, amounts.columns)
        if not part.advance(request, own, after):
            return amounts
        return Amounts.together(state.decide(), state.parcels, later)


class SweepPart:
    """The windows of some steps, with numbers of their own."""

    def __init__(self, sweep: Sweep, begin: int, end: int, state: State | None = None) -> None:
        self.sweep, self.end = sweep, end
        self.state = State(sweep.intervals, begin) if state is None else state
        self.numbers = WindowNumbers(sweep.intervals)

    def run(self, request: Request) -> Amounts:
        """Return the bytes of columns until the end, where nothing remains on chip."""
        while self.state.step < self.end:
            if request.remaining_s() <= 0 or not self.advance(request):
                break
        # Where time ended the sweep the rest streams: still a solution.
        whole = self.state.step == self.sweep.intervals.steps
        return self.state.decide() if whole else self.state.stream(self.end)

    def advance(
        self, request: Request, own: ColumnsByStep | None = None, after: State | None = None
    ) -> bool:
        """Solve a window; False if it was not solved.

        One that has to leave ``after`` ends there; its program has the columns ``own`` too.
        """
        sweep, state, begin = self.sweep, self.state, self.state.step
        span, steps = sweep.span, sweep.intervals.steps
        end = min(begin + span.decided + span.overlap, steps) if after is None else after.step
        columns = sweep.pool.between(begin, end)
        if own is not None:
            columns = columns.union(own.between(begin, end), steps)
        entered = columns.access[columns.kind == ColumnKind.LOAD]
        window = self.numbers.window(begin, end, state.open, state.last, entered)
        left = state.carried_bytes(window)
        kept = None if after is None else after.bytes_to_leave(window)
        beyond = (
            EndCosts.of(window, sweep.to_go) if kept is None else EndCosts.keeping(window, kept)
        )
        columns = window_columns(
            window,
            self._local(window, columns),
            sweep.to_go,
            left=left,
            beyond=beyond,
            part=span.part,
        )
        built = WindowProgram(
            window,
            sweep.coefficients.within(begin, end),
            columns,
            left=left,
            beyond=beyond,
            kept=kept,
            room=sweep.room[begin:end],
            page_bytes=sweep.page_bytes,
            tie=sweep.tie,
        )
        answer = solve_within(built.program, request, options=_OPTIONS, brief=True)
        self.numbers.forget(window)
        if answer.status is not SolverStatus.OPTIMAL:
            return False
        # The overlap is decided anew by the next window, which sees further.
        until = end if end == steps or after is not None else begin + span.decided
        state.advance(window, built.columns, built.use, built.amounts(answer), min(until, self.end))
        return True

    def _local(self, window: WindowIntervals, columns: PathColumns) -> PathColumns:
        """Return the columns that the window sees, in its numbers."""
        local = self.numbers.place[columns.access].astype(np.int64)
        seen = local >= 0
        step = np.where(columns.step < 0, -1, columns.step - window.first_step)
        return PathColumns(kind=columns.kind[seen], access=local[seen], step=step[seen])
