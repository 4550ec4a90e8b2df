"""What goes into a search for a front, and what comes out: machines, solves, proofs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

from spmopt.core.instance import Instance
from spmopt.core.machine import Machine
from spmopt.core.result import Certificate
from spmopt.search.proofs.cuts import Cut


@dataclass(frozen=True, kw_only=True, eq=False)
class Option:
    """A machine, what it costs, and its operations: one record for all that lower alike."""

    machine: Machine
    cost: float
    lowered: Instance

    @property
    def instance(self) -> Instance:
        """The operations on this machine."""
        return replace(self.lowered, machine=self.machine)


@dataclass(frozen=True, kw_only=True)
class Solution:
    """Of one solve: cycles of a verified schedule, and a bound with the prices that prove it."""

    cycles: int
    bound: Fraction
    certificate: Certificate | None


class Solver(Protocol):
    """A full solve of one instance."""

    def __call__(
        self, instance: Instance, tolerance: float, near: Certificate | None
    ) -> Solution | None:
        """Solve to a gap of ``tolerance``, from the prices ``near``; None without a schedule."""
        ...


@dataclass(frozen=True, kw_only=True)
class Bounded:
    """A machine takes at least ``least`` seconds, exact; ``cut`` proves it."""

    least: Fraction
    cut: Cut


@dataclass(frozen=True, kw_only=True)
class Solved(Bounded):
    """A machine that was solved: a verified schedule takes ``time`` seconds, exact.

    The cut is its own one, or a better one of another machine.
    """

    time: Fraction
    solution: Solution


@dataclass(frozen=True, kw_only=True)
class Excluded(Bounded):
    """Proof that a machine is dominated: the schedule found of ``by`` takes no longer."""

    by: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Front:
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
        Evaluations of prices on operations that they are not from; no solve.
    solve_s, search_s
        Wall seconds within solves, and in all.
    """

    options: Sequence[Option]
    members: tuple[int, ...]
    undecided: tuple[int, ...]
    solved: Mapping[int, Solved]
    excluded: Mapping[int, Excluded]
    infeasible: tuple[int, ...]
    open: Mapping[int, Bounded]
    solves: int
    borrowed: int
    solve_s: float
    search_s: float

    @property
    def beyond(self) -> int:
        """Full solves beyond one for each machine that is, or may be, on the front."""
        return self.solves - len(self.members) - len(self.undecided)
