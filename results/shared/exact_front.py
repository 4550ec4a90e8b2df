"""The exact Pareto front of time and cost over a finite set of machines, pruned by proof.

A machine's *time* is the least makespan of any legal schedule in the listed order; a solve encloses
it between the time of a verified schedule and a certified bound. One machine *dominates* another
if it costs no more, is no slower, and is better in one of the two. The front is all machines that
none dominates, so that equal ones are on it together.

A machine is **excluded** without a solve when its bound, from the cuts of the machines solved, is
at least the time of a verified schedule of a machine that costs less (or above that of one that
costs the same). What dominates is solved itself, so nothing on the front is ever excluded. A solved
machine is **on the front** when every cheaper one is proved slower, **dominated** by the same
rule as above, and **undecided** where the two enclosures overlap: such pairs are solved again more
closely, and said to be undecided if that does not part them.

The next to solve is the machine that would dominate most if it took no longer than its bound: it
is on the front if the bound is good, and its dual values make the bounds about it better if not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from time import monotonic
from typing import Protocol

from results.shared.front_bounds import BoundedMachine, Bounds, MachineOption
from spmopt.core.errors import InputError, ScheduleError
from spmopt.core.mappings import unfit
from spmopt.core.objective import MAKESPAN
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate
from spmopt.core.scheduler import Request
from spmopt.search.cuts import Cut
from spmopt.solving import solve

_CLOSER = 0.1
"""Of the tolerance, for a pair that is undecided."""


def find_front(
    options: Sequence[MachineOption], solver: MachineSolver, *, request: Request, closer: int = 2
) -> ExactFront:
    """Find the front of ``options``.

    Parameters
    ----------
    solver
        As :func:`by_page`.
    request
        Its tolerance, for the first solve of a machine; ``stop`` ends the search.
    closer
        How often an undecided pair may be solved again, to a tenth of the gap each time.

    Raises
    ------
    InputError
        No options, or one that costs nothing.
    ScheduleError
        A bound above a verified schedule: one of them is wrong.
    """
    if not options:
        raise InputError("front: no machine to choose from; give at least one")
    if not all(0 < option.cost < float("inf") for option in options):
        raise InputError("front: every machine must cost more than 0; add the rest out")
    search = _FrontSearch(options, solver, request)
    search.run()
    for _ in range(closer):
        if not search.closer():
            break
    return search.front()


def by_page(request: Request) -> MachineSolver:
    """Solve by the scheduler ``page``, as ``request`` says: verified, with its bound."""

    def solver(
        problem: Problem, tolerance: float, near: Certificate | None
    ) -> MachineSolution | None:
        asked = replace(request, objective=MAKESPAN, tolerance=tolerance, duals=near)
        result = solve(problem, "residency", asked)
        if result.value is None or result.bound is None:
            return None
        return MachineSolution(
            cycles=int(result.value), bound=result.bound, certificate=result.certificate
        )

    return solver


class _FrontSearch:
    """State of a search."""

    def __init__(
        self, options: Sequence[MachineOption], solver: MachineSolver, request: Request
    ) -> None:
        self._options, self._solver, self._request = options, solver, request
        self._bounds = Bounds(options)
        self._solved: dict[int, SolvedMachine] = {}
        self._excluded: dict[int, ExcludedMachine] = {}
        self._infeasible = _infeasible(options)
        self._left = set(range(len(options))) - set(self._infeasible)
        self._given_up: set[int] = set()
        self._tolerance: dict[int, float] = {}
        self._solves, self._solve_s = 0, 0.0

    def run(self) -> None:
        """Solve until every machine is solved or excluded."""
        while self._left and not self._request.stop():
            index = self._bounds.choose(sorted(self._left))
            if self._bounds.borrow(index):
                self._exclude()
                continue
            self._solve(index, self._request.tolerance)
            self._exclude()
            share = 1 - len(self._left) / len(self._options)
            self._request.report(f"{self._solves} solves, {len(self._left)} machines left", share)

    def closer(self) -> bool:
        """Solve undecided machines and their rivals again; False when there are none."""
        again: set[int] = set()
        for index in self._find_undecided():
            again.update((index, *self._rivals(index)))
        for index in sorted(again & set(self._solved)):
            if not self._request.stop():
                self._solve(index, self._tolerance[index] * _CLOSER)
        return bool(again)

    def front(self) -> ExactFront:
        """Return what is known now."""
        undecided = self._find_undecided()
        decided = set(self._solved) - set(undecided)
        members = [index for index in decided if self._dominator(index) is None]
        return ExactFront(
            options=self._options,
            members=tuple(sorted(members, key=self._place)),
            undecided=tuple(undecided),
            solved=self._solved,
            excluded=self._excluded,
            infeasible=self._infeasible,
            open={k: self._bounds.exact(k) for k in sorted(self._left | self._given_up)},
            solves=self._solves,
            borrowed=self._bounds.borrowed,
            solve_s=self._solve_s,
        )

    def _place(self, index: int) -> tuple[float, int]:
        return self._options[index].cost, index

    def _solve(self, index: int, tolerance: float) -> None:
        option = self._options[index]
        before, problem = self._solved.get(index), option.problem
        near = self._bounds.near(index)
        if before is not None and before.solution.certificate is not None:
            near = before.solution.certificate
        began = monotonic()
        found = self._solver(problem, tolerance, near)
        self._solve_s += monotonic() - began
        self._solves += 1
        self._tolerance[index] = tolerance
        self._left.discard(index)
        if found is None:
            if before is None:
                self._given_up.add(index)
            return
        if found.certificate is not None:
            self._bounds.add(index, Cut.of(problem, found.certificate, found.bound))
        time = Fraction(found.cycles, option.machine.clock_hz)
        bounded = self._bounds.exact(index)
        if before is not None:
            time = min(time, before.time)
            bounded = max(bounded, before, key=lambda each: each.least)
        if bounded.least > time:
            raise ScheduleError("front: a bound is above a verified schedule, one of them is wrong")
        self._solved[index] = SolvedMachine(
            time=time, least=bounded.least, cut=bounded.cut, solution=found
        )
        self._bounds.settle(index, time)

    def _exclude(self) -> None:
        """Take away what is proved to be dominated, each proof in exact arithmetic."""
        for index, by in self._bounds.dominate(sorted(self._left)):
            bounded = self._bounds.exact(index)
            if self._beaten(index, bounded.least, by):
                self._excluded[index] = ExcludedMachine(by=by, least=bounded.least, cut=bounded.cut)
                self._left.discard(index)

    def _beaten(self, index: int, least: Fraction, by: int) -> bool:
        """Return whether ``by`` dominates a machine that takes at least ``least``."""
        cost, other, time = self._options[index].cost, self._options[by].cost, self._solved[by].time
        return (other < cost and time <= least) or (other == cost and time < least)

    def _dominator(self, index: int) -> int | None:
        """Find a machine that is proved to dominate a solved one."""
        least = self._solved[index].least
        return next((by for by in self._solved if self._beaten(index, least, by)), None)

    def _rivals(self, index: int) -> list[int]:
        """List machines not excluded that are not proved not to dominate ``index``."""
        time, cost = self._solved[index].time, self._options[index].cost
        found = []
        for other in {*self._solved, *self._left, *self._given_up} - {index}:
            least = (self._solved.get(other) or self._bounds.exact(other)).least
            others = self._options[other].cost
            if (others < cost and least <= time) or (others == cost and least < time):
                found.append(other)
        return found

    def _find_undecided(self) -> list[int]:
        every = sorted(self._solved, key=self._place)
        return [k for k in every if self._dominator(k) is None and self._rivals(k)]


def _infeasible(options: Sequence[MachineOption]) -> tuple[int, ...]:
    """Find options on which an operation does not fit; look at each size of a problem once."""

    def size(option: MachineOption) -> tuple[int, int, int]:
        return id(option.lowered), option.machine.spm_pages, option.machine.page_bytes

    each_size = {size(option): option for option in options}
    small = {key for key, option in each_size.items() if unfit(option.problem) is not None}
    return tuple(index for index, option in enumerate(options) if size(option) in small)


@dataclass(frozen=True, kw_only=True)
class MachineSolution:
    """Of one solve: cycles of a verified schedule, and a bound with the duals that prove it."""

    cycles: int
    bound: Fraction
    certificate: Certificate | None


class MachineSolver(Protocol):
    """A full solve of one problem."""

    def __call__(
        self, problem: Problem, tolerance: float, near: Certificate | None
    ) -> MachineSolution | None:
        """Solve to a gap of ``tolerance``, from the duals ``near``; None without a schedule."""
        ...


@dataclass(frozen=True, kw_only=True)
class SolvedMachine(BoundedMachine):
    """A machine that was solved: a verified schedule takes ``time`` seconds, exact.

    The cut is its own one, or a better one of another machine.
    """

    time: Fraction
    solution: MachineSolution


@dataclass(frozen=True, kw_only=True)
class ExcludedMachine(BoundedMachine):
    """Proof that a machine is dominated: the schedule found of ``by`` takes no longer."""

    by: int


@dataclass(frozen=True, kw_only=True, eq=False)
class ExactFront:
    """What is known of every option, by its index.

    Attributes
    ----------
    members
        On the front, proved; by cost.
    undecided
        Solved, and neither proved to be on it nor dominated.
    solved, excluded
        What was found of each; every other machine is ``infeasible`` or ``open``.
    infeasible
        Machines on which an operation does not fit.
    open
        What is known of those not solved: stopped before, or no schedule in the time given.
    solves
        Full solves, those that were repeated more closely included.
    borrowed
        Evaluations of dual values on operations that they are not from; no solve.
    solve_s
        Wall seconds within solves.
    """

    options: Sequence[MachineOption]
    members: tuple[int, ...]
    undecided: tuple[int, ...]
    solved: Mapping[int, SolvedMachine]
    excluded: Mapping[int, ExcludedMachine]
    infeasible: tuple[int, ...]
    open: Mapping[int, BoundedMachine]
    solves: int
    borrowed: int
    solve_s: float

    @property
    def beyond(self) -> int:
        """Full solves beyond one for each machine that is, or may be, on the front."""
        return self.solves - len(self.members) - len(self.undecided)
