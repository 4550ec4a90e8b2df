"""The tasks of a sweep, each for a process of its own: arguments and answers are plain records."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from importlib import import_module
from time import monotonic
from typing import Protocol, cast

from spmopt.core.errors import ScheduleError
from spmopt.core.objective import objective_named
from spmopt.core.problem import Problem
from spmopt.core.result import UNFINISHED, Certificate, Status, Totals
from spmopt.core.scheduler import Request
from spmopt.schedulers.registry import Kind, SchedulerEntry, find
from spmopt.solving import solve
from spmopt.solving.solver import run_alone
from spmopt.sweeps.cases import Order, Section, SweepCase, order_of, sections
from spmopt.sweeps.curve import Between, EnclosedOptimum
from spmopt.verifier import bound

_SHARE = 5
"""A solve of a curve takes at most this part of the tolerance, chords and cuts the rest."""
_OWN = "own dual values"
_FUSION_PLAN, _OVER_FUSION_PLANS = "fusion_plan", "dual values of fused groups"
_ENCLOSE = "formulations.residency.fluid", "enclosed"


class _Enclose(Protocol):
    def __call__(
        self, problem: Problem, request: Request
    ) -> tuple[Certificate | None, Fraction | None]: ...


@dataclass(frozen=True, kw_only=True)
class SolveOptions:
    """What is minimized, and how far; seconds are for each scheduler at each point.

    ``given`` are schedulers that other processes do not know by name.
    """

    objective: str = "time"
    tolerance: float = 1e-3
    time_limit_s: float = 60.0
    given: tuple[SchedulerEntry, ...] = field(default=(), compare=False)

    def scheduler(self, name: str) -> SchedulerEntry:
        """Return a scheduler by name."""
        return next((each for each in self.given if each.name == name), None) or find(name)

    def request(self, problem: Problem) -> Request:
        """As each process asks it of a scheduler: one thread."""
        return Request(
            objective=objective_named(self.objective, problem.machine),
            tolerance=self.tolerance,
            time_limit_s=self.time_limit_s,
            threads=1,
        )


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One scheduler at one point; what it does not have is None.

    ``value`` and ``bound`` are in the unit of the objective; where each is from is said in
    words. A relaxation's ``value`` is that of a solution of it, not of a schedule.
    """

    scheduler: str
    status: Status
    totals: Totals | None = None
    value: Fraction | None = None
    bound: Fraction | None = None
    order: Order = None
    order_name: str = ""
    value_from: str = ""
    bound_from: str = ""
    verified: bool = False
    solve_s: float | None = None
    note: str = ""


def prepare(case: SweepCase) -> tuple[tuple[Section, ...], tuple[str, ...]]:
    """Sections of a case, and warnings."""
    warnings: list[str] = []
    found = sections(case, warnings.append)
    return found, tuple(dict.fromkeys(warnings))


def orders(
    section: Section, schedulers: tuple[str, ...], search: SolveOptions
) -> tuple[Order, ...]:
    """Orders for which bounds are needed: those that the policies take, the relaxation's own.

    Of the replay there are none yet: cuts and lines are of dual values of steps.
    """
    feasible = [size for size in section.capacities if size not in section.infeasible]
    if feasible and search.request(section.problem(feasible[0])).objective.replayed:
        return ()
    found: dict[Order, None] = {}
    for name in schedulers if feasible else ():
        entry = search.scheduler(name)
        if entry.kind is Kind.RELAXATION:
            found[None] = None
        elif entry.kind is Kind.POLICY:
            problem = section.problem(feasible[0])
            found.update(dict.fromkeys(_orders_taken(entry, problem, search)))
    return tuple(found)


def _orders_taken(
    entry: SchedulerEntry, problem: Problem, search: SolveOptions
) -> tuple[Order, ...]:
    """Return the order of a policy's plan; none where it has no residency plan, or is at fault."""
    try:
        residency_plan = entry.load()(problem, search.request(problem)).residency_plan
        return () if residency_plan is None else (order_of(residency_plan.steps.operation),)
    except Exception:  # of a policy of a package or a user, whose rows will say so
        if entry.is_own:
            raise
        return ()


def enclose(
    section: Section,
    order: Order,
    spm_bytes: int,
    search: SolveOptions,
    near: Certificate | None = None,
) -> EnclosedOptimum:
    """Solve the relaxation at one capacity, its bound evaluated by the verifier.

    ``near`` are dual values of a neighbor to search from.
    """
    problem = section.problem(spm_bytes, order)
    tolerance = search.tolerance / _SHARE
    request = replace(search.request(problem), tolerance=tolerance, duals=near)
    module, name = _ENCLOSE
    solver = cast("_Enclose", getattr(import_module(module), name))
    # Of the relaxation without set-ups: schedules are held against the bound with them.
    problem = _without_setups(problem)
    certificate, upper = solver(problem, request)
    return EnclosedOptimum(
        capacity_bytes=section.usable_bytes(spm_bytes),
        lower=None if certificate is None else bound(problem, certificate),
        certificate=certificate,
        upper=upper,
        seconds=monotonic() - request.started,
    )


def _without_setups(problem: Problem) -> Problem:
    """Return the problem with commands that need no set-up: of these cuts and lines are."""
    if not problem.machine.dma_setup_cycles:
        return problem
    return replace(problem, machine=replace(problem.machine, dma_setup_cycles=0))


def point(
    section: Section,
    spm_bytes: int,
    schedulers: tuple[str, ...],
    known: dict[Order, Between],
    search: SolveOptions,
) -> list[Finding]:
    """Run schedulers at one capacity; hold each against the bound of its own order.

    Raises
    ------
    ScheduleError
        An illegal schedule, or a bound that is not what a cut promised, or above a schedule.
    """
    at = _Point(section, spm_bytes, known, search)
    return [at.run(name) for name in schedulers]


class _Point:
    """One problem, and the bounds known for it."""

    def __init__(
        self, section: Section, spm_bytes: int, known: dict[Order, Between], search: SolveOptions
    ) -> None:
        self._section, self._spm_bytes, self._search = section, spm_bytes, search
        self._problem = section.problem(spm_bytes)
        self._known = known
        self._bounds: dict[Order, Fraction | None] = {}

    def run(self, name: str) -> Finding:
        """Run one scheduler."""
        kind = self._search.scheduler(name).kind
        if kind is Kind.RELAXATION:
            return self._relaxation(name)
        if self._search.scheduler(name).fusion_plans:
            return self._fusion_plan(name)
        found = self._optimize(name) if kind is Kind.FORMULATION else self._policy(name)
        value = found.value
        if value is None:
            return found
        found = replace(found, order_name=self._section.order_name(found.order))
        best, proof = self._bound(found.order), self._bound_from(found.order)
        notes = [note for note in found.note.split("; ") if note not in UNFINISHED]
        notes.append(self._find_unfinished(found.order))
        if best is None or (found.bound is not None and found.bound >= best):
            best, proof, notes = found.bound, _OWN, [found.note]
        if best is None:
            return found
        if best > value:
            raise ScheduleError(
                f"{name} at {self._spm_bytes} bytes: the bound {float(best):.9g} is above the "
                f"schedule, {float(value):.9g}: one of them is wrong"
            )
        found = replace(found, bound=best, bound_from=proof)
        if value <= best * (1 + Fraction(self._search.tolerance)):
            return replace(found, status=Status.OPTIMAL)
        return replace(found, status=Status.FEASIBLE, note="; ".join(filter(None, notes)))

    def _find_unfinished(self, order: Order) -> str:
        """A note where the bound may be lower than the tolerance asked for makes it."""
        between = self._known.get(order)
        gap = None if between is None else between.gap
        if gap is None:
            return "its bound is from a relaxation that was not solved in time"
        if gap <= Fraction(self._search.tolerance):
            return ""
        return f"its bound is from a relaxation enclosed to within {float(100 * gap):.3g} % only"

    def _relaxation(self, name: str) -> Finding:
        if self._spm_bytes in self._section.infeasible:
            return Finding(scheduler=name, status=Status.INFEASIBLE)
        between = self._known.get(None)
        if between is None:
            return Finding(scheduler=name, status=Status.UNKNOWN)
        own, seconds = self._section.usable_bytes(self._spm_bytes), None
        if between.cut is not None and between.cut.capacity_bytes == own:
            seconds = between.cut.seconds
        chord = "-".join(map(str, between.chord))
        plain = not self._problem.machine.dma_setup_cycles
        return Finding(
            scheduler=name,
            status=Status.UNKNOWN,
            value=between.upper,
            # Of the same relaxation: with set-ups its dual values may prove more than that takes.
            bound=self._bound(None) if plain else between.lower,
            order_name=self._section.order_name(None),
            value_from="own solution" if between.chord == (own,) else f"solutions at {chord}",
            bound_from=self._bound_from(None),
            solve_s=seconds,
            note="" if plain else "of commands without set-up",
        )

    def _optimize(self, name: str) -> Finding:
        listed = self._known.get(None)
        near = None if listed is None or listed.cut is None else listed.cut.certificate
        request = replace(self._search.request(self._problem), duals=near)
        result = solve(self._problem, self._search.scheduler(name), request)
        return Finding(
            scheduler=name,
            status=result.status,
            totals=result.totals,
            value=result.value,
            bound=result.fusion_bound if result.fusion is not None else result.bound,
            verified=result.verified,
            solve_s=result.solve_s,
            note="; ".join(result.notes),
        )

    def _fusion_plan(self, name: str) -> Finding:
        """Choose a fusion plan: its bound is over the fusion space.

        And those of an order are none for it.
        """
        found = self._optimize(name)
        if found.bound is None:
            return found
        return replace(found, order_name=_FUSION_PLAN, bound_from=_OVER_FUSION_PLANS)

    def _policy(self, name: str) -> Finding:
        request = self._search.request(self._problem)
        try:
            entry = self._search.scheduler(name)
            found = run_alone(self._problem, entry, request)
        except ScheduleError as error:
            raise ScheduleError(f"at {self._spm_bytes} bytes: {error}") from None
        note = "; ".join(found.notes)
        if found.failure is not None:
            return Finding(scheduler=name, status=Status.FAILED, note=note)
        if found.outcome is None:
            return Finding(scheduler=name, status=Status.INFEASIBLE, note=note)
        if found.legal is None:
            return Finding(scheduler=name, status=Status.UNKNOWN, solve_s=found.solve_s)
        return Finding(
            scheduler=name,
            status=Status.FEASIBLE,
            totals=found.legal.totals,
            value=found.legal.value,
            order=order_of(found.legal.schedule.steps.operation),
            verified=True,
            solve_s=found.solve_s,
            note=note,
        )

    def _bound(self, order: Order) -> Fraction | None:
        """Evaluate the best cut of an order here; solve the relaxation where there is none."""
        if order not in self._bounds:
            self._bounds[order] = self._evaluate(order)
        return self._bounds[order]

    def _bound_from(self, order: Order) -> str:
        between, own = self._known.get(order), self._section.usable_bytes(self._spm_bytes)
        if between is None or between.cut is None or between.cut.capacity_bytes == own:
            return _OWN
        return f"dual values at {between.cut.capacity_bytes}"

    def _evaluate(self, order: Order) -> Fraction | None:
        between = self._known.get(order)
        if self._search.request(self._problem).objective.replayed:
            return None  # cuts and lines are of dual values of steps
        if between is None:
            solved = enclose(self._section, order, self._spm_bytes, self._search)
            lower, upper = solved.lower, solved.upper
            here = Between(lower=lower, upper=upper, cut=solved, chord=(solved.capacity_bytes,))
            self._known = {**self._known, order: here}
            between = here
        if between.cut is None or between.cut.certificate is None:
            return None
        problem = self._section.problem(self._spm_bytes, order)
        plain, certificate = _without_setups(problem), between.cut.certificate
        proved = bound(plain, certificate)
        if proved != between.lower:
            raise ScheduleError(
                f"at {self._spm_bytes} bytes the dual values of {between.cut.capacity_bytes} prove "
                "another bound than their cut: the problems differ in more than the capacity"
            )
        return proved if plain is problem else bound(problem, certificate)
