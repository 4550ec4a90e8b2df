"""The variables of the joint model, and the constraint program that they live in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ortools.sat.python import cp_model

from formulations.joint.facts import Facts
from formulations.joint.stays import Stay
from spmopt.core.instance import Operand
from spmopt.core.schedule import Command

Literal: TypeAlias = cp_model.BoolVarT
Number: TypeAlias = cp_model.LinearExprT
HUGE = 2**62
BEFORE, DURING, AFTER = 0, 1, 2
"""Phases of a step's queue (R10)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """If ``chosen``, a command is issued in the step of ``operation``, in a phase of it.

    The phase is that of the ``mode`` of the operation.
    """

    chosen: Literal
    mode: Literal
    operation: int
    phase: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A DMA command that may be: of all bytes of a tensor, ``passes`` times."""

    kind: Command
    tensor: int
    passes: int
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
class Tenant:
    """Who may occupy a range of pages: a stay (its number), or the scratch of an operation (-1).

    It occupies them in steps [begin, finish), and in cycles from ``claimed`` on, which waits for
    whoever was there before, until ``released``. ``first`` is the operation that it begins with
    or, if it is loaded ahead, is loaded for.
    """

    stay: int
    tensor: int
    first: int
    pages: int
    present: Literal
    begin: Number
    finish: Number
    claimed: Number
    released: Number
    address: cp_model.IntVar


@dataclass(kw_only=True, eq=False)
class Program:
    """Variables; see the README of this folder for what each means.

    Keys: operations ``i``, uses ``a``, stays ``s`` and versions ``v`` by number.
    """

    facts: Facts
    stays: tuple[Stay, ...]
    horizon: int
    cp: cp_model.CpModel = field(default_factory=cp_model.CpModel)
    every: list[cp_model.IntVar] = field(default_factory=list)
    start: list[cp_model.IntVar] = field(default_factory=list)
    end: list[cp_model.IntVar] = field(default_factory=list)
    position: list[Number] = field(default_factory=list)
    mode: list[list[Literal]] = field(default_factory=list)
    order: dict[tuple[int, int], Literal] = field(default_factory=dict)
    member: dict[tuple[int, int], Literal] = field(default_factory=dict)  # (a, s)
    covered: dict[tuple[int, int], Literal] = field(default_factory=dict)  # (s, i)
    begin: list[cp_model.IntVar] = field(default_factory=list)
    finish: list[cp_model.IntVar] = field(default_factory=list)
    claimed: list[cp_model.IntVar] = field(default_factory=list)
    released: list[cp_model.IntVar] = field(default_factory=list)
    load: dict[int, Move] = field(default_factory=dict)  # s
    store: dict[int, Move] = field(default_factory=dict)  # v
    streams: dict[int, list[Move]] = field(default_factory=dict)  # a
    tenants: list[Tenant] = field(default_factory=list)
    earlier: dict[tuple[int, int], Literal] = field(default_factory=dict)  # tenants
    window: dict[tuple[int, int], Sequence[cp_model.IntVar]] = field(default_factory=dict)
    _stays_of: dict[int, list[int]] = field(default_factory=dict)
    makespan: cp_model.IntVar = field(init=False)
    true: cp_model.IntVar = field(init=False)

    def __post_init__(self) -> None:
        for number, stay in enumerate(self.stays):
            for use in stay.members:
                self._stays_of.setdefault(use, []).append(number)
        self.true = self.integer(1, 1)
        self.makespan = self.integer(0, self.horizon)

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

    def present(self, stay: int) -> Literal:
        """Whether the stay is in the schedule."""
        return self.member[self.stays[stay].head, stay]

    def stays_of(self, use: int) -> list[int]:
        """Stays that the use may be in."""
        return self._stays_of.get(use, [])

    def memberships(self, use: int) -> list[Literal]:
        """Of the use in each stay: it is resident if one of them holds."""
        return [self.member[use, stay] for stay in self.stays_of(use)]

    def operand(self, use: int, mode: int) -> Operand:
        """How that mode of the use's operation takes the tensor."""
        record = self.facts.uses[use]
        return self.facts.instance.operations[record.operation].modes[mode].operands[record.place]

    def scratch_pages(self, operation: int) -> cp_model.LinearExpr:
        """Pages of scratch, by the mode."""
        modes = self.facts.instance.operations[operation].modes
        pages = [self.facts.pages(mode.scratch_bytes) for mode in modes]
        return cp_model.LinearExpr.weighted_sum(self.mode[operation], pages)

    def channel(self, move: Move) -> int:
        """0, or 1 for what goes out on a duplex machine."""
        return int(move.outward and self.facts.instance.machine.duplex)

    @property
    def channels(self) -> range:
        """Channels of the machine."""
        return range(1 + int(self.facts.instance.machine.duplex))

    def moves(self) -> list[Move]:
        """All commands that may be."""
        streams = [move for moves in self.streams.values() for move in moves]
        return [*self.load.values(), *self.store.values(), *streams]

    def when(self, *literals: Literal) -> _When:
        """Constraints that hold if all literals do."""
        return _When(self.cp, literals)


class _When:
    """Adds linear constraints under a condition."""

    def __init__(self, cp: cp_model.CpModel, literals: tuple[Literal, ...]) -> None:
        self._cp = cp
        self._literals = literals

    def at_most(self, left: Number, right: Number) -> None:
        """``left <= right``."""
        row = cp_model.LinearExpr.sum([left, -1 * right])
        self._cp.add_linear_constraint(row, -HUGE, 0).only_enforce_if(*self._literals)

    def equal(self, left: Number, right: Number) -> None:
        """``left = right``."""
        self.at_most(left, right)
        self.at_most(right, left)
