"""Decisions one after the other, each with the schedule that was made for it, and the best so far.

Times are those of steps, one after the other; all schedules are verified.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from spmopt.core.problem import Problem
from spmopt.core.result import Result, Totals, relative_gap


class Key(StrEnum):
    """Kinds of decisions, in their order; the first is the start."""

    START = "start"
    POLICY = "policy"
    RESIDENCY = "residency"
    FUSION = "fusion"
    ORDER = "order"

    @property
    def words(self) -> str:
        """Title of the decision."""
        return _TITLES[self]


_TITLES = {
    Key.START: "everything from DRAM",
    Key.POLICY: "best greedy rule",
    Key.RESIDENCY: "optimal residency",
    Key.FUSION: "fusion",
    Key.ORDER: "another order",
}


@dataclass(frozen=True, kw_only=True)
class Decision:
    """One decision.

    Attributes
    ----------
    key
        Kind of the decision.
    problem, result
        The best schedule once this is decided, and its problem: fusion tiles and another order
        make other lists of operations than the first.
    before_cycles
        Time of the best schedule before.
    why
        Reason why nothing is saved or tried; empty where something is saved.
    made
        Result for this decision; None: it was not tried.
    fusion_space
        Name of the fusion space searched so far; empty: layer by layer only.
    """

    key: Key
    problem: Problem
    result: Result
    before_cycles: int
    made: Result | None
    why: str = ""
    fusion_space: str = ""

    @property
    def totals(self) -> Totals:
        """Exact figures of the best schedule."""
        assert self.result.totals is not None
        return self.result.totals

    @property
    def cycles(self) -> int:
        """Time of the best schedule."""
        return self.totals.makespan_cycles

    @property
    def saved_cycles(self) -> int:
        """Saving of this decision; never negative, as else it is not taken."""
        return self.before_cycles - self.cycles

    @property
    def waiting_cycles(self) -> int:
        """Time in which the engine does not compute."""
        return self.cycles - self.totals.compute_cycles

    @property
    def bound(self) -> Fraction | None:
        """Least time of any schedule of the space searched so far, in cycles."""
        return self.result.fusion_bound if self.fusion_space else self.result.best_bound

    @property
    def gap(self) -> float | None:
        """Relative distance to it."""
        return None if self.bound is None else relative_gap(Fraction(self.cycles), self.bound)

    @property
    def bound_of(self) -> str:
        """Schedules that the bound is of."""
        where = "in the order found" if self.is_reordered else "in the order listed"
        if self.fusion_space:
            return f"all fusion plans {where} (fusion={self.fusion_space})"
        return f"all schedules {where}"

    @property
    def is_reordered(self) -> bool:
        """Whether the best schedule is of another order than the list."""
        return self.key is Key.ORDER and self.made is self.result

    def seconds(self, cycles: float | Fraction) -> float:
        """Return cycles of the machine in seconds."""
        return float(cycles / self.problem.machine.clock_hz)
