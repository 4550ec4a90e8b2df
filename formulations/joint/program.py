"""The variables of the joint model, and the constraint program that they live in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ortools.sat.python import cp_model

from formulations.joint.facts import JointFacts, ResidencyInterval
from spmopt.core.operation import Operand
from spmopt.core.schedule import Command

Literal: TypeAlias = cp_model.BoolVarT
Number: TypeAlias = cp_model.LinearExprT
HUGE = 2**62  # more than any schedule takes; CP-SAT computes in 64 bits
BEFORE, DURING, AFTER = 0, 1, 2
"""Phases of a step's queue (R10)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """If ``chosen``, a command is issued in the step of ``operation``, in a phase of it.

    The phase is that of the ``mapping`` of the operation.
    """

    chosen: Literal
    mapping: Literal
    operation: int
    phase: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A DMA command that may be: of all bytes of a tensor, ``fetches`` times."""

    kind: Command
    tensor: int
    fetches: int
    cycles: int
    present: Literal
    start: cp_model.IntVar
    slots: tuple[Slot, ...]

    @property
    def end(self) -> Number:
        """When it is done, in cycles."""
        return self.start + self.cycles

    @property
    def outward(self) -> bool:
        """Whether it goes to DRAM."""
        return self.kind in (Command.STORE, Command.STREAM_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupant:
    """Who may occupy a range of pages: an interval (its number), or an operation's scratch (-1).

    It occupies them in steps [begin, finish), and in cycles from ``claimed`` on, which waits for
    the occupants before, until ``released``. ``first`` is the operation that it begins with
    or, if it is loaded ahead, is loaded for.
    """

    interval: int
    tensor: int
    first: int
    pages: int
    present: Literal
    begin: Number
    finish: Number
    claimed: Number
    released: Number
    address: cp_model.IntVar


class JointProgram:
    """Variables; see the README of this folder for their meaning.

    Keys: operations ``i``, uses ``a``, intervals ``s`` and versions ``v`` by number.
    """

    def __init__(
        self, facts: JointFacts, intervals: tuple[ResidencyInterval, ...], *, horizon: int
    ) -> None:
        self.facts, self.intervals, self.horizon = facts, intervals, horizon
        self.cp = cp_model.CpModel()
        self.every: list[cp_model.IntVar] = []
        self.start: list[cp_model.IntVar] = []  # i
        self.end: list[cp_model.IntVar] = []
        self.position: list[Number] = []
        self.mapping: list[list[Literal]] = []
        self.order: dict[tuple[int, int], Literal] = {}
        self.member: dict[tuple[int, int], Literal] = {}  # (a, s)
        self.covered: dict[tuple[int, int], Literal] = {}  # (s, i)
        self.begin: list[cp_model.IntVar] = []  # s
        self.finish: list[cp_model.IntVar] = []
        self.claimed: list[cp_model.IntVar] = []
        self.released: list[cp_model.IntVar] = []
        self.load: dict[int, Move] = {}  # s
        self.store: dict[int, Move] = {}  # v
        self.streams: dict[int, list[Move]] = {}  # a
        self.occupants: list[Occupant] = []
        self.earlier: dict[tuple[int, int], Literal] = {}  # occupants
        self.window: dict[tuple[int, int], Sequence[cp_model.IntVar]] = {}  # (channel, i)
        self._intervals_of: dict[int, list[int]] = {}
        for number, interval in enumerate(intervals):
            for use in interval.members:
                self._intervals_of.setdefault(use, []).append(number)
        self.true = self.integer(1, 1)
        self.makespan = self.integer(0, horizon)

    @property
    def false(self) -> Literal:
        """The literal that never holds."""
        return ~self.true

    def integer(self, low: int, high: int) -> cp_model.IntVar:
        """A new integer variable."""
        variable = self.cp.new_int_var(low, high, "")
        self.every.append(variable)
        return variable

    def boolean(self) -> cp_model.IntVar:
        """A new 0-1 variable."""
        variable = self.cp.new_bool_var("")
        self.every.append(variable)
        return variable

    def time(self) -> cp_model.IntVar:
        """A new variable in cycles."""
        return self.integer(0, self.horizon)

    def precedes(self, one: int, other: int) -> Literal:
        """Whether operation ``one`` runs before ``other``."""
        if self.facts.before[one, other]:
            return self.true
        if one == other or self.facts.before[other, one]:
            return self.false
        return self.order[one, other]

    def present(self, interval: int) -> Literal:
        """Whether the interval is in the schedule."""
        return self.member[self.intervals[interval].head, interval]

    def intervals_of(self, use: int) -> list[int]:
        """Intervals that the use may be in."""
        return self._intervals_of.get(use, [])

    def memberships(self, use: int) -> list[Literal]:
        """Of the use in each interval: it is resident if one of them holds."""
        return [self.member[use, interval] for interval in self.intervals_of(use)]

    def operand(self, use: int, mapping: int) -> Operand:
        """How that mapping of the use's operation takes the tensor."""
        record = self.facts.uses[use]
        return (
            self.facts.problem.operations[record.operation].mappings[mapping].operands[record.place]
        )

    def scratch_pages(self, operation: int) -> cp_model.LinearExpr:
        """Pages of scratch, by the mapping."""
        mappings = self.facts.problem.operations[operation].mappings
        pages = [self.facts.pages(mapping.scratch_bytes) for mapping in mappings]
        return cp_model.LinearExpr.weighted_sum(self.mapping[operation], pages)

    def channel(self, move: Move) -> int:
        """0, or 1 for stores on a duplex machine."""
        return int(move.outward and self.facts.problem.machine.duplex)

    @property
    def channels(self) -> range:
        """Channels of the machine."""
        return range(1 + int(self.facts.problem.machine.duplex))

    def moves(self) -> list[Move]:
        """All commands that may be."""
        streams = [move for moves in self.streams.values() for move in moves]
        return [*self.load.values(), *self.store.values(), *streams]

    def at_most(self, left: Number, right: Number, *literals: Literal) -> None:
        """Add ``left <= right``, if all ``literals`` hold."""
        row = cp_model.LinearExpr.sum([left, -1 * right])
        self.cp.add_linear_constraint(row, -HUGE, 0).only_enforce_if(*literals)

    def equal(self, left: Number, right: Number, *literals: Literal) -> None:
        """Add ``left = right``, if all ``literals`` hold."""
        self.at_most(left, right, *literals)
        self.at_most(right, left, *literals)
