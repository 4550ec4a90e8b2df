"""Objectives in order: the least of the second, within a tolerance of the least of the first.

The second is weighed against the first (its Lagrangian): with ``T`` the most of the first that is
allowed, and ``B`` a bound on ``first + weight second``, every schedule within ``T`` has

    second >= (B - T) / weight

so that each weight tried proves something about the second, with any schedule. The
larger the weight, the less of the second and the more of the first its schedules have; a few
weights by bisection find the largest whose schedule is still within ``T``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from time import monotonic
from typing import TYPE_CHECKING

from spmopt.core.errors import ArgumentError

if TYPE_CHECKING:
    from spmopt.api.solutions import Solution
    from spmopt.core.machine import Machine
    from spmopt.core.objective import Objective
    from spmopt.core.result import Result
    from spmopt.schedulers.registry import SchedulerEntry

Solve = Callable[["Objective", float], "Solution"]
"""Solves for an objective within so many seconds."""
_SLACK = Fraction(1, 1000)
_FIRST_SHARE = 0.6
"""Of the time limit, for the first objective alone: the second is among its best schedules."""
_WEIGHTS = 6
"""Tried at most, each in no less time than a sixth of the first objective's."""
_FACTOR = 8
"""Between weights until one is too large and one is not."""
_TYPICAL = 10
"""The first weight is such that to give all slack away a tenth of the second must be saved."""


def is_ordered(objective: object) -> bool:
    """Whether an option names objectives in order, as ``time,traffic``."""
    return isinstance(objective, str) and "," in objective


def first_of(objective: str) -> str:
    """Return the name of the only objective, or of the first of several, without its slack."""
    return objective.partition(",")[0].partition(":")[0].strip()


@dataclass(frozen=True, kw_only=True)
class InOrder:
    """Two objectives, and how far above its least the first may be, as a share of it."""

    first: Objective
    second: Objective
    slack: Fraction

    @classmethod
    def with_name(cls, text: str, machine: Machine) -> InOrder:
        """Read ``FIRST[:SLACK],SECOND``, as ``time:0.5%,traffic``.

        Raises
        ------
        InputError
            Not two objectives, an unknown one, two kinds of time, or a slack that is none.
        """
        from spmopt.core.objective import objective_named

        names = [name.strip() for name in text.split(",")]
        if len(names) != 2:
            raise ArgumentError("objective", f" {text}: give two in order, as time,traffic")
        slack = names[0].partition(":")[2]
        first, second = (objective_named(name, machine) for name in (first_of(text), names[1]))
        # The sum of a step time and a replay time would be the time of no schedule.
        if first == second or (second.cycle and first.replayed != second.replayed):
            raise ArgumentError(
                "objective", f" {text}: the second must be another, of the same time"
            )
        return cls(first=first, second=second, slack=_slack(slack) if slack else _SLACK)

    def weigh(self, weight: Fraction) -> Objective:
        """Return ``first + weight second``, in units of the first."""
        return self.first.plus(self.second, weight)


def _slack(text: str) -> Fraction:
    """Read a share, as ``0.5%`` or ``0.005``."""
    number, percent, rest = text.strip().partition("%")
    try:
        share = Fraction(number) / (100 if percent else 1)
    except (ValueError, ZeroDivisionError):
        share = Fraction(-1)
    if rest or not 0 <= share <= 1:
        raise ArgumentError("objective", f": slack {text!r} must be a share up to 100%, as 0.5%")
    return share


def solve_named(
    objectives: str, scheduler: SchedulerEntry, machine: Machine, solve: Solve, time_limit: float
) -> Solution:
    """Solve for two objectives by name.

    Raises
    ------
    InputError
        The scheduler does not support a weighted sum of both.
    """
    asked = InOrder.with_name(objectives, machine)
    both = asked.weigh(Fraction(1))
    scheduler.require(both, machine.features)
    return solve_in_order(asked, solve, time_limit)


def solve_in_order(asked: InOrder, solve: Solve, time_limit: float) -> Solution:
    """Return the best schedule by the second objective of those within the slack of the first.

    Without one that is better than the first objective's own schedule, that one. Notes have the
    values of both, and a lower bound on the second.
    """
    # The first objective alone comes first: its least value sets the limit for all weights.
    start_s = monotonic()
    start = solve(asked.first, _FIRST_SHARE * time_limit)
    if start.result.totals is None:
        return start
    search = WeightSearch(asked, solve, start)
    least_s = _FIRST_SHARE * time_limit / _WEIGHTS
    due = start_s + time_limit
    for turn in range(_WEIGHTS):
        left = due - monotonic()
        # One weight at least: otherwise the second objective was never considered.
        if left <= 0 and turn:
            break
        search.try_next(max(left / (_WEIGHTS - turn), min(least_s, left), 0.0))
    return _note(search)


def bound_of_all(result: Result) -> Fraction | None:
    """Return a bound that holds for every schedule of the list.

    Or in tiles of any of its fusion plans. That of one fusion plan, or of another order, says
    nothing of schedules at other weights.
    """
    if result.fused is not None:
        return result.fusion_bound
    return result.bound if result.order is None else None


class WeightSearch:
    """Schedules at one weight after the other, starting from the first objective alone.

    Attributes
    ----------
    least, limit
        The least of the first objective that any of them has, and the most that is allowed.
    best, second
        The schedule within ``limit`` that has least of the second objective, and how much.
    proven_bound
        Lower bound on it over all schedules within ``limit``.
    """

    def __init__(self, asked: InOrder, solve: Solve, start: Solution) -> None:
        from spmopt.verifier.any_order import moved_once

        self.asked, self._solve = asked, solve
        self.spent_s, self.cpu_s = start.result.solve_s, start.result.cpu_s
        self.cut_short = start.result.cut_short
        # Every schedule moves so much, whatever is fused.
        into, out = moved_once(start.problem)
        second = asked.second
        moved = second.of_moved(start.problem.machine.most_moved)
        self._moved_once = moved.dram_in_byte * into + moved.dram_out_byte * out
        self._found: list[tuple[Fraction, Fraction, Solution]] = []
        self._bounds: list[tuple[Fraction, Fraction, bool]] = []
        self._take(start)
        self._within = Fraction(0)
        self._beyond: Fraction | None = None
        # With slack 0 the weight would be 0, and the second objective would not count at all.
        typical = _TYPICAL * (asked.slack or _SLACK) * self.least
        self._weight = typical / max(self.second, Fraction(1, 10**12)) or Fraction(1)

    def _take(self, solution: Solution) -> bool:
        """Take a schedule, if there is one; return whether it is within the limit.

        At a weight less of the first objective may be found than for it alone.
        """
        totals, asked = solution.result.totals, self.asked
        if totals is None:
            return False
        first, second = totals.value(asked.first), totals.value(asked.second)
        self._found.append((second, first, solution))
        self.least = min(each for _, each, _ in self._found)
        self.limit = (1 + asked.slack) * self.least
        # Again over all found: a smaller least value lowers the limit and may exclude the best.
        able = (each for each in self._found if each[1] <= self.limit)
        self.second, _, self.best = min(able, key=lambda each: each[:2])
        return first <= self.limit

    @property
    def proven_bound(self) -> Fraction:
        """A bound over the fusion space holds for the list too, and not the other way round."""
        listed = self.best.result.fused is None
        good = (each for each in self._bounds if listed or each[2])
        return max((self._moved_once, *((bound - self.limit) / each for bound, each, _ in good)))

    def try_next(self, limit_s: float) -> None:
        """Schedule at the next weight."""
        weight = self._weight
        found = self._solve(self.asked.weigh(weight), limit_s)
        self.spent_s += found.result.solve_s
        self.cpu_s += found.result.cpu_s
        bound = bound_of_all(found.result)
        if bound is not None:
            # Kept, not evaluated: the limit may still fall, which changes the value of each bound.
            self._bounds.append((bound, weight, found.result.fused is not None))
        if self._take(found):
            self._within = weight
        else:
            self._beyond = weight
        self._weight = _next(self._within, self._beyond)


def _next(within: Fraction, beyond: Fraction | None) -> Fraction:
    if beyond is None:
        return within * _FACTOR
    if not within:
        return beyond / _FACTOR
    # Geometric mean: weights span orders of magnitude.
    return Fraction(float(within * beyond) ** 0.5)


def _class_of(result: Result) -> str:
    """Return the class of schedules that the bound covers, beside the listed order."""
    proof = None if result.fused is None else result.fusion_certificate
    return "" if proof is None else f" of any fusion plan (fusion={proof.fusion_space.name})"


def _note(search: WeightSearch) -> Solution:
    """Return the best solution, with the values of both objectives in its notes."""
    from spmopt.core.objective import option_name
    from spmopt.core.result import ObjectiveInOrder
    from spmopt.metrics import in_unit
    from spmopt.reporting.quantities import percent, si

    solution, asked, least = search.best, search.asked, search.least
    result, machine = solution.result, solution.problem.machine
    assert result.totals is not None

    def text_of(objective: Objective, value: Fraction) -> str:
        return f"{option_name(objective.name)} {si(*in_unit(objective, machine, value))}"

    first, second = (result.totals.value(each) for each in (asked.first, asked.second))
    # A bound of 0 says nothing, and no gap to it exists.
    proved = search.proven_bound or None
    part = float(first / least - 1) if least else 0.0
    over = percent(part, by="above", of="the least found")
    allowed = percent(float(asked.slack))
    notes = [f"{text_of(asked.first, first)}, {over}; {allowed} is allowed"]
    if search.cut_short:
        name = option_name(asked.first.name)
        notes.append(f"the time limit cut the search for {name} alone short: less may be possible")
    if proved is not None:
        gap = percent(float(second / proved - 1), by="above", of="that bound")
        of, floor = _class_of(result), text_of(asked.second, proved)
        notes.append(
            f"{text_of(asked.second, second)}; schedules{of} within that have {floor} at least "
            f"({gap})"
        )
    alone = result.objective == asked.first
    of = f"{option_name(asked.first.name)} alone" if alone else "a weighted sum of both"
    notes.append(f"objective, bound, gap and status are those of {of}")
    kept = replace(
        result,
        notes=(*result.notes, *notes),
        solve_s=search.spent_s,
        cpu_s=search.cpu_s,
        in_order=(
            ObjectiveInOrder(objective=asked.first, value=first, limit=search.limit),
            ObjectiveInOrder(objective=asked.second, value=second, bound=proved),
        ),
    )
    return replace(solution, result=kept)
