"""Which pages of a residency plan lie in which bank, and when they move: an integer program.

The residency plan decides residency; its pages fit the banks together, so that some choice is
always legal: intervals whose number never exceeds the pages can be given one page each, and keep
it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import numpy as np

from formulations.residency.banks.facts import BankCoefficients
from formulations.residency.banks.program import carry_occupancy, place_scratch
from formulations.residency.banks.retention import Retention, durations
from formulations.residency.banks.segments import PageSegments
from formulations.solver.highs import Option, solve_within
from formulations.solver.program import Floats, Program, ProgramBuilder, SolverResult, SolverStatus
from spmopt.assemble.cost import ResidencyPlanCost
from spmopt.assemble.index import resident_bytes
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.core.shares import STREAM_BANK
from spmopt.core.table import Ints

_GAP = 1e-5
_WHOLE = 1e-6


@dataclass(frozen=True, kw_only=True, eq=False)
class Assignment:
    """Pages of every segment and of every step's scratch in each bank, and their costs.

    ``pages`` (g, b), ``scratch`` (n, b); ``value`` in objective units, of banks and of time.
    """

    segments: PageSegments
    pages: Ints
    scratch: Ints
    value: float


def assign(
    facts: BankCoefficients,
    residency_plan: ResidencyPlan,
    spent: ResidencyPlanCost,
    request: Request,
    retention: Retention | None = None,
) -> Assignment | None:
    """Return the least cost of a plan's banks; None if the solver found nothing in its time.

    Where banks forget, durations depend on the choice, and the allowed banks on durations: pages
    that remain too long are barred from a bank and the choice is made again, until none does. None
    too if the residency plan has more that must last than other banks hold.
    """
    model = _Model(facts, residency_plan, spent)
    if retention is None:
        return _solve(model, request)
    step_cycles = spent.step_time.astype(np.float64)
    model.bar(retention, step_cycles)
    while (found := _solve(model, request)) is not None:
        # Durations only grow, so that the loop ends.
        step_cycles = np.maximum(step_cycles, model.durations(found))
        if not model.bar(retention, step_cycles, found):
            return found
    return None


def _solve(model: _Model, request: Request) -> Assignment | None:
    """Solve the relaxation, then the program with whole numbers next to its solution."""
    options: dict[str, Option] = {"mip_rel_gap": min(_GAP, request.tolerance)}

    def solve_part(one: Program) -> SolverResult:
        return solve_within(one, request, options=options)

    program = model.program()
    relaxed = solve_part(replace(program, integer=None))
    answer = solve_part(program if relaxed.primal is None else _near(program, relaxed.primal))
    # Rounding the relaxation may exclude all solutions: then the whole program.
    if answer.status is SolverStatus.INFEASIBLE:
        answer = solve_part(program)
    if answer.primal is None or answer.objective is None or not answer.feasible:
        return None
    return model.read(answer.primal, answer.objective)


def _near(program: Program, solution: Floats) -> Program:
    """Return whole numbers next to the relaxation's: most are whole, and are left as they are.

    Rows are nearly those of intervals, so that little is lost, and the rest is quick to decide.
    """
    whole = program.integer if program.integer is not None else np.zeros(solution.size, bool)
    lower = np.where(whole, np.floor(solution + _WHOLE), program.lower)
    upper = np.where(whole, np.ceil(solution - _WHOLE), program.upper)
    return replace(program, lower=lower, upper=upper)


class _Model:
    """Columns: pages of segments by bank, moves between segments, occupancy, scratch, durations.

    In pages and in dual values of the dearest column.
    """

    def __init__(
        self, facts: BankCoefficients, residency_plan: ResidencyPlan, spent: ResidencyPlanCost
    ) -> None:
        self._facts, self._spent, self.build = facts, spent, ProgramBuilder()
        self._found = found = PageSegments(facts, residency_plan)
        self._pairs = list(permutations(range(facts.bank_count), 2))
        self._joined = np.flatnonzero(np.diff(found.interval, prepend=-1) == 0)
        self._moved_bytes = found.page_bytes[found.interval[self._joined]]
        self._busy = np.flatnonzero(facts.scratch_bytes)
        self._streamed_read, self._streamed_write = _stream(facts, residency_plan)
        self._cycle = facts.byte_time * facts.cycle_bytes  # objective units
        timed = bool(facts.banks_with_port.any())
        # Objective units of a segment's page in each bank, and of each move.
        cost = found.read[:, None] * facts.read_byte + found.write[:, None] * facts.write_byte
        touched = np.zeros((found.interval.size, facts.bank_count))
        np.add.at(touched, found.segment, cost)
        pairs = np.array(self._pairs, np.int64).reshape(-1, 2)
        a_byte = facts.read_byte[pairs[:, 0]] + facts.write_byte[pairs[:, 1]]
        moved = self._moved_bytes[:, None] * a_byte
        dearest = max(touched.max(initial=0.0), moved.max(initial=0.0), self._cycle * timed)
        self._unit = dearest or 1.0
        room = facts.capacity_bytes[:, None] / facts.page_bytes
        # Moves, and banks in use, follow in whole numbers.
        self._pages = self._columns(touched.shape, cost=touched / self._unit, integer=True)
        self._moves = self._columns(moved.shape, cost=moved / self._unit)
        self._used = self._columns((facts.bank_count, facts.line.steps), upper=room)
        self._scratch = self._columns((facts.bank_count, self._busy.size), integer=True)
        self._all_somewhere()
        self._carry()
        self._occupy()
        self._add_scratch()
        self._barred: list[Ints] = []
        self._time: Ints | None = None
        if timed:
            cycle, least = self._cycle / self._unit, spent.step_time
            self._time = self._columns((facts.line.steps,), cost=cycle, lower=least)
            for bank in np.flatnonzero(facts.banks_with_port).tolist():
                self._use_port(self._time, bank)

    def _columns(self, shape: tuple[int, ...], **sides: Any) -> Ints:
        return self.build.columns(np.ones(shape, bool), **sides)

    def program(self) -> Program:
        """Return the program, without columns that are barred."""
        program = self.build.program()
        upper = program.upper.copy()
        for columns in self._barred:
            upper[columns] = 0.0
        return replace(program, upper=upper)

    def bar(
        self, retention: Retention, step_cycles: Floats, found: Assignment | None = None
    ) -> bool:
        """(A6) Bar pages and scratch from banks that forget them in so long steps.

        Returns whether ``found`` has some of these.
        """
        stays = retention.bar(self._found, self._facts.line, step_cycles)
        scratch = retention.bar_scratch(step_cycles)[self._busy]
        self._barred = [self._pages[stays], self._scratch[scratch.T]]
        if found is None:
            return False
        broken = (found.pages[stays] > 0).any() or (found.scratch[self._busy][scratch] > 0).any()
        return bool(broken)

    def durations(self, found: Assignment) -> Floats:
        """Return (n,) cycles of steps with these banks, not less than they are."""
        facts, own, steps = self._facts, self._found, self._facts.line.steps
        busy = np.zeros((facts.bank_count, steps))
        for bank in range(facts.bank_count):
            read, write = facts.read_ratio[bank], facts.write_ratio[bank]
            touched = found.pages[own.segment, bank] * (read * own.read + write * own.write)
            busy[bank] = np.bincount(own.step, touched, steps)
            change = found.pages[self._joined, bank] - found.pages[self._joined - 1, bank]
            moved = self._moved_bytes * np.where(change > 0, write * change, -read * change)
            busy[bank] += np.bincount(own.begin[self._joined], moved, steps)
        read, write = facts.read_ratio[STREAM_BANK], facts.write_ratio[STREAM_BANK]
        busy[STREAM_BANK] += read * self._streamed_read + write * self._streamed_write
        step, serial = self._spent.step_time, self._spent.serial_time
        return durations(facts, step.astype(np.float64), serial.astype(np.float64), busy)

    def read(self, primal: Floats, objective: float) -> Assignment:
        """Return whole pages, and the cost of banks and time."""
        facts = self._facts
        value = objective * self._unit
        if self._time is None:
            value += self._cycle * float(self._spent.step_time.sum())
        value += float(self._streamed_read.sum() * facts.read_byte[STREAM_BANK])
        value += float(self._streamed_write.sum() * facts.write_byte[STREAM_BANK])
        scratch = np.zeros((facts.line.steps, facts.bank_count), np.int64)
        scratch[self._busy] = np.rint(primal[self._scratch]).astype(np.int64).T
        pages = np.rint(primal[self._pages]).astype(np.int64)
        return Assignment(segments=self._found, pages=pages, scratch=scratch, value=value)

    def _all_somewhere(self) -> None:
        """(A1) The pages of a segment lie in some banks."""
        total = self._found.pages[self._found.interval]
        row = self.build.rows(total.size, total, total)
        self.build.add(row[:, None], self._pages, 1.0)

    def _carry(self) -> None:
        """(A2) In a bank: as before, plus arrivals, less departures."""
        joined = self._joined
        for bank in range(self._facts.bank_count):
            row = self.build.rows(joined.size, 0.0, 0.0)
            self.build.add(row, self._pages[joined, bank], 1.0)
            self.build.add(row, self._pages[joined - 1, bank], -1.0)
            for place, (source, target) in enumerate(self._pairs):
                self.build.add(
                    row, self._moves[:, place], (bank == source) * 1.0 - (bank == target)
                )

    def _occupy(self) -> None:
        """(A3) Pages in use of a bank: as in the step before, plus begins, less ends."""
        found = self._found
        row = carry_occupancy(self.build, self._used, self._scratch, self._busy)
        ends = np.flatnonzero(found.end < self._facts.line.steps)
        self.build.add(row[:, found.begin].T, self._pages, -1.0)
        self.build.add(row[:, found.end[ends]].T, self._pages[ends], 1.0)

    def _add_scratch(self) -> None:
        """(A4) The scratch of a step lies in some banks."""
        facts = self._facts
        place_scratch(self.build, self._scratch, facts.scratch_bytes[self._busy] / facts.page_bytes)

    def _use_port(self, time: Ints, bank: int) -> None:
        """(A5) A step lasts at least as long as serial transfers and a bank's port take."""
        facts, found = self._facts, self._found
        read = facts.read_ratio[bank] / facts.cycle_bytes
        write = facts.write_ratio[bank] / facts.cycle_bytes
        least = self._spent.serial_time.astype(np.float64)
        if bank == STREAM_BANK:
            least = least + read * self._streamed_read + write * self._streamed_write
        row = self.build.rows(least.size, least)
        self.build.add(row, time, 1.0)
        # Several events of a segment may fall on one step.
        place = found.segment * least.size + found.step
        unique, inverse = np.unique(place, return_inverse=True)
        busy = np.bincount(inverse, read * found.read + write * found.write, unique.size)
        segment, step = np.divmod(unique, least.size)
        self.build.add(row[step], self._pages[segment, bank], -busy)
        for place_, (source, target) in enumerate(self._pairs):
            taken = self._moved_bytes * (read * (source == bank) + write * (target == bank))
            self.build.add(row[found.begin[self._joined]], self._moves[:, place_], -taken)


def _stream(facts: BankCoefficients, residency_plan: ResidencyPlan) -> tuple[Floats, Floats]:
    """Sum up reads and writes of the stream bank (n,) for non-resident bytes, or for no operand."""
    line = facts.line
    away = line.size_bytes[line.tensor] - resident_bytes(
        residency_plan.residency, line.step, line.tensor
    )
    read = away * (facts.stream_out + facts.own_read)
    write = away * (facts.stream_in + facts.own_write)
    return (
        np.bincount(line.step, read, line.steps) + facts.loose_read,
        np.bincount(line.step, write, line.steps) + facts.loose_write,
    )
