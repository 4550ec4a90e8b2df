"""Column generation: a compact program, its prices, the bound they prove, and a plan.

Each round solves the program over the columns found so far by interior point without
crossover, evaluates the bound at its prices over *all* columns (the shortest paths see every
step of every gap), rounds the solution to a legal plan, and adds the columns whose best path
is nearly a best path.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np

from formulations.residency.bound.dual import Dual
from formulations.residency.bound.prices import (
    CostCoefficients,
    Multipliers,
    certificate,
    multipliers,
)
from formulations.residency.bound.ranked import RankedIntervals
from formulations.residency.pages.consolidate import consolidated
from formulations.residency.pages.profiles import profiles
from formulations.residency.pages.rounding import to_plan
from formulations.residency.program.columns import PathColumns, near_best_paths, needed
from formulations.residency.program.master import Master
from formulations.residency.settings import Rates, Settings, interior_point_method
from formulations.residency.subgradient import ascend
from formulations.residency.windows.sweep import Span, Sweep
from formulations.solver.highs import interior_point, solve_within
from formulations.solver.program import Floats, SolverResult
from spmopt.assemble.cost import plan_cost, plan_value
from spmopt.core.instance import Instance
from spmopt.core.result import Certificate
from spmopt.core.schedule import Plan
from spmopt.core.scheduler import Request
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Timeline, fitting_timeline, relaxed_timeline

_TIGHTEST = 1e-8
_BETWEEN = (0.1, 0.3, 0.6)
_NEWS_S = 0.1
_STEP_S, _ACCESS_S, _COLUMN_S = 7e-6, 7e-8, 5e-6
"""What a subgradient step takes, beside that for each access; and a column in windows of steps.
With the compiled kernel, within a tenth in four networks; without it steps take 15 times as long.
"""
_SMALL = 3_000
"""Accesses, of which more take a tenth each."""


class ColumnGeneration:
    """State of the column generation for one instance and objective.

    ``fluid`` is the relaxation: single bytes, transfers without set-up, and time in fractions of a
    cycle. ``absent`` finds the accesses (a,) of a timeline at which no byte may be resident: the
    bound is then one for such schedules only. ``log`` has the number of columns of each program.
    """

    def __init__(
        self,
        instance: Instance,
        request: Request,
        *,
        fluid: bool = False,
        absent: Callable[[Timeline], Bools] | None = None,
    ) -> None:
        self.instance = instance
        self.request = request
        self.fluid = fluid
        self.page_bytes = 1 if fluid else instance.machine.page_bytes
        self.settings = Settings()
        fitting = fitting_timeline(instance)
        # With several modes the bound must hold for all of them; plans take one.
        relaxed = relaxed_timeline(instance) if instance.several_modes else fitting
        self.line: Timeline = relaxed if self.fluid else fitting
        self.intervals = self._ranked(self.line, absent)
        self.coefficients = CostCoefficients(instance, self.line, request.objective)
        self._bounded = self.intervals, self.coefficients
        if relaxed is not self.line:
            coefficients = CostCoefficients(instance, relaxed, request.objective)
            self._bounded = self._ranked(relaxed, absent), coefficients
        pages = self.coefficients.capacity_bytes // self.page_bytes
        self.capacity_pages: Ints = pages.astype(np.int64)
        self.tie = 0.0
        self._padded = True
        self._program = -np.inf
        self.bound = -np.inf
        self.prices: Multipliers | None = None
        self.latest: Multipliers | None = None
        self.plan: Plan | None = None
        self.value: Fraction | None = None
        self.log: list[int] = []
        self._told = -np.inf

    def _ranked(
        self, line: Timeline, absent: Callable[[Timeline], Bools] | None
    ) -> RankedIntervals:
        nowhere = None if absent is None else absent(line)
        return RankedIntervals(line, nowhere, threads=self.request.threads)

    def offer_prices(self, prices: Multipliers) -> None:
        """Keep prices that prove more; try some between the best so far and these too."""
        before = self.prices
        self._try_prices(prices)
        if before is not None:
            for weight in (0.5, 0.1):
                self._try_prices(before.mixed(prices, weight))

    def _try_prices(self, prices: Multipliers) -> None:
        bound = Dual(*self._bounded, prices).value
        if bound > self.bound:
            self.bound, self.prices = bound, prices
            self.request.report_incumbent(bound=bound)

    def offer_plan(self, plan: Plan) -> None:
        """Keep a legal plan that costs less."""
        instance, objective, line = self.instance, self.request.objective, self.line
        if plan.steps is line.chosen:
            value = plan_cost(instance.machine, line, plan, fluid=self.fluid).value(objective, line)
        else:
            value = plan_value(instance, plan, objective, fluid=self.fluid)
        if self.value is None or value < self.value:
            self.plan, self.value = plan, value
            self.request.report_incumbent(value=None if self.fluid else value)

    @property
    def gap(self) -> float:
        """Relative distance between the best plan and the bound."""
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
            page_bytes=self.page_bytes if self._padded else 1,
            margin=self.settings.margin if self._padded else 0.0,
            tie=self.tie if self._padded else 0.0,
        )
        solver = interior_point_method(len(columns) > self.settings.small_program)
        options = interior_point(tolerance, solver)
        return built, solve_within(built.program, self.request, options=options)

    def take(self, built: Master, answer: SolverResult) -> None:
        """Offer prices and plan of a solved program."""
        if answer.row_dual is not None and answer.column_dual is not None:
            self.latest = built.multipliers(answer)
            self.offer_prices(self.latest)
        if answer.objective is not None:
            self._program = built.value(answer.objective)
        if answer.primal is not None:
            self._offer_rounded(*consolidated(self.intervals, built.columns, built.amounts(answer)))

    def _offer_rounded(self, columns: PathColumns, amounts: Floats) -> None:
        """Round the bytes of each column (c,) to a plan."""
        plan = to_plan(
            profiles(self.intervals, columns, amounts),
            self._dma_prices(),
            page_bytes=self.page_bytes,
            capacity_pages=self.capacity_pages,
        )
        if plan is not None:
            self.offer_plan(plan)

    def _offer_streaming(self) -> None:
        """Return a plan that needs no solver: nothing is resident but what is stationary."""
        columns = needed(self.intervals)
        self._offer_rounded(columns, self.intervals.size_bytes[columns.access].astype(np.float64))

    def _dma_prices(self) -> Floats:
        """Return (n,) the price of a DMA byte in each step."""
        prices = self.prices
        dma = np.zeros(self.intervals.steps) if prices is None else prices.load
        return dma + self.coefficients.in_byte

    def priced(self, prices: Multipliers) -> PathColumns:
        """Return the columns that are nearly on a best path at ``prices``."""
        return self._near(prices, self.settings.threshold, self.settings.depth)

    def _near(self, prices: Multipliers, threshold: float, depth: int) -> PathColumns:
        dual = Dual(self.intervals, self.coefficients, prices)
        return near_best_paths(dual, threshold * self.coefficients.dearest_byte, depth)

    def run(self, tolerance: float) -> None:
        """Alternate until the gap closes, nothing new is found, or time is up."""
        steps, settings = self.intervals.steps, self.settings
        self.tie = 0.0 if self.fluid else min(settings.tie, tolerance / 3)
        if self.plan is None:
            self._offer_streaming()
        if self.prices is not None and self.gap <= tolerance:
            return
        timed = self.request.objective.cycle > 0 or tolerance >= settings.loose
        large = settings.large_of_fluid if self.fluid else settings.large
        windows = steps > (large if timed else settings.large_of_bytes)
        columns = self._windows(tolerance) if windows else self._first_columns()
        if columns is None or self.request.remaining_s() <= 0:
            return
        columns = self._alternate(columns, tolerance)
        padding = self._program / self.bound - 1 if self.bound > 0 and settings.hopeful else 0.0
        if self.gap > tolerance < padding and not self.fluid and self.request.remaining_s() > 0:
            # Pages cost the program more than the bound may assume: now prices for bytes.
            self._padded = False
            self._alternate(columns, tolerance)

    def _first_columns(self) -> PathColumns | None:
        """Return columns on the paths of first prices; None where nothing can be decided."""
        steps, small = self.intervals.steps, self.intervals.step.size <= self.settings.small
        prices, columns = self._first_prices(small)
        self.offer_prices(prices)
        self._note(0)
        if not self.intervals.step.size:
            return None
        columns = columns.union(needed(self.intervals), steps)
        return columns.union(self.priced(prices), steps) if small else columns

    def _windows(self, tolerance: float) -> PathColumns | None:
        """Decide windows of steps, then wider ones from more columns; those for a program."""
        settings, steps = self.settings, self.intervals.steps
        prices, streamed = self._given(), needed(self.intervals)
        effort = max(
            (each for each in settings.efforts if each.gap <= tolerance), key=lambda each: each.gap
        )
        stages = effort.stages
        span = Span(decided=settings.width, overlap=effort.overlap, part=effort.part)
        before, used = np.inf, PathColumns.empty()
        for turn in range(settings.sweeps):
            for stage, (count, rates) in enumerate(stages, 1):
                samples = effort.samples if stage == len(stages) else 0
                prices, columns = self._ascend(count, prices, rates, samples)
                self.offer_prices(prices)
                if self.gap <= tolerance or self._late():
                    return None
            self._note(0)
            if prices is None or not len(columns):
                return None
            columns = columns.union(streamed, steps).union(used, steps)
            if turn > 0:
                columns = columns.union(self._near(prices, settings.near, 1), steps)
            used = self._swept(prices, columns, span)
            if self.gap <= tolerance:
                return None
            if self.gap > (1 - settings.gain) * before or span.decided >= steps:
                break
            before, stages = self.gap, (effort.again,)
            span = replace(span, decided=self._wider(span.decided))
        return columns if len(columns) <= settings.large_program else None

    def _wider(self, width: int) -> int:
        """Return the width of the next windows: twice this one, or as wide as bytes stay."""
        reach = self.intervals.reach(float(self.coefficients.capacity_bytes.mean()))
        return max(2 * width, min(reach, self.settings.widest))

    def _swept(self, prices: Multipliers, columns: PathColumns, span: Span) -> PathColumns:
        """Decide windows at ``prices``; what their bytes do."""
        dual = Dual(self.intervals, self.coefficients, prices)
        page_bytes, margin = self.page_bytes, self.settings.margin
        run = Sweep(dual, columns, page_bytes=page_bytes, margin=margin, tie=self.tie, span=span)
        found = run.run(self.request)
        self.request.work.seconds += _COLUMN_S * len(columns)
        self._offer_rounded(*consolidated(self.intervals, found.columns, found.size_bytes))
        self._note(len(columns))
        return found.columns

    def _first_prices(self, small: bool) -> tuple[Multipliers, PathColumns]:
        """Take subgradient steps; few from the prices of the request, as those of a neighbor."""
        settings, start = self.settings, self._given()
        few = settings.ascent if start is None else settings.warm
        count = few if small else settings.long_ascent
        return self._ascend(count, start)

    def _given(self) -> Multipliers | None:
        """Return the prices of the request, if they are for such an instance."""
        given = self.request.prices
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
            self._stepped,
            start=start,
            rates=rates,
            tell=self._tell,
        )

    def _stepped(self) -> bool:
        """Count a subgradient step; whether it is late."""
        count = self.intervals.step.size
        self.request.work.seconds += _STEP_S + _ACCESS_S * (min(count, _SMALL) + count / 10)
        return self._late()

    def _tell(self, bound: float) -> None:
        """Tell of a better bound, now and then; its prices are offered when the steps end.

        By what is counted: who is told may stop this search, and that is to be at the same step.
        """
        now = self.request.work.seconds
        if bound > self.bound and now > self._told + _NEWS_S and not self.instance.several_modes:
            self._told = now
            self.request.report_incumbent(bound=bound)

    def _alternate(self, columns: PathColumns, tolerance: float) -> PathColumns:
        """Solve and price in turn; the columns at the end."""
        settings, steps = self.settings, self.intervals.steps
        accuracy, stalled = settings.accuracy, 0
        for _ in range(settings.rounds):
            gap, bound, before = self.gap, self.bound, len(columns)
            built, answer = self.solve(columns, accuracy)
            self.take(built, answer)
            self._note(len(columns))
            if self.gap <= tolerance or self.request.remaining_s() <= 0:
                break
            if self.intervals.step.size > settings.small:
                columns = columns.union(self._polished(), steps)
                if self.gap <= tolerance:
                    break
            for prices in self._vantages(proved_more=self.bound > bound):
                columns = columns.union(self.priced(prices), steps)
            new = settings.hopeful and len(columns) > 1.01 * before
            stalled = 0 if new or self.gap < 0.97 * gap else stalled + 1
            if stalled == settings.idle:
                break
            accuracy = max(accuracy * (1 if new else 0.1), _TIGHTEST)
        return columns

    def _vantages(self, *, proved_more: bool) -> list[Multipliers]:
        """Choose prices to find columns at: the best, the latest, between if these prove nothing.

        A program with few columns exaggerates its prices; the way back from there to the best
        ones passes by prices at which the columns that it lacks show (Wentges, "Weighted
        Dantzig-Wolfe decomposition", International Transactions in Operational Research, 1997).
        """
        found = [prices for prices in (self.prices, self.latest) if prices is not None]
        if len(found) == 2 and not proved_more:
            best, latest = found
            found += [best.mixed(latest, weight) for weight in _BETWEEN]
        return found

    def _polished(self) -> PathColumns:
        """Take some more subgradient steps: columns on their paths, and better prices."""
        prices, columns = self._ascend(self.settings.polish, self.prices)
        self.offer_prices(prices)
        self._note(len(columns))
        return columns

    def _late(self) -> bool:
        return self.request.remaining_s() <= 0

    def cut_short(self, tolerance: float) -> bool:
        """Return whether it was time that ended a run, before the gap closed."""
        return self.gap > tolerance and self._late()

    def _note(self, columns: int) -> None:
        self.request.report(f"prices, program of {columns:,} columns", None)
        self.log.append(columns)

    @property
    def certificate(self) -> Certificate | None:
        """The best prices, as integers."""
        if self.prices is None:
            return None
        return certificate(self.instance, self.request.objective, self.coefficients, self.prices)
