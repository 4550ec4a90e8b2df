"""The one interface of every scheduler: a problem and a request in, an outcome out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import inf, isfinite
from time import monotonic
from typing import Protocol

from spmopt.core.objective import MAKESPAN, Objective
from spmopt.core.params import DEFAULTS, SolveParams
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate, Result
from spmopt.core.schedule import Residency, ResidencyPlan, Schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class Incumbent:
    """News of a search; fields that are None have not changed.

    Nothing follows from it for the result.

    Attributes
    ----------
    value
        Objective of the best schedule so far, in units of the objective.
    bound
        Lower bound on every legal schedule; ``of_class``: every one of the scheduler's class.
    of_fusion_plans
        The schedule is of some fusion plan of the tileable graph, and the bound of all.
    verified
        The verifier has found ``value``; else it is the claim of the search.
    certified
        ``bound`` was evaluated in exact integers; else it is the claim of the search.
    other_order
        The schedule runs the operations in another order than the problem's, so that bounds of
        that order say nothing about it.
    other_class
        The schedule is not of the class that bounds ``of_class`` hold for.
    scheduler
        Who was asked for the schedule; said by :mod:`spmopt.solving`.
    """

    value: Fraction | float | None = None
    bound: Fraction | float | None = None
    of_class: bool = False
    of_fusion_plans: bool = False
    verified: bool = False
    certified: bool = False
    other_order: bool = False
    other_class: bool = False
    scheduler: str = ""


OnIncumbent = Callable[[Incumbent], None]


def ignore_incumbent(news: Incumbent) -> None:
    """Nobody listens."""
    del news


def _never() -> bool:
    return False


def _silent(message: str, fraction: float | None) -> None:
    del message, fraction


@dataclass(slots=True)
class Work:
    """Work counted of a search: ``seconds`` that it takes on an idle machine, about.

    The same on every machine and at any load, so that a phase that ends by it always ends at the
    same point.
    """

    seconds: float = 0.0


_SLACK, _PHASE = 3.0, 0.8


@dataclass(frozen=True, kw_only=True)
class Request:
    """Options of one scheduler run.

    Attributes
    ----------
    objective
        Minimized quantity.
    tolerance
        Stop at this relative gap.
    time_limit_s
        Wall seconds after which to return the best found.
    start
        A legal residency plan to start from; an optimizer returns nothing worse.
    others
        More legal residency plans, worse ones, the best first.
    duals
        Dual values to search from, those of the same problem at another capacity for one; whatever
        they are, the result is legal and its bound true.
    threads
        Threads that a solver may use. Schedules do not depend on their number, where the search
        ends before its time limit.
    stop
        Asked often; once true, return the best found so far (interrupt).
    report
        Told of progress: a message and, where known, the fraction done.
    on_incumbent
        Told of better schedules and bounds as they are found.
    params
        Parameters of all algorithms.
    work
        Work counted so far, of all phases.
    due, work_end
        End of the phase that this is for: a time of the monotonic clock, and of ``work``.
    pace
        Wall seconds that a second of work takes, about: more than 1 on a busy machine.
    first
        Makes the layer-by-layer schedule from which a search of fusion plans starts, when the
        search has begun all that runs beside it; in first mappings alone, if so asked.
    first_mappings
        Whether the first mapping of each operation that fits is the only one: time is short.
    """

    objective: Objective = MAKESPAN
    tolerance: float = 1e-4
    time_limit_s: float = 60.0
    start: ResidencyPlan | None = None
    others: tuple[ResidencyPlan, ...] = ()
    duals: Certificate | None = None
    threads: int = 2
    stop: Callable[[], bool] = _never
    report: Callable[[str, float | None], None] = _silent
    on_incumbent: OnIncumbent = ignore_incumbent
    params: SolveParams = DEFAULTS
    started: float = field(default_factory=monotonic)
    work: Work = field(default_factory=Work, compare=False)
    due: float = inf
    work_end: float = inf
    pace: float = 1.0
    first: Callable[[bool], Result] | None = None
    first_mappings: bool = False

    def remaining_s(self) -> float:
        """Return the seconds left of the time limit; 0 once stopped, and at the end of a phase."""
        if self.stop() or self.work.seconds >= self.work_end:
            return 0.0
        # A phase ends by counted work; its clock is only a safety net.
        slack = 1.0 if self.due == inf else _SLACK
        return max(0.0, min(self.due, self.started + slack * self.time_limit_s) - monotonic())

    def has_time_for(self, seconds: float) -> bool:
        """Return whether so many seconds of work fit in the time left, at the machine's pace."""
        return self.pace * seconds <= self.remaining_s()

    def is_over(self) -> bool:
        """Return whether no time is left."""
        return self.remaining_s() <= 0

    def phase(self, seconds: float, slack: float = _SLACK) -> Request:
        """The request for a phase of the search, of so many counted seconds.

        The clock ends it only where the machine takes ``slack`` times as long, or at most of the
        time left: otherwise its result does not depend on the load.
        """
        now = monotonic()
        return replace(
            self,
            started=now,
            time_limit_s=seconds,
            due=now + min(slack * seconds, _PHASE * self.remaining_s()),
            work_end=min(self.work_end, self.work.seconds + seconds),
        )

    def share(self, part: float) -> Request:
        """The request for a phase of a part of the time limit."""
        return self.phase(part * self.time_limit_s)

    def anew(self) -> Request:
        """The same request, from now on."""
        return replace(self, started=monotonic())

    def report_incumbent(
        self,
        *,
        value: Fraction | float | None = None,
        bound: Fraction | float | None = None,
        of_class: bool = False,
    ) -> None:
        """Tell of a better schedule or bound, as the search has it; infinite values are none."""
        value = None if value is None or not isfinite(value) else value
        bound = None if bound is None or not isfinite(bound) else bound
        self.on_incumbent(Incumbent(value=value, bound=bound, of_class=of_class))

    def part(self, *, bounds: bool) -> Request:
        """The request for a search whose schedules are no answers; its ``bounds`` may be some."""
        if not bounds:
            return replace(self, on_incumbent=ignore_incumbent)
        # Its schedules are of another problem; bounds may still hold for this one.
        return replace(self, on_incumbent=lambda news: self.on_incumbent(replace(news, value=None)))

    def apart(self) -> Request:
        """The request for a process of its own with one thread, which nobody hears of or stops."""
        return replace(
            self, threads=1, stop=_never, report=_silent, on_incumbent=ignore_incumbent, first=None
        )

    def of_class(self) -> Request:
        """The request for a search whose bounds are those of the scheduler's class."""

        def tell(news: Incumbent) -> None:
            self.on_incumbent(replace(news, value=None, of_class=True))

        return replace(self, on_incumbent=tell)


class Scheduler(Protocol):
    """A callable that schedules a problem."""

    def __call__(self, problem: Problem, request: Request) -> Result:
        """Schedule ``problem`` as ``request`` asks."""
        ...


Decision = Result | ResidencyPlan | Schedule | Residency | Iterable[tuple[int | str, int, int]]
"""Return values that a policy may have.

The least is an iterable of (tensor, first step, end): the whole tensor, by index or name, is in
the scratchpad in the steps [first step, end) of the problem's own order. All else streams.
Required-resident operands come to it where they must, each operation runs in its first mapping that
fits, bytes that DRAM lacks are stored when they leave, and transfers are moved to steps whose DMA
time is idle where that is faster. A ``Residency`` says the same by bytes, so that heads of tensors
may stay. A ``ResidencyPlan`` says order, mappings and stores itself, a ``Schedule`` every command
and address; a ``Result`` adds notes and a certificate. Whatever it is, the verifier checks it.
"""
Policy = Callable[[Problem], Decision] | Callable[[Problem, Request], Decision]
"""A callable that decides how a problem is scheduled, with the request where it asks for it."""
