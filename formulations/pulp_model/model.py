"""Subject of the equations: uses, reuse intervals, rates, duals; parts that both models share.

The 0/1 decisions of a whole-tensor schedule are the same where time has a dual value
(:mod:`formulations.pulp_model.timed`) and where it has none
(:mod:`formulations.pulp_model.traffic`).
"""

from __future__ import annotations

import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import floor, log10
from typing import Any

import pulp

from spmopt.core.objective import Objective
from spmopt.core.problem import Problem
from spmopt.core.timeline import Access, Timeline, fitting_timeline

SLACK = 1e-6
"""Shares of a tensor that a solver may be off."""
_ILLEGAL = re.compile(r"[^A-Za-z0-9_]")
_LONGEST = 60
At = tuple[int, int]
"""A tensor and a step."""
Rows = Iterator[tuple[str, Any]]
"""Names and constraints."""
Family = Callable[[Any], Rows]
"""Rows of one kind, of a model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorUse:
    """An operation's use of a tensor.

    ``live_after``: contents after the step are read before they are overwritten, or kept.
    """

    step: int
    tensor: int
    reads: bool
    writes: bool
    fetches: int
    required_resident: bool
    live_after: bool

    @property
    def streams_in(self) -> int:
        """How often a tensor that is not resident is read (R3, R4)."""
        if self.reads:
            return self.fetches
        return self.fetches - 1 if self.live_after else 0

    @property
    def streams_out(self) -> int:
        """How often a tensor that is not resident is written (R4)."""
        return self.fetches if self.writes and self.live_after else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReuseInterval:
    """The steps between two uses of a tensor whose contents are needed after them.

    ``before`` is None for initial contents of DRAM, ``after`` for kept tensors at the end.
    ``begin`` and ``end`` are the steps of the two uses, or -1 and the number of steps. ``written``:
    the contents were written before, so that DRAM may lack them.
    """

    tensor: int
    begin: int
    end: int
    before: TensorUse | None
    after: TensorUse | None
    written: bool

    @property
    def inside(self) -> range:
        """Steps strictly between the uses."""
        return range(self.begin + 1, self.end)


class WholeTensorCase:
    """A problem in its order, each operation in its first mapping that fits, and an objective.

    Attributes
    ----------
    uses
        By step.
    intervals
        By the step that ends them and then by tensor.
    size_bytes, pages, cycles
        Of each tensor, all of it; cycles that the DMA channel takes for it, once.
    room
        Pages that the scratch of each step leaves (R1).
    labels
        A name of each tensor that solvers and file formats take.
    unit
        Objective units in one of the model's: a power of ten that makes dual values near one.

    Raises
    ------
    InfeasibleError
        Required-resident operands and scratch of an operation do not fit the SPM.
    """

    def __init__(self, problem: Problem, objective: Objective) -> None:
        self.problem, self.objective = problem, objective
        self.line = line = fitting_timeline(problem)
        self.steps = line.steps
        machine = problem.machine
        self.uses = _uses(line)
        self.intervals = _intervals(problem, self.uses)
        self.size_bytes = [tensor.size_bytes for tensor in problem.tensors]
        self.pages = [-(-size // machine.page_bytes) for size in self.size_bytes]
        self.cycles = [float(size / machine.bytes_per_cycle) for size in self.size_bytes]
        self.room = [
            machine.spm_pages - -(-size // machine.page_bytes)
            for size in line.scratch_bytes.tolist()
        ]
        self.labels = labels(problem.tensor_names)
        largest = float(max(objective.cycle, objective.dram_in_byte, objective.dram_out_byte))
        # Tolerances of solvers are absolute: dual values near one suit them.
        self.unit = Fraction(10) ** floor(log10(largest)) if largest > 0 else Fraction(1)

    @cached_property
    def spare(self) -> list[int]:
        """Pages that scratch and required-resident operands of each step leave."""
        spare = list(self.room)
        for use in self.uses:
            if use.required_resident:
                spare[use.step] -= self.pages[use.tensor]
        return spare

    @property
    def constant(self) -> Fraction:
        """Constant cost of every schedule, in the objective's units."""
        line = self.line
        of_mappings = (line.spm_read_bytes, line.spm_write_bytes, line.macs, line.own_picojoules)
        return self.objective.of_mappings(*(int(column.sum()) for column in of_mappings))

    def dual(self, weight: Fraction) -> float:
        """Return one of the objective's weights in the model's units."""
        return float(weight / self.unit)

    def interval_steps(self) -> int:
        """Count the steps of all reuse intervals, on which the size of a model depends."""
        return sum(len(interval.inside) + 1 for interval in self.intervals)


class WholeModel(ABC):
    """Decisions of a whole-tensor schedule, as 0/1 variables; 0 for tensors that cannot fit.

    ``here``: of each use (tensor, step); ``kept``: of each interval (tensor, its last step). An
    interval without an earlier use has no variable: nothing is resident before the first step, and
    tensors waiting to be stored at the end are not kept for a use.
    """

    families: Sequence[Family] = ()
    """All rows of the model."""

    def __init__(self, case: WholeTensorCase) -> None:
        self.case = case
        spare, pages = case.spare, case.pages
        self.here = {
            (use.tensor, use.step): variable(
                self.with_name("here", use.tensor, use.step),
                int(use.required_resident or pages[use.tensor] <= spare[use.step]),
                integer=True,
            )
            for use in case.uses
        }
        self.kept = {
            (one.tensor, one.end): variable(
                self.with_name("kept", one.tensor, one.begin, one.end),
                int(all(pages[one.tensor] <= spare[step] for step in one.inside)),
                integer=True,
            )
            for one in case.intervals
            if one.before is not None and one.after is not None
        }

    def with_name(self, what: str, tensor: int, *steps: int) -> str:
        """Name a column or row, as ``load_conv1_w_s7``: kind, tensor, steps."""
        return "_".join((what, self.case.labels[tensor], *(f"s{step}" for step in steps)))

    def is_here(self, use: TensorUse) -> Any:
        """Return whether the tensor is resident in the step of ``use``, all of it."""
        return self.here[use.tensor, use.step]

    def is_kept(self, interval: ReuseInterval) -> Any:
        """Return whether the tensor remains through it, all of it; 0 where there is no choice."""
        return self.kept.get((interval.tensor, interval.end), 0)

    @abstractmethod
    def cost(self) -> Any:
        """Return the objective, but for the constant."""

    @abstractmethod
    def between(self, interval: ReuseInterval) -> dict[int, int]:
        """Return the bytes resident in the steps of an interval that the tensor is not kept in."""

    @abstractmethod
    def lacking(self, interval: ReuseInterval, step: int, most: int) -> int:
        """Return the bytes, of ``most``, that the solution leaves out of DRAM after a step."""

    def program(self, families: Sequence[Family] | None = None) -> Any:
        """Minimize cost, plus the constant, subject to rows of all families or some."""
        case, objective = self.case, self.cost()
        found = pulp.LpProblem("whole_tensors", pulp.LpMinimize)
        # As a variable: file formats and solvers treat constants differently.
        constant = variable("constant", 1, integer=False)
        constant.lowBound = 1
        sure = objective.constant + float(case.constant / case.unit)
        paid = pulp.LpAffineExpression((one, dual) for one, dual in objective.items() if dual)
        found += paid + sure * constant, "objective"
        for family in self.families if families is None else families:
            for name, row in family(self):
                if len(row):
                    found += row, name
        return found


def link(model: WholeModel) -> Rows:
    """(S1) Kept until a use means resident at both ends: ``kept <= here`` of either use."""
    for one in model.case.intervals:
        for use in (one.before, one.after):
            if use is not None and one.before is not None and one.after is not None:
                name = model.with_name("linked", one.tensor, one.end, use.step)
                yield name, total([model.is_kept(one), -model.is_here(use)]) <= 0


def keep_required_operands(model: WholeModel) -> Rows:
    """(S2) Required-resident operands are resident in the step of their operation: ``here = 1``."""
    for use in model.case.uses:
        if use.required_resident:
            name = model.with_name("required_resident", use.tensor, use.step)
            yield name, total([model.is_here(use)]) == 1


def fits(model: WholeModel, inside: Callable[[ReuseInterval, int], list[Any]]) -> Rows:
    """(S3) R1: pages of tensors here, or there ``inside`` an interval, fit beside the scratch."""
    case = model.case
    held: list[list[Any]] = [[] for _ in range(case.steps)]
    for use in case.uses:
        held[use.step].append(case.pages[use.tensor] * model.is_here(use))
    for one in case.intervals:
        for step in one.inside:
            held[step] += inside(one, step)
    for step, terms in enumerate(held):
        yield f"capacity_s{step}", total(terms) <= case.room[step]


def variable(name: str, upper: float | None = None, *, integer: bool = False) -> Any:
    """Create a variable from 0 to ``upper``."""
    # PuLP 4 will have another way, PuLP 3.0 has this one only.
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        return pulp.LpVariable(name, 0, upper, pulp.LpInteger if integer else pulp.LpContinuous)


def total(terms: Iterable[Any]) -> Any:
    """Sum to an expression even where there are no terms, or numbers only."""
    return pulp.lpSum([pulp.LpAffineExpression(), *terms])


def share(value: Any) -> float:
    """Return the value of a variable, or a number."""
    found = value if isinstance(value, int) else value.varValue
    return float(found or 0.0)


def labels(names: Iterable[str]) -> list[str]:
    """Make each name legal and short; a number is added where two would be the same."""
    taken: set[str] = set()
    found = []
    for index, name in enumerate(names):
        # File formats allow few characters, and names of limited length.
        label = _ILLEGAL.sub("_", name)[:_LONGEST]
        while label in taken:
            label = f"{label}_t{index}"
        taken.add(label)
        found.append(label)
    return found


def _uses(line: Timeline) -> list[TensorUse]:
    columns = (
        line.step,
        line.tensor,
        line.kind,
        line.fetches,
        line.required_resident,
        line.live_after,
    )
    return [
        TensorUse(
            step=step,
            tensor=tensor,
            reads=kind != Access.WRITE,
            writes=kind != Access.READ,
            fetches=fetches,
            required_resident=required_resident,
            live_after=live_after,
        )
        for step, tensor, kind, fetches, required_resident, live_after in zip(
            *(column.tolist() for column in columns), strict=True
        )
    ]


def _intervals(problem: Problem, uses: list[TensorUse]) -> list[ReuseInterval]:
    last: dict[int, TensorUse] = {}
    written: set[int] = set()

    def interval(tensor: int, after: TensorUse | None, end: int) -> ReuseInterval:
        before = last.get(tensor)
        return ReuseInterval(
            tensor=tensor,
            begin=-1 if before is None else before.step,
            end=end,
            before=before,
            after=after,
            written=tensor in written,
        )

    found = []
    for use in uses:
        if use.reads:
            found.append(interval(use.tensor, use, use.step))
        last[use.tensor] = use
        if use.writes:
            written.add(use.tensor)
    # R7: a kept tensor that was never written is in DRAM already.
    kept = [t for t, tensor in enumerate(problem.tensors) if tensor.keep and t in written]
    return found + [interval(t, None, len(problem.operations)) for t in kept]
