"""What comes back from a scheduler, and what the program reports of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

from spmopt.core.objective import Objective
from spmopt.core.order import other_order
from spmopt.core.plan import Plan
from spmopt.core.schedule import Schedule
from spmopt.core.table import Ints

_LARGEST_RATIO = 10**300  # of a double, nearly
_UNFINISHED = "the bound holds, but {} cut its search short: more time may raise it"
UNFINISHED = OUT_OF_TIME, INTERRUPTED = (
    _UNFINISHED.format("the time limit"),
    _UNFINISHED.format("Ctrl-C"),
)
"""Notes on a bound whose search ended early."""


class Status(StrEnum):
    """How much is known about an outcome."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """Prices that prove a lower bound (problem statement, section 5).

    All prices are integers in units of ``2**-bits`` objective units per byte, one per step of
    ``order``: ``spm`` for a byte of SPM held during the step, ``dram_in`` and ``dram_out`` for
    the step's DMA time spent on a byte (equal unless the machine is duplex). The bound holds for
    every legal schedule of the instance in that order, and for no other: ``order[i]`` is the
    operation of step ``i``, None stands for the instance's own order.
    """

    objective: Objective
    bits: int
    spm: Ints
    dram_in: Ints
    dram_out: Ints
    order: Ints | None = None


@dataclass(frozen=True, kw_only=True)
class ClassBound:
    """A bound for a narrower class of schedules, as a solver reported it (not certified)."""

    value: float
    holds_for: str
    proved_by: str


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a scheduler returns: a plan, and what it can prove about it.

    ``cut_short`` says that the search for the certificate's prices ended by the time limit or an
    interrupt: they prove what they prove, but better ones may be near. With ``schedule`` the
    plan is not looked at: a plan says nothing of queue order and, mostly, of addresses.
    """

    plan: Plan | None
    schedule: Schedule | None = None
    certificate: Certificate | None = None
    class_bound: ClassBound | None = None
    notes: tuple[str, ...] = ()
    cut_short: bool = False


@dataclass(frozen=True, kw_only=True)
class Totals:
    """Exact totals of a schedule, recomputed by the verifier.

    ``dma_descriptors`` counts contiguous pieces of SPM that the ``dma_commands`` move, a stream
    as one. Files that were written before these two were counted lack them: None.
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

    @property
    def traffic_bytes(self) -> int:
        """All DMA bytes."""
        return self.dram_in_bytes + self.dram_out_bytes

    def value(self, objective: Objective) -> Fraction:
        """The objective, exact."""
        return (
            objective.cycle * (self.replay_cycles if objective.replayed else self.makespan_cycles)
            + objective.dram_in_byte * self.dram_in_bytes
            + objective.dram_out_byte * self.dram_out_bytes
            + objective.spm_read_byte * self.spm_read_bytes
            + objective.spm_write_byte * self.spm_write_bytes
            + objective.mac * self.macs
        )


@dataclass(frozen=True, kw_only=True)
class Result:
    """A verified schedule with its figures and, where there is one, its certified bound.

    ``gap`` is ``objective / bound - 1``. ``status`` is ``optimal`` when the gap is within the
    ``tolerance`` asked for (None: not recorded). A relaxation (``fluid``) has a bound but no
    schedule and no totals; its status is ``unknown``.
    """

    scheduler: str
    objective: Objective
    status: Status
    solve_s: float
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

    @property
    def gap(self) -> float | None:
        """Relative distance to the certified bound."""
        if self.value is None or self.bound is None:
            return None
        return relative_gap(self.value, self.bound)

    @property
    def order(self) -> Ints | None:
        """What each step of the schedule runs; None for the instance's own order."""
        return None if self.schedule is None else other_order(self.schedule.steps.operation)


def relative_gap(value: Fraction, bound: Fraction) -> float | None:
    """``value / bound - 1``; None where that is infinite, or too large to mean anything."""
    if bound <= 0:
        return 0.0 if value == 0 else None
    ratio = value / bound
    return float(ratio - 1) if ratio < _LARGEST_RATIO else None
