"""Request to the joint model's process, and its answer; loads no solver."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import monotonic

from formulations.joint.facts import JointFacts, analyze, least_cycles
from formulations.solver import apart
from spmopt.core.errors import InfeasibleError
from spmopt.core.joint_size import MOST_USES, decide_together
from spmopt.core.mappings import fitting_mappings
from spmopt.core.params import DEFAULTS, JointParams
from spmopt.core.problem import Problem
from spmopt.core.result import MOVED_WHOLE, ClassBound, Result
from spmopt.core.schedule import ResidencyPlan, Schedule
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints

_WORKER = "formulations.joint.cpsat_worker:search"
_GRACE_S = 0.25  # for a solver that is late


@dataclass(frozen=True, slots=True, kw_only=True)
class JointSettings:
    """How to search.

    Attributes
    ----------
    order : (n,)
        The only order of operations allowed; None for all that keep the dependences.
    paged
        Count pages only, without addresses: a bound for paged schedules too. Placements found
        then mean nothing.
    threads
        With one the search takes the same course every time, with several any.
    tolerance
        Relative gap at which the search ends by itself.
    same
        Then settle on a schedule that does not depend on the course that the search took.
    without
        Names of families of constraints to leave out, and ``interchanges`` (symmetries) or
        ``relaxation``, for tests.
    params
        Parts of the time for parts of the search.
    """

    time_limit_s: float = 60.0
    threads: int = 2
    tolerance: float = 0.0
    same: bool = False
    order: Ints | None = None
    paged: bool = False
    without: tuple[str, ...] = ()
    params: JointParams = DEFAULTS.joint


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSchedule:
    """A schedule whose replay takes ``cycles``, or less."""

    schedule: Schedule
    cycles: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvedBound:
    """No schedule of the class replays in less than ``cycles``; ``infeasible``: there is none."""

    cycles: int
    infeasible: bool = False


def search(
    problem: Problem,
    settings: JointSettings,
    start: ResidencyPlan | None = None,
    stop: Callable[[], bool] = bool,
    note: Callable[[str], None] = lambda _: None,
) -> Iterator[FoundSchedule | ProvedBound]:
    """Better and better schedules and bounds, from the solver's own process.

    Just ends when the time is up or ``stop`` says so; what came before remains true. Starting the
    process and building the model are part of the time. Where the process dies, the search begins
    anew, and ``note`` is told.
    """
    due = monotonic() + settings.time_limit_s  # the clock is the same in all processes
    yield from apart.stream(
        _WORKER,
        problem,
        settings,
        start,
        due,
        time_limit_s=settings.time_limit_s + _GRACE_S,
        stop=stop,
        note=note,
    )


_TOO_LARGE = "more than {} uses of tensors: orders were searched, not all decisions at once"


def schedule(problem: Problem, request: Request) -> Result:
    """Search from the best residency plan of whole tensors; any time, with the bound proved so far.

    The best residency plan of all, ``request.start``, need not be of the class (it may hold parts
    of tensors), and may be better than all schedules of it; the caller compares replays.

    Raises
    ------
    InfeasibleError
        An operation's required-resident operands and scratch do not fit the SPM.
    """
    # Raises where an operation fits in no mapping: CP-SAT would only say infeasible.
    fitting_mappings(problem)
    if not decide_together(problem):  # before it is analyzed, which takes 26 s for 7,000 uses
        return Result(residency_plan=request.start, notes=(_TOO_LARGE.format(MOST_USES),))
    facts = analyze(problem)
    settings = JointSettings(
        time_limit_s=request.remaining_s(),
        threads=request.threads,
        tolerance=request.tolerance,
        same=True,
    )
    best: FoundSchedule | None = None
    cycle = request.objective.cycle  # the only weight that the objective may have
    least = least_cycles(facts)
    request.report("searching orders, times and addresses", None)
    # A bound that needs no search is told also where time ends before the solver's first answer.
    request.report_incumbent(bound=cycle * least, of_class=True)
    notes = list[str]()
    for answer in _surviving(
        search(problem, settings, _hint(facts, request), request.stop, notes.append), notes
    ):
        if isinstance(answer, FoundSchedule):
            # The last of equals: the settled one, which does not depend on threads.
            best = answer if best is None or answer.cycles <= best.cycles else best
        elif answer.infeasible:
            raise InfeasibleError("no schedule keeps required-resident operands in one range each")
        else:
            least = max(least, answer.cycles)
        request.report_incumbent(
            value=None if best is None else cycle * best.cycles, bound=cycle * least, of_class=True
        )
    bound = ClassBound(value=float(cycle * least), holds_for=MOVED_WHOLE, proved_by="CP-SAT")
    told = tuple(dict.fromkeys(notes))
    if best is None:
        return Result(residency_plan=request.start, class_bound=bound, notes=told)
    return Result(residency_plan=None, schedule=best.schedule, class_bound=bound, notes=told)


def _surviving(
    answers: Iterator[FoundSchedule | ProvedBound], notes: list[str]
) -> Iterator[FoundSchedule | ProvedBound]:
    """Yield answers from before the solver's process died for the last time."""
    try:
        yield from answers
    except apart.DiedError:
        notes.append(apart.DIED)


def _hint(facts: JointFacts, request: Request) -> ResidencyPlan | None:
    """The best plan that holds tensors as the model does; without one, the best of all."""
    residency_plans = [
        residency_plan
        for residency_plan in (request.start, *request.others)
        if residency_plan is not None
    ]
    return next(
        (residency_plan for residency_plan in residency_plans if _is_whole(facts, residency_plan)),
        request.start,
    )


def _is_whole(facts: JointFacts, residency_plan: ResidencyPlan) -> bool:
    rows = residency_plan.residency
    held = zip(rows.tensor.tolist(), rows.size_bytes.tolist(), strict=True)
    return all(size_bytes == facts.size(tensor) for tensor, size_bytes in held)
