"""One sweep over windows of steps: the past fixed, the future priced."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.residency.bound.dual import Dual
from formulations.residency.program.columns import AT_ACCESS, ColumnKind, PathColumns
from formulations.residency.program.master import room
from formulations.residency.windows.costs_to_go import CostsToGo
from formulations.residency.windows.intervals import WindowNumbers
from formulations.residency.windows.state import Amounts, State
from formulations.residency.windows.window import EndCosts, WindowProgram, window_columns
from formulations.solver.highs import solve_within
from formulations.solver.program import SolverStatus
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints

_OPTIONS: dict[str, bool | int | float | str] = {
    "solver": "simplex",
    "simplex_strategy": 1,
    "presolve": "off",
}


class ColumnsByStep:
    """Columns by the step in which something happens: their own, or that of the access."""

    def __init__(self, steps: int, access_step: Ints, columns: PathColumns) -> None:
        at_access = columns.kind < len(AT_ACCESS)
        event = np.where(at_access, access_step[columns.access], columns.step)
        order = np.argsort(event, kind="stable")
        self.kind = columns.kind[order].astype(np.int8)
        self.access = columns.access[order].astype(np.int32)
        self.step = columns.step[order].astype(np.int32)
        self.first = np.searchsorted(event[order], np.arange(steps + 1))

    def between(self, begin: int, end: int) -> slice:
        """Return the columns with their event in [begin, end)."""
        return slice(int(self.first[begin]), int(self.first[end]))


@dataclass(frozen=True, slots=True)
class Span:
    """Steps of a window: those that it decides, those beyond that the next one decides anew.

    Of every ``part`` steps the cheapest one is recourse. What a window leaves dirty leaves the chip
    in the next step at the latest, so that the window must have found room there: without any
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
    """Decides columns window by window under the prices of a dual."""

    def __init__(
        self,
        dual: Dual,
        columns: PathColumns,
        *,
        page_bytes: int,
        margin: float,
        tie: float,
        span: Span,
    ) -> None:
        self.intervals, self.coefficients = dual.intervals, dual.coefficients
        self.pool = ColumnsByStep(self.intervals.steps, self.intervals.step, columns)
        self.to_go, self.numbers = CostsToGo(dual), WindowNumbers(self.intervals)
        self.state = State(self.intervals)
        self.page_bytes, self.tie, self.span = page_bytes, tie, span
        self._room = room(self.intervals, self.coefficients, page_bytes, margin)

    def run(self, request: Request) -> Amounts:
        """Return the bytes of columns; what there was no time for streams."""
        while self.state.step < self.intervals.steps:
            if request.remaining_s() <= 0 or not self.advance(request):
                return self.state.streamed()
        return self.state.decided()

    def advance(self, request: Request) -> bool:
        """Solve a window; False if it was not solved."""
        intervals, state, begin = self.intervals, self.state, self.state.step
        end = min(begin + self.span.decided + self.span.overlap, intervals.steps)
        pool = self.pool
        here = pool.between(begin, end)
        kind, access, step = (x[here].astype(np.int64) for x in (pool.kind, pool.access, pool.step))
        window = self.numbers.window(
            begin, end, state.open, state.last, access[kind == ColumnKind.LOAD]
        )
        local = self.numbers.place[access].astype(np.int64)
        seen = local >= 0
        step = np.where(step < 0, -1, step - begin)
        columns = PathColumns(kind=kind[seen], access=local[seen], step=step[seen])
        left, beyond = state.left(window), EndCosts.of(window, self.to_go)
        part = self.span.part
        columns = window_columns(window, columns, self.to_go, left=left, beyond=beyond, part=part)
        built = WindowProgram(
            window,
            self.coefficients.within(begin, end),
            columns,
            left=left,
            beyond=beyond,
            room=self._room[begin:end],
            page_bytes=self.page_bytes,
            tie=self.tie,
        )
        answer = solve_within(built.program, request, options=_OPTIONS, brief=True)
        self.numbers.forget(window)
        if answer.status is not SolverStatus.OPTIMAL:
            return False
        until = end if end == intervals.steps else begin + self.span.decided
        state.advance(window, built.columns, built.use, built.amounts(answer), until)
        return True
