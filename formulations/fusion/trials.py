"""Schedules of fusion plans, one after another.

The best is kept, and the bound that they are held to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from time import monotonic

import numpy as np

from formulations.fusion.known_mappings import KnownMappings
from formulations.fusion.rows import Shares
from formulations.fusion.work import FIRST_STEP_S, PAGE_SHARE, PLAN_S, STEP_S
from formulations.residency import page
from formulations.residency.plain.search import is_small
from spmopt.assemble.cost import residency_plan_value
from spmopt.core.errors import InfeasibleError, InputError
from spmopt.core.fusion.fused_groups import FusionPlan
from spmopt.core.fusion.parts import count_accesses
from spmopt.core.fusion.tileable_graph import TileableGraph, whole
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate, Result
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.scheduler import Incumbent, Request, Work
from spmopt.core.table import Ints
from spmopt.core.timeline import fitting_timeline

_ROUNDED = 1e-9
"""Relative error of a bound in floating point, and more."""
_ACCESSES = 8
"""Uses of parts of tensors that take as long as a step: operations have three or four operands."""


def steps_of(fusion_plan: FusionPlan) -> int:
    """Return the steps of a fusion plan's schedule."""
    return sum((each.end - each.begin) * each.count for each in fusion_plan)


def in_stripes(fusion_plan: FusionPlan) -> bool:
    """Return whether fused groups of a fusion plan are in stripes."""
    return any(each.stripes > 1 for each in fusion_plan)


def _fusion_of(fusion_plan: FusionPlan) -> FusionPlan:
    """Return the fused groups in tiles: other fused groups are untiled, whatever their boundaries.

    Of eight operations in no fusion tiles 128 fusion plans are one problem.
    """
    return tuple(each for each in fusion_plan if each.count > 1)


@dataclass(frozen=True)
class Found:
    """A fusion plan, its problem, its result to a gap, and a bound on finer ones."""

    fusion_plan: FusionPlan
    problem: Problem
    outcome: Result
    value: Fraction
    gap: float
    bound: float = -inf


class FusionPlanTrials:
    """Schedules fusion plans of a tileable graph.

    ``begun``: work counted when the time began.

    Attributes
    ----------
    best
        The best fusion plan so far, with its schedule.
    found, latest
        The best few, the best first; the latest.
    open
        Few others that may be better once they are scheduled finer, the lowest bound first.
    bound
        Known lower bound on every fusion plan.
    few
        All fusion plans may be tried: there are few.
    interrupted
        The time was too short for a fusion plan that may be better than the best.
    work
        Work counted, of all searches that share it.
    searched
        The graph in which fusion plans are searched: in first mappings where time is short.
        The best are scheduled in all mappings in the end.
    end
        Until when fusion plans are tried, by :attr:`clock`; behind that the best is scheduled
        finer.
    """

    def __init__(self, tileable: TileableGraph, request: Request, begun: float) -> None:
        self.tileable = self.searched = tileable
        self.request = request
        self.params = request.params.fusion
        self.found, self.open = list[Found](), list[Found]()
        self.latest: Found | None = None
        self.bound, self.few, self.interrupted = 0.0, False, False
        self.work, self.begun = request.work, begun
        self.end = request.time_limit_s * (1 - self.params.finish_fraction)
        # Before any is scheduled: LLaMA 3 in 265,394 steps took 11 of 10 s, and found nothing.
        self._tried, self._rate = set[FusionPlan](), PLAN_S
        self._known = KnownMappings()

    @property
    def best(self) -> Found | None:
        """The best fusion plan so far."""
        return self.found[0] if self.found else None

    @property
    def clock(self) -> float:
        """Seconds that were counted since the begin: they decide, so that the load does not."""
        return self.work.seconds - self.begun

    @property
    def late(self) -> bool:
        """Whether the search is told to stop, or late by the clock on the wall."""
        return self.request.stop() or monotonic() - self.request.started > self.end

    @property
    def gap(self) -> float:
        """Relative distance of the best schedule to the bound."""
        if self.best is None or self.bound <= 0:
            return np.inf
        return float(self.best.value) / self.bound - 1

    @property
    def _in_any(self) -> bool:
        """Whether fusion plans are searched in any mappings."""
        return self.searched is self.tileable

    def take(self, residency_plan: ResidencyPlan, duals: Certificate) -> None:
        """Take the layer-by-layer plan as it was scheduled before."""
        fusion_plan = whole(self.tileable)
        problem, origins = self.tileable.problem(fusion_plan)
        self._known.learn(problem, origins, residency_plan)
        value = residency_plan_value(problem, residency_plan, self.request.objective)
        outcome = Result(residency_plan=residency_plan, certificate=duals)
        self._tried.add(_fusion_of(fusion_plan))
        self.found = [Found(fusion_plan, problem, outcome, value, self.params.coarse_gap)]

    def fits(self, fusion_plan: FusionPlan) -> bool:
        """Return whether there is time to schedule a fusion plan, by the slowest so far."""
        return self._rate * self.size_of(fusion_plan) <= self.end - self.clock

    def size_of(self, fusion_plan: FusionPlan) -> float:
        """Return the steps of a fusion plan, or more where steps use many parts of tensors."""
        accesses = count_accesses(self.tileable, fusion_plan)
        return max(steps_of(fusion_plan), accesses / _ACCESSES)

    def attempt(
        self,
        fusion_plan: FusionPlan,
        gap: float | None = None,
        mappings: Mapping[int, Shares] | None = None,
    ) -> bool:
        """Schedule a fusion plan that was not yet, to a gap; keep it if better than the best.

        Return whether it was one to schedule.

        The gap is coarse where none is given. ``mappings``: by operation, of those to begin with.
        """
        request = self.request
        if not fusion_plan or _fusion_of(fusion_plan) in self._tried:
            return False
        left, steps = self.end - self.clock, self.size_of(fusion_plan)
        if self.best is not None and not self.fits(fusion_plan):
            self.interrupted = True
            return False
        gap = self.params.coarse_gap if gap is None else gap
        if STEP_S * steps > left / 2:
            gap = max(gap, self.params.rough_gap)
        self._tried.add(_fusion_of(fusion_plan))
        self.work.seconds += FIRST_STEP_S
        since = self.clock  # of steps alone, as others have more of them or fewer
        try:
            problem, origins = self.searched.problem(fusion_plan)
        except InputError:
            return False  # legal groups, which cut a tensor along two axes into parts of bytes
        first = self._known.first(problem, origins, mappings or {})
        self.work.seconds += PLAN_S * steps
        asked = replace(
            self._while_better(),
            tolerance=max(gap, request.tolerance),
            start=None,
            others=(),
        )
        rounded = self.schedule_all(problem, asked, left, first, refined=False)
        self._rate = max(self._rate, (self.clock - since) / steps)
        found = Result() if rounded is None else rounded.result
        if rounded is None or found.residency_plan is None:
            return True
        self._known.learn(problem, origins, found.residency_plan)
        value = residency_plan_value(problem, found.residency_plan, request.objective)
        if self.best is None or value < self.best.value:
            request.report_incumbent(value=value)
        self.latest = Found(fusion_plan, problem, found, value, gap, rounded.bound)
        self._keep(self.latest)
        return True

    def _keep(self, new: Found) -> None:
        known = [each for each in (*self.found, *self.open) if each.fusion_plan != new.fusion_plan]
        # Stable, so that of equal ones the first remains the best.
        ranked, most = sorted([*known, new], key=lambda each: each.value), self.params.finalists
        self.found, others = ranked[:most], ranked[most:]
        undecided = [each for each in others if self._is_undecided(each)]
        self.open = sorted(undecided, key=lambda each: each.bound)[:most]

    def finish(self) -> Found | None:
        """Schedule the best few plans to the tolerance asked for, in the time that is left.

        Rounded schedules rank plans that differ by little wrongly.
        """
        finalists = [*self.found, *self.open]
        for number, plan in enumerate(finalists):
            if self.gap <= self.request.tolerance or self.request.stop():
                break
            left = self.request.time_limit_s - self.clock
            if left <= 0 and not self._in_any:
                break
            each = self._in_all_mappings(plan)
            if self.best is not None and each.bound >= self.best.value:
                continue
            self._keep(self.finer(each, left / (len(finalists) - number)))
        if self.best is not None:
            self._keep(self._in_all_mappings(self.best))
        return self.best

    def _in_all_mappings(self, plan: Found) -> Found:
        """Return a fusion plan that was scheduled in first mappings as one in any."""
        if plan.problem.fused_from is self.tileable:
            return plan
        problem, _ = self.tileable.problem(plan.fusion_plan)
        return replace(plan, problem=problem, gap=inf, bound=-inf)

    def finer(self, plan: Found, seconds: float) -> Found:
        """Return a fusion plan with a schedule to the tolerance asked for."""
        request, began = self.request, self.clock
        coarse = self.params.coarse_gap
        rough = [coarse] if plan.gap > coarse > request.tolerance else []
        for tolerance in [*rough, request.tolerance]:
            if plan.gap <= tolerance:
                continue
            again = replace(
                self._while_better() if plan is not self.best else request.part(bounds=False),
                tolerance=tolerance,
                start=plan.outcome.residency_plan,
                duals=plan.outcome.certificate,
                others=(),
            )
            left = seconds - (self.clock - began)
            found = self.schedule_all(plan.problem, again, left, refined=True)
            finer = Result() if found is None else found.result
            if finer.residency_plan is not None:
                value = residency_plan_value(plan.problem, finer.residency_plan, request.objective)
                kept = finer.residency_plan if value <= plan.value else plan.outcome.residency_plan
                outcome = replace(finer, residency_plan=kept)
                plan = replace(plan, outcome=outcome, value=min(value, plan.value), gap=tolerance)
        return plan

    def schedule_all(
        self,
        problem: Problem,
        request: Request,
        seconds: float,
        first: Ints | None = None,
        *,
        refined: bool,
    ) -> page.Rounded | None:
        """Schedule a problem in about so many seconds; None if that cannot be.

        ``first`` (n,): mappings to begin with; ``refined``: by the plain model too, not only by a
        rounded optimum in bytes.
        """
        work = Work()
        phase = replace(request, work=work).phase(max(seconds / PAGE_SHARE, 0.0))
        try:
            rounded = page.round_columns(problem, phase, coarse=not refined, first=first)
            if refined:
                rounded = replace(rounded, result=page.refine(problem, phase, rounded))
            better = self.best is None or rounded.bound < self.best.value
            self.interrupted |= rounded.result.cut_short and better
            return rounded
        except InfeasibleError:
            return None
        finally:
            self.work.seconds += PAGE_SHARE * work.seconds

    def _is_undecided(self, plan: Found) -> bool:
        """Return whether a plan may be better than the best, though its rounded schedule is not.

        Where a scratchpad has few pages, rounding to whole ones loses more than plans differ by.
        """
        if self.best is None or plan.gap <= self.request.tolerance:
            return False
        small = is_small(fitting_timeline(plan.problem), self.request.params.residency)
        return plan.bound < self.best.value and (plan.problem.several_mappings or small)

    def _while_better(self) -> Request:
        """Return a request that ends when the bound of a fusion plan is above the best value.

        All fusion plans of a network of five operations take 2.2 CPU s; they took more than 10.
        """
        request, proved = self.request, -np.inf
        most = np.inf if self.best is None else float(self.best.value) * (1 + _ROUNDED)

        def tell(news: Incumbent) -> None:
            nonlocal proved
            if news.bound is not None and not news.of_class:
                proved = max(proved, float(news.bound))

        return replace(request, on_incumbent=tell, stop=lambda: proved > most or request.stop())
