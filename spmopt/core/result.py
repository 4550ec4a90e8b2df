"""The answer of a scheduler: bounds, totals, and the result that holds them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction

from spmopt.core.errors import InputError
from spmopt.core.fusion.certificate import FusionCertificate
from spmopt.core.objective import BANK_WEIGHTS, MAKESPAN, WEIGHTS, Objective
from spmopt.core.order import order_key, other_order
from spmopt.core.problem import Problem
from spmopt.core.schedule import ResidencyPlan, Schedule
from spmopt.core.table import Ints

_NOT_STORED = {"stored": False}
_LARGEST_RATIO = 10**300  # of a double, nearly
_UNFINISHED = "the bound holds, but {} cut its search short: more time may raise it"
UNFINISHED = OUT_OF_TIME, INTERRUPTED = (
    _UNFINISHED.format("the time limit"),
    _UNFINISHED.format("Ctrl-C"),
)
"""Notes on a bound whose search ended early."""

WHOLE_TENSORS = "whole tensors"
"""Class of schedules: in a step that uses a tensor all of it is resident, or nothing; in steps
between anything (PROBLEM.md, section 2)."""
WHOLE = "whole-tensor schedules, fixed order"
"""Class of the bounds that solvers of whole tensors claim: in a step that uses a tensor all of it
is resident, or nothing; between two uses it is kept in full or given up in full."""
MOVED_WHOLE = (
    "the replay of whole tensors, moved whole, in one range of addresses each, in any order"
)
"""Class of schedules: a tensor is resident in full or not at all, in every step, in one range of
addresses each time, and loads and stores move all of it; operations may run in any order."""

LARGEST_TOLERANCE = 0.01
"""A schedule further from its bound is never called optimal, whatever tolerance was asked for."""


class Status(StrEnum):
    """Knowledge about a result."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"
    FAILED = "failed"  # the scheduler raised an error, or its schedule breaks a rule


class End(StrEnum):
    """Reason for the end of a search."""

    NONE = ""  # a policy does not search
    CLOSED = "the gap is closed"
    OF_CLASS = "the gap to its class is closed"
    EXHAUSTED = "nothing is left to try"
    LIMIT = "the time limit"
    STOPPED = "Ctrl-C"


@dataclass(frozen=True, kw_only=True)
class BankDuals:
    """Dual values of one bank, one per step, in the units of a :class:`Certificate`.

    ``spm``: of a byte held in it, on top of the dual value of a byte held anywhere. ``port``: of
    the step's time spent on accesses of its port, per byte that DRAM moves in that time.
    """

    spm: Ints
    port: Ints


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """Dual values that prove a lower bound (PROBLEM.md, section 5).

    All dual values are integers in units of ``2**-bits`` objective units per byte, one per step of
    ``order``: ``spm`` for a byte of SPM held during the step, ``dram_in`` and ``dram_out`` for
    the step's DMA time spent on a byte (equal unless the machine is duplex). The bound holds for
    every legal schedule of the problem in that order, and for no other: ``order[i]`` is the
    operation of step ``i``, None stands for the problem's own order. ``banks``: dual values of each
    bank of a machine that has banks; none are needed, and then all are 0. ``holds_for``: the class
    of schedules, :data:`WHOLE_TENSORS`; empty for all. Of the replay, which has no steps, ``spm``
    are dual values of a byte of SPM held when an operation ends, ``spm_at_start`` (none: 0) of one
    held when it starts. ``uses``: the payment of a byte of each operand to its operation, of any
    sign, in each mapping of an operation that has several (none: 0); by operation, operand, and
    mapping. ``rooms``: the payment of its resident byte for the room beside the mapping's scratch,
    not negative (none: 0); by operation and mapping.
    """

    objective: Objective
    bits: int
    spm: Ints
    dram_in: Ints
    dram_out: Ints
    order: Ints | None = None
    banks: tuple[BankDuals, ...] = field(default=(), metadata={"group": "banks"})
    holds_for: str = field(default="", metadata={"group": "class"})
    spm_at_start: Ints | None = field(default=None, metadata={"group": "replay"})
    uses: Ints | None = field(default=None, metadata={"group": "mappings"})
    rooms: Ints | None = field(default=None, metadata={"group": "mappings"})


@dataclass(frozen=True, kw_only=True)
class ClassBound:
    """A bound for a narrower class of schedules.

    With a ``certificate`` it is certified: ``value`` is, to the nearest float, the bound that the
    verifier derives from its dual values for their class. Without, it is as a solver reported it.
    """

    value: float
    holds_for: str
    proved_by: str
    certificate: Certificate | None = field(default=None, metadata={"group": "certificate"})

    @property
    def certified(self) -> bool:
        """Whether the verifier has recomputed it."""
        return self.certificate is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectiveInOrder:
    """One of two objectives in order, and its value for a schedule.

    ``bound``: of the second, a bound on schedules with the first within its ``limit``.
    """

    objective: Objective
    value: Fraction
    bound: Fraction | None = None
    limit: Fraction | None = None

    @property
    def gap(self) -> float | None:
        """Relative distance to the bound."""
        return None if self.bound is None else relative_gap(self.value, self.bound)


@dataclass(frozen=True, kw_only=True)
class Totals:
    """Exact totals of a schedule, recomputed by the verifier.

    ``dma_descriptors`` counts contiguous fusion tiles of SPM that the ``dma_commands`` move, a
    stream as one. Files that were written before these two were counted lack them: None. Reads and
    writes of each bank, DMA and moves included, are exact and may be a fraction; ``spm_read_bytes``
    and ``spm_write_bytes`` are of the operations alone, on any machine. ``unpacked_bytes`` arrive
    on chip beyond the ``dram_in_bytes`` that cross, ``packed_bytes`` leave beyond those that cross.
    """

    makespan_cycles: int
    replay_cycles: int
    dram_in_bytes: int
    dram_out_bytes: int
    spm_read_bytes: int
    spm_write_bytes: int
    macs: int
    compute_cycles: int
    dma_cycles: int
    peak_spm_bytes: int
    dma_commands: int | None = None
    dma_descriptors: int | None = None
    own_picojoules: int = field(default=0, metadata={"group": "own energy"})
    unpacked_bytes: int = field(default=0, metadata={"group": "compression"})
    packed_bytes: int = field(default=0, metadata={"group": "compression"})
    moved_bytes: int = field(default=0, metadata={"group": "banks"})
    bank_read_bytes: tuple[Fraction, ...] = field(default=(), metadata={"group": "banks"})
    bank_write_bytes: tuple[Fraction, ...] = field(default=(), metadata={"group": "banks"})

    @property
    def traffic_bytes(self) -> int:
        """All DMA bytes."""
        return self.dram_in_bytes + self.dram_out_bytes

    def value(self, objective: Objective) -> Fraction:
        """Return the objective, exact.

        Raises
        ------
        InputError
            The objective has weights of other banks.
        """
        weighted, banks = len(objective.bank_read_byte), len(self.bank_read_bytes)
        if weighted and weighted != banks:
            raise InputError(
                f"objective {objective.name}: has weights of {weighted} banks, the schedule is for "
                f"{banks}; use the machine's own objective"
            )
        value: Fraction = objective.cycle * (
            self.replay_cycles if objective.replayed else self.makespan_cycles
        )
        # The other weights are named by the event that these totals count.
        value += sum(
            getattr(objective, name) * getattr(self, f"{name}s")
            for name in WEIGHTS
            if name != "cycle"
        )
        for name in BANK_WEIGHTS:
            weights, sizes = getattr(objective, name), getattr(self, f"{name}s")
            value += sum(w * size for w, size in zip(weights, sizes, strict=False))
        return value


@dataclass(frozen=True, kw_only=True)
class Result:
    """The answer of a scheduler: its decisions and proofs, then the verifier's figures.

    A scheduler returns a ``residency_plan`` or a ``schedule``, a ``certificate`` or a
    ``class_bound``, and ``notes``; all else is filled in by :mod:`spmopt.solving`. With a
    ``schedule`` its plan is not looked at: a plan says nothing of queue order and, mostly, of
    addresses. With ``fused`` all of these are of the problem of its fusion plan.

    Attributes
    ----------
    scheduler, objective
        Name of the scheduler, and the minimized quantity.
    status
        ``optimal`` when the gap is within the ``tolerance`` asked for and
        :data:`LARGEST_TOLERANCE`; with ``fused`` by the :attr:`fusion_gap`. A relaxation has a
        bound but no schedule: ``unknown``.
    solve_s, cpu_s
        Wall and CPU seconds.
    end
        Reason for the end of its search.
    residency_plan, schedule, origin
        Decisions, the schedule that follows, and the scheduler that made both.
    totals, value, verified
        Exact figures of the schedule; None before the verifier has accepted it.
    bound, certificate
        Best certified bound of the order of the schedule, and its dual values.
    cut_short
        Whether the time limit or an interrupt ended the search for the dual values: they are
        valid, but better ones may be near.
    fused
        Problem of the fusion plan; None layer by layer.
    fusion_bound, fusion_certificate
        Bound on all schedules of all fusion plans of the problem's tileable graph, and its dual
        values.
    instead
        Problem that the schedule and the bound are of, in place of the one asked for; None: that.
    beside
        Results layer by layer, and of the best fusion plan.
    in_order
        Two objectives, where these were asked for; ``objective`` may be a weighted sum of both.
    """

    scheduler: str = ""
    objective: Objective = MAKESPAN
    status: Status = Status.UNKNOWN
    solve_s: float = 0.0
    schedule: Schedule | None = None
    totals: Totals | None = None
    value: Fraction | None = None
    bound: Fraction | None = None
    certificate: Certificate | None = None
    class_bound: ClassBound | None = None
    verified: bool = False
    cpu_s: float = 0.0
    notes: tuple[str, ...] = field(default=())
    tolerance: float | None = None
    fused: Problem | None = field(default=None, metadata=_NOT_STORED)
    fusion_certificate: FusionCertificate | None = field(default=None, metadata=_NOT_STORED)
    fusion_bound: Fraction | None = field(default=None, metadata={"group": "fusion"})
    instead: Problem | None = field(default=None, metadata=_NOT_STORED)
    beside: tuple[Result, ...] = field(default=(), metadata=_NOT_STORED)
    in_order: tuple[ObjectiveInOrder, ...] = field(default=(), metadata=_NOT_STORED)
    end: End = field(default=End.NONE, metadata={"group": "end"})
    residency_plan: ResidencyPlan | None = field(
        default=None, metadata=_NOT_STORED, compare=False, repr=False
    )
    origin: str = field(default="", metadata=_NOT_STORED, compare=False)
    cut_short: bool = field(default=False, metadata=_NOT_STORED, compare=False)

    def __post_init__(self) -> None:
        if self.tolerance is not None and self.tolerance < 0:
            raise InputError(f"tolerance: must be 0 or more, is {self.tolerance:g}")

    def with_schedule_of(self, other: Result) -> Result:
        """Return this result with the verified schedule of another."""
        return replace(
            self,
            residency_plan=other.residency_plan,
            schedule=other.schedule,
            origin=other.origin,
            totals=other.totals,
            value=other.value,
            verified=other.verified,
        )

    def problem_of(self, asked: Problem) -> Problem:
        """Return the problem that the schedule is of; ``asked`` is the one asked for."""
        return self.fused or self.instead or asked

    def value_for(self, objective: Objective) -> Fraction | None:
        """Return the value of the schedule by an objective."""
        return None if self.totals is None else self.totals.value(objective)

    def plus(self, solve_s: float, cpu_s: float) -> Result:
        """Return this result with more seconds."""
        return replace(self, solve_s=self.solve_s + solve_s, cpu_s=self.cpu_s + cpu_s)

    @property
    def best_bound(self) -> Fraction | None:
        """The larger of the certified bounds: one over the fusion space holds for each of them."""
        known = [each for each in (self.bound, self.fusion_bound) if each is not None]
        # Both hold for this schedule, as its order and plan belong to the larger space.
        return max(known, default=None)

    @property
    def gap(self) -> float | None:
        """Relative distance to the best certified bound."""
        if self.value is None or self.best_bound is None:
            return None
        return relative_gap(self.value, self.best_bound)

    @property
    def fusion_gap(self) -> float | None:
        """Relative distance to the certified bound over the fusion space."""
        if self.value is None or self.fusion_bound is None:
            return None
        return relative_gap(self.value, self.fusion_bound)

    @property
    def class_gap(self) -> float | None:
        """Relative distance to the bound of its class."""
        if self.value is None or self.class_bound is None:
            return None
        gap = relative_gap(self.value, Fraction(self.class_bound.value))
        # Of a solver, the bound may be above the value by rounding.
        return None if gap is None else max(0.0, gap)

    @property
    def is_best_of_class(self) -> bool:
        """Whether the bound of its class says that it is optimal there, within its tolerance."""
        return is_optimal(self.class_gap, self.tolerance or 0.0)

    @property
    def order(self) -> Ints | None:
        """Operation of each step; None for the problem's own order."""
        return None if self.schedule is None else other_order(self.schedule.steps.operation)

    @property
    def order_key(self) -> bytes | None:
        """Name of the order; None for the problem's own."""
        return order_key(self.order)


def is_optimal(gap: float | None, tolerance: float) -> bool:
    """Whether ``gap`` is within ``tolerance``, and that is one to be called optimal by."""
    return gap is not None and gap <= min(tolerance, LARGEST_TOLERANCE)


def relative_gap(value: Fraction, bound: Fraction) -> float | None:
    """Return ``value / bound - 1``; None where that is infinite, or too large to mean anything."""
    # A bound of 0 proves nothing about a positive value.
    if bound <= 0:
        return 0.0 if value == 0 else None
    ratio = value / bound
    return float(ratio - 1) if ratio < _LARGEST_RATIO else None
