"""Column generation: a compact program, its duals, the bound they prove, and a residency plan.

Each round solves the program over the columns found so far by interior point without
crossover, evaluates the bound at its dual values over *all* columns (the shortest paths see every
step of every gap), rounds the solution to a legal residency plan, and adds the columns whose best
path is nearly a best path.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np

from formulations.residency.bound.dual import DualFunction
from formulations.residency.bound.duals import (
    CostCoefficients,
    Multipliers,
    certificate,
    multipliers,
)
from formulations.residency.bound.ranked import RankedIntervals
from formulations.residency.pages.consolidate import consolidate
from formulations.residency.pages.profiles import profiles
from formulations.residency.pages.rounding import to_residency_plan
from formulations.residency.program.columns import PathColumns, require
from formulations.residency.program.master import Master
from formulations.residency.program.paths import near_best_paths
from formulations.residency.settings import Rates, Settings, interior_point_method
from formulations.residency.subgradient import ascend, count_step
from formulations.residency.windows.sweep import Span, Sweep
from formulations.solver.highs import interior_point, solve_within
from formulations.solver.program import Floats, SolverResult
from spmopt.assemble.cost import residency_plan_cost, residency_plan_value
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Timeline, fitting_timeline, relax_timeline

_TIGHTEST = 1e-8  # the default of HiGHS for the interior-point method
_BETWEEN = (0.1, 0.3, 0.6)  # of the way from the best dual values to the latest
_NEWS_S = 0.1  # counted, between two bounds that are told
_COLUMN_S = 5e-6
"""Counted seconds of a column in windows of steps."""


class ColumnGeneration:
    """State of the column generation for one problem and objective.

    ``fluid`` is the relaxation: single bytes, transfers without set-up, and time in fractions of a
    cycle. ``absent`` finds the accesses (a,) of a timeline at which no byte may be resident: the
    bound is then one for such schedules only. ``log`` has the number of columns of each program.
    """

    def __init__(
        self,
        problem: Problem,
        request: Request,
        *,
        fluid: bool = False,
        absent: Callable[[Timeline], Bools] | None = None,
    ) -> None:
        self.problem = problem
        self.request = request
        self.fluid = fluid
        self.page_bytes = 1 if fluid else problem.machine.page_bytes
        self.settings, self.params = Settings(), request.params.residency
        fitting = fitting_timeline(problem)
        # With several mappings the bound must hold for all of them; plans take one.
        relaxed = relax_timeline(problem) if problem.several_mappings else fitting
        self.line: Timeline = relaxed if self.fluid else fitting
        self.intervals = self._rank(self.line, absent)
        self.coefficients = CostCoefficients(problem, self.line, request.objective)
        # Plans run in one mapping; the bound holds for all of them, over a line of its own.
        self._bounded = self.intervals, self.coefficients
        if relaxed is not self.line:
            coefficients = CostCoefficients(problem, relaxed, request.objective)
            self._bounded = self._rank(relaxed, absent), coefficients
        pages = self.coefficients.capacity_bytes // self.page_bytes
        self.capacity_pages: Ints = pages.astype(np.int64)
        self.tie = 0.0
        self._padded = True
        self._program = -np.inf
        self.bound = -np.inf
        self.duals: Multipliers | None = None
        self.latest: Multipliers | None = None
        self.residency_plan: ResidencyPlan | None = None
        self.value: Fraction | None = None
        self.log: list[int] = []
        self._told = -np.inf

    def _rank(self, line: Timeline, absent: Callable[[Timeline], Bools] | None) -> RankedIntervals:
        nowhere = None if absent is None else absent(line)
        return RankedIntervals(line, nowhere, threads=self.request.threads)

    def offer_duals(self, duals: Multipliers) -> None:
        """Keep dual values that prove more; try some between the best so far and these too."""
        before = self.duals
        self._try_duals(duals)
        if before is not None:
            # The dual is concave: points between two good ones are often better than both.
            for weight in (0.5, 0.1):
                self._try_duals(before.mix(duals, weight))

    def _try_duals(self, duals: Multipliers) -> None:
        bound = DualFunction(*self._bounded, duals).value
        if bound > self.bound:
            self.bound, self.duals = bound, duals
            self.request.report_incumbent(bound=bound)

    def offer_residency_plan(self, residency_plan: ResidencyPlan) -> None:
        """Keep a legal residency plan that costs less."""
        problem, objective, line = self.problem, self.request.objective, self.line
        if residency_plan.steps is line.chosen:
            value = residency_plan_cost(
                problem.machine, line, residency_plan, fluid=self.fluid
            ).value(objective, line)
        else:
            value = residency_plan_value(problem, residency_plan, objective, fluid=self.fluid)
        if self.value is None or value < self.value:
            self.residency_plan, self.value = residency_plan, value
            self.request.report_incumbent(value=None if self.fluid else value)

    @property
    def gap(self) -> float:
        """Relative distance between the best residency plan and the bound."""
        if self.value is not None and self.value <= max(self.bound, 0.0):
            return 0.0
        if self.value is None or self.bound <= 0:
            return np.inf
        return float(self.value) / self.bound - 1

    def solve(self, columns: PathColumns, tolerance: float) -> tuple[Master, SolverResult]:
        """Solve the compact program over ``columns``."""
        built = Master(
            self.intervals,
            self.coefficients,
            columns,
            # Padded to pages the program knows that rounding costs room; in bytes its duals prove
            # more.
            page_bytes=self.page_bytes if self._padded else 1,
            margin=self.settings.margin if self._padded else 0.0,
            tie=self.tie if self._padded else 0.0,
        )
        solver = interior_point_method(len(columns) > self.settings.small_program)
        options = interior_point(tolerance, solver)
        return built, solve_within(built.program, self.request, options=options)

    def take(self, built: Master, answer: SolverResult) -> None:
        """Offer dual values and plan of a solved program."""
        if answer.row_dual is not None and answer.column_dual is not None:
            # Whatever the solver returns is clamped to legal multipliers, which prove a bound.
            self.latest = built.multipliers(answer)
            self.offer_duals(self.latest)
        if answer.objective is not None:
            self._program = built.value(answer.objective)
        if answer.primal is not None:
            self._offer_rounded(*consolidate(self.intervals, built.columns, built.amounts(answer)))

    def _offer_rounded(self, columns: PathColumns, amounts: Floats) -> None:
        """Round the bytes of each column (c,) to a residency plan."""
        residency_plan = to_residency_plan(
            profiles(self.intervals, columns, amounts),
            self._dma_duals(),
            page_bytes=self.page_bytes,
            capacity_pages=self.capacity_pages,
        )
        if residency_plan is not None:
            self.offer_residency_plan(residency_plan)

    def _offer_streaming(self) -> None:
        """Return a plan that needs no solver: only required-resident operands are resident."""
        columns = require(self.intervals)
        self._offer_rounded(columns, self.intervals.size_bytes[columns.access].astype(np.float64))

    def _dma_duals(self) -> Floats:
        """Return (n,) the dual value of a DMA byte in each step."""
        duals = self.duals
        dma = np.zeros(self.intervals.steps) if duals is None else duals.load
        return dma + self.coefficients.in_byte

    def price(self, duals: Multipliers) -> PathColumns:
        """Return the columns that are nearly on a best path at ``duals``."""
        return self._near(duals, self.settings.threshold, self.settings.depth)

    def _near(self, duals: Multipliers, threshold: float, depth: int) -> PathColumns:
        dual = DualFunction(self.intervals, self.coefficients, duals)
        return near_best_paths(dual, threshold * self.coefficients.dearest_byte, depth)

    def run(self, tolerance: float) -> None:
        """Alternate until the gap closes, nothing new is found, or time is up."""
        steps, settings = self.intervals.steps, self.settings
        # A tie costs at most the tolerance, in all: plans that move less round better.
        self.tie = 0.0 if self.fluid else min(settings.tie, tolerance / 3)
        # A legal plan at once: nothing but required-resident operands is resident.
        if self.residency_plan is None:
            self._offer_streaming()
        if self.duals is not None and self.gap <= tolerance:
            return
        timed = self.request.objective.cycle > 0 or tolerance >= settings.loose
        large = settings.large_of_fluid if self.fluid else self.params.sweep_steps
        windows = self.params.sweeps > 0 and steps > (large if timed else settings.large_of_bytes)
        columns = self._windows(tolerance) if windows else self._first_columns()
        if columns is None or self.request.remaining_s() <= 0:
            return
        columns = self._alternate(columns, tolerance)
        padding = self._program / self.bound - 1 if self.bound > 0 else 0.0
        if self.gap > tolerance < padding and not self.fluid and self.request.remaining_s() > 0:
            # Pages cost the program more than the bound may assume: now dual values for bytes.
            self._padded = False
            self._alternate(columns, tolerance)

    def _first_columns(self) -> PathColumns | None:
        """Return columns on the paths of first dual values; None where nothing can be decided."""
        steps, small = self.intervals.steps, self.intervals.step.size <= self.settings.small
        duals, columns = self._first_duals(small)
        self.offer_duals(duals)
        self._note(0)
        if not self.intervals.step.size:
            return None
        columns = columns.union(require(self.intervals), steps)
        return columns.union(self.price(duals), steps) if small else columns

    def _windows(self, tolerance: float) -> PathColumns | None:
        """Decide windows of steps, then wider ones from more columns; those for a program."""
        settings, steps = self.settings, self.intervals.steps
        duals, streamed = self._give(), require(self.intervals)
        effort = max(
            (each for each in settings.efforts if each.gap <= tolerance), key=lambda each: each.gap
        )
        stages = effort.stages
        span = Span(decided=self.params.sweep_width, overlap=effort.overlap, part=effort.part)
        before, used = np.inf, PathColumns.empty()
        for turn in range(self.params.sweeps):
            for stage, (count, rates) in enumerate(stages, 1):
                samples = effort.samples if stage == len(stages) else 0
                duals, columns = self._ascend(count, duals, rates, samples)
                self.offer_duals(duals)
                if self.gap <= tolerance or self._late():
                    return None
            self._note(0)
            if duals is None or not len(columns):
                return None
            columns = columns.union(streamed, steps).union(used, steps)
            if turn > 0:
                columns = columns.union(self._near(duals, settings.near, 1), steps)
            used = self._sweep(duals, columns, span)
            if self.gap <= tolerance:
                return None
            if self.gap > (1 - settings.gain) * before or span.decided >= steps:
                break
            before, stages = self.gap, (effort.again,)
            span = replace(span, decided=self._wider(span.decided))
        return columns if len(columns) <= settings.large_program else None

    def _wider(self, width: int) -> int:
        """Return the width of the next windows: twice this one, or as wide as bytes remain."""
        reach = self.intervals.reach(float(self.coefficients.capacity_bytes.mean()))
        return max(2 * width, min(reach, self.settings.widest))

    def _sweep(self, duals: Multipliers, columns: PathColumns, span: Span) -> PathColumns:
        """Decide windows at ``duals``; the events of their bytes."""
        dual = DualFunction(self.intervals, self.coefficients, duals)
        page_bytes, margin = self.page_bytes, self.settings.margin
        run = Sweep(dual, columns, page_bytes=page_bytes, margin=margin, tie=self.tie, span=span)
        found = run.run(self.request)
        self.request.work.seconds += _COLUMN_S * len(columns)
        self._offer_rounded(*consolidate(self.intervals, found.columns, found.size_bytes))
        self._note(len(columns))
        return found.columns

    def _first_duals(self, small: bool) -> tuple[Multipliers, PathColumns]:
        """Take subgradient steps; few from the duals of the request, as those of a neighbor."""
        settings, start = self.settings, self._give()
        few = self.params.first_steps if start is None else settings.warm
        count = few if small else settings.long_ascent
        return self._ascend(count, start)

    def _give(self) -> Multipliers | None:
        """Return the dual values of the request, if they are for such a problem."""
        given = self.request.duals
        return None if given is None else multipliers(given, self.coefficients)

    def _ascend(
        self,
        count: int,
        start: Multipliers | None,
        rates: Rates | None = None,
        samples: int | None = None,
    ) -> tuple[Multipliers, PathColumns]:
        return ascend(
            self.intervals,
            self.coefficients,
            count,
            self.settings.samples if samples is None else samples,
            self._is_stepped,
            start=start,
            rates=rates,
            tell=self._tell,
        )

    def _is_stepped(self) -> bool:
        """Count a subgradient step; whether it is late."""
        count_step(self.request, self.intervals.step.size)
        return self._late()

    def _tell(self, bound: float) -> None:
        """Tell of a better bound, now and then; its dual values are offered when the steps end.

        By counted work: who is told may stop this search, and that is to be at the same step.
        """
        now = self.request.work.seconds
        if bound > self.bound and now > self._told + _NEWS_S and not self.problem.several_mappings:
            self._told = now
            self.request.report_incumbent(bound=bound)

    def _alternate(self, columns: PathColumns, tolerance: float) -> PathColumns:
        """Solve and dual value in turn; the columns at the end."""
        settings, steps = self.settings, self.intervals.steps
        accuracy, stalled = settings.accuracy, 0
        for _ in range(settings.rounds):
            gap, bound, before = self.gap, self.bound, len(columns)
            built, answer = self.solve(columns, accuracy)
            self.take(built, answer)
            self._note(len(columns))
            if self.gap <= tolerance or self.request.remaining_s() <= 0:
                break
            # Steps are cheap beside programs of this size.
            if self.intervals.step.size > settings.small:
                columns = columns.union(self._polish(), steps)
                if self.gap <= tolerance:
                    break
            for duals in self._vantages(proved_more=self.bound > bound):
                columns = columns.union(self.price(duals), steps)
            new = len(columns) > 1.01 * before
            stalled = 0 if new or self.gap < 0.97 * gap else stalled + 1
            # Rounds that gain little are followed by others that gain no more.
            if stalled == settings.idle:
                break
            accuracy = max(accuracy * (1 if new else 0.1), _TIGHTEST)
        return columns

    def _vantages(self, *, proved_more: bool) -> list[Multipliers]:
        """Choose duals to find columns at: the best, the latest, between if these prove nothing.

        A program with few columns exaggerates its dual values; the way back from there to the best
        ones meets dual values at which the columns that it lacks show (Wentges, "Weighted
        Dantzig-Wolfe decomposition", International Transactions in Operational Research, 1997).
        """
        found = [duals for duals in (self.duals, self.latest) if duals is not None]
        if len(found) == 2 and not proved_more:
            best, latest = found
            found += [best.mix(latest, weight) for weight in _BETWEEN]
        return found

    def _polish(self) -> PathColumns:
        """Take some more subgradient steps: columns on their paths, and better dual values."""
        duals, columns = self._ascend(self.settings.polish, self.duals)
        self.offer_duals(duals)
        self._note(len(columns))
        return columns

    def _late(self) -> bool:
        return self.request.remaining_s() <= 0

    def cut_short(self, tolerance: float) -> bool:
        """Return whether it was time that ended a run, before the gap closed."""
        return self.gap > tolerance and self._late()

    def _note(self, columns: int) -> None:
        self.request.report(f"dual values, program of {columns:,} columns", None)
        self.log.append(columns)

    @property
    def certificate(self) -> Certificate | None:
        """The best dual values, as integers."""
        if self.duals is None:
            return None
        return certificate(self.problem, self.request.objective, self.coefficients, self.duals)
