"""Schedules of covers, one after another: the best is kept, and the bound that they are held to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from time import monotonic

import numpy as np

from formulations.residency import page
from spmopt.assemble.cost import plan_value
from spmopt.core.errors import InfeasibleError
from spmopt.core.instance import Instance
from spmopt.core.pieces.listing import Listing, whole
from spmopt.core.pieces.segments import Cover
from spmopt.core.result import Certificate, Outcome
from spmopt.core.schedule import Plan
from spmopt.core.scheduler import Incumbent, Request, Work

COARSE, ROUGH = 0.005, 0.02
"""Gaps at which a cover's schedule tells how good the cover is: what is left changes little; and
where there is not the time for that."""
STEP_S = 5e-4
"""Seconds that a step takes to schedule, to the gap that tells how good a cover is: where that is
much of what is left, a rougher schedule of all steps is better than one that is cut short."""
_PLAN_S = 1e-4
"""Seconds that a step of a cover takes beside its schedule."""
_PAGE_SHARE = 0.8
"""Of what the schedule of a cover counts, what it takes: 0.66 to 1.1 in four networks."""
_FINISH_SHARE = 0.15
"""Of the time: the schedule of the best cover, to the tolerance asked for."""
_ROUNDED = 1e-9
"""Relative error of a bound in floating point, and more."""


def steps_of(cover: Cover) -> int:
    """Return the steps of a cover's schedule."""
    return sum((each.end - each.begin) * each.count for each in cover)


def _pieces_of(cover: Cover) -> Cover:
    """Return the segments in pieces: what else there is, is whole, whatever its borders.

    Of eight operations in no pieces 128 covers are one instance.
    """
    return tuple(each for each in cover if each.count > 1)


@dataclass(frozen=True)
class Found:
    """A cover, its instance, and what was found for it."""

    cover: Cover
    instance: Instance
    outcome: Outcome
    value: Fraction
    gap: float = COARSE


class CoverTrials:
    """Schedules covers of a listing.

    ``begun``: what was counted when the time began.

    Attributes
    ----------
    best
        The best cover so far, with its schedule.
    bound
        What every cover costs at least, as far as is known.
    few
        Covers are scheduled to the tolerance asked for: there are few.
    work
        What was counted, of all searches that share it.
    end
        Until when covers are tried, by :attr:`clock`; behind that the best is scheduled finer.
    """

    def __init__(self, listing: Listing, request: Request, begun: float) -> None:
        self.listing, self.request = listing, request
        self.best: Found | None = None
        self.bound, self.few = 0.0, False
        self.work, self.begun = request.work, begun
        self.end = request.time_limit_s * (1 - _FINISH_SHARE)
        # Before any is scheduled: LLaMA 3 in 265,394 steps took 11 of 10 s, and found nothing.
        self._tried, self._rate = set[Cover](), _PLAN_S

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

    def take(self, plan: Plan, prices: Certificate) -> None:
        """Take the list as given as it was scheduled before."""
        cover = whole(self.listing)
        instance, _ = self.listing.instance(cover)
        value = plan_value(instance, plan, self.request.objective)
        outcome = Outcome(plan=plan, certificate=prices)
        self._tried.add(_pieces_of(cover))
        self.best = Found(cover, instance, outcome, value)

    def fits(self, cover: Cover) -> bool:
        """Return whether there is time to schedule a cover, by the slowest so far."""
        return self._rate * steps_of(cover) <= self.end - self.clock

    def attempt(
        self, cover: Cover, start: bool = False, share: float = 1.0, gap: float = COARSE
    ) -> None:
        """Schedule a cover that was not yet, to a gap; keep what is better than the best."""
        request = self.request
        if not cover or _pieces_of(cover) in self._tried:
            return
        left, steps = self.end - self.clock, steps_of(cover)
        if self.best is not None and not self.fits(cover):
            return
        if STEP_S * steps > left / 2:
            gap = max(gap, ROUGH)
        self._tried.add(_pieces_of(cover))
        since = self.clock
        instance, _ = self.listing.instance(cover)
        self.work.seconds += _PLAN_S * steps
        asked = replace(
            self._while_better(),
            tolerance=max(0.0 if self.few else gap, request.tolerance),
            start=request.start if start else None,
            others=(),
        )
        found = self.scheduled(instance, asked, share * left)
        self._rate = max(self._rate, (self.clock - since) / steps)
        if found is None or found.plan is None:
            return
        value = plan_value(instance, found.plan, request.objective)
        if self.best is None or value < self.best.value:
            self.best = Found(cover, instance, found, value, gap)
            request.report_incumbent(value=value)

    def finer(self, best: Found) -> Outcome:
        """Return the best cover's schedule to the tolerance asked for, in the time that is left."""
        request, outcome, value = self.request, best.outcome, best.value
        rough = [COARSE] if best.gap > COARSE > request.tolerance else []
        for tolerance in [*rough, request.tolerance]:
            if self.gap <= request.tolerance or best.gap <= tolerance:
                break
            again = replace(
                request.part(bounds=False),
                tolerance=tolerance,
                start=outcome.plan,
                prices=outcome.certificate,
                others=(),
            )
            left = request.time_limit_s - self.clock
            finer = self.scheduled(best.instance, again, left)
            if finer is not None and finer.plan is not None:
                found = plan_value(best.instance, finer.plan, request.objective)
                plan = finer.plan if found <= value else outcome.plan
                outcome, value = replace(finer, plan=plan), min(value, found)
        return outcome

    def scheduled(self, instance: Instance, request: Request, seconds: float) -> Outcome | None:
        """Schedule an instance in about so many seconds; None if that cannot be."""
        work = Work()
        try:
            return page.schedule(
                instance, replace(request, work=work).phase(max(seconds / _PAGE_SHARE, 0.0))
            )
        except InfeasibleError:
            return None
        finally:
            self.work.seconds += _PAGE_SHARE * work.seconds

    def _while_better(self) -> Request:
        """Return a request to schedule a cover until its bound is above the best schedule's value.

        All covers of a network of five operations take 2.2 CPU s; they took more than 10.
        """
        request, proved = self.request, -np.inf
        most = np.inf if self.best is None else float(self.best.value) * (1 + _ROUNDED)

        def tell(news: Incumbent) -> None:
            nonlocal proved
            if news.bound is not None and not news.of_class:
                proved = max(proved, float(news.bound))

        return replace(request, on_incumbent=tell, stop=lambda: proved > most or request.stop())
