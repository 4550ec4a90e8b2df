"""Which pages of a plan lie in which bank, and when they move: an integer program.

The plan says what is resident; its pages fit the banks together, so that some choice is always
legal: intervals whose number never exceeds the pages can be given one page each, and keep it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from formulations.residency.banks.facts import Facts
from formulations.residency.banks.rows import RowTable
from formulations.residency.banks.stays import Stays, stays
from formulations.solver.highs import solve
from formulations.solver.program import Answer, Ending, Floats, Program, compressed
from spmopt.assemble.cost import PlanCost
from spmopt.assemble.index import resident_bytes
from spmopt.core.schedule import Plan
from spmopt.core.scheduler import Request
from spmopt.core.shares import STREAM_BANK
from spmopt.core.table import Ints

_GAP = 1e-5
_WHOLE = 1e-6


@dataclass(frozen=True, kw_only=True, eq=False)
class Assignment:
    """Pages of every segment and of every step's scratch in each bank, and what they cost.

    ``pages`` (g, b), ``scratch`` (n, b); ``value`` in objective units, of banks and of time.
    """

    stays: Stays
    pages: Ints
    scratch: Ints
    value: float


def assign(facts: Facts, plan: Plan, spent: PlanCost, request: Request) -> Assignment | None:
    """Least cost of a plan's banks; None if the solver found nothing in its time."""
    found = stays(facts, plan)
    model = _Model(facts, found, plan, spent)
    program = model.program()

    def solved(one: Program) -> Answer:
        return solve(
            one,
            options={"mip_rel_gap": min(_GAP, request.tolerance)},
            time_limit_s=request.remaining_s(),
            threads=request.threads,
            stop=request.stop,
        )

    relaxed = solved(replace(program, integer=None))
    answer = solved(program if relaxed.primal is None else _near(program, relaxed.primal))
    if answer.ending is Ending.INFEASIBLE:
        answer = solved(program)
    if answer.primal is None or answer.objective is None or not answer.feasible:
        return None
    return model.read(answer.primal, answer.objective)


def _near(program: Program, solution: Floats) -> Program:
    """Whole numbers next to those of the relaxation: most of them are whole, and stay as they are.

    Rows are nearly those of intervals, so that little is lost, and the rest is quick to decide.
    """
    whole = program.integer if program.integer is not None else np.zeros(solution.size, bool)
    lower = np.where(whole, np.floor(solution + _WHOLE), program.lower)
    upper = np.where(whole, np.ceil(solution - _WHOLE), program.upper)
    return replace(program, lower=lower, upper=upper)


class _Model:
    """Columns: pages of segments by bank, moves between segments, occupancy, scratch, durations."""

    def __init__(self, facts: Facts, found: Stays, plan: Plan, spent: PlanCost) -> None:
        self._facts, self._stays, self._spent = facts, found, spent
        banks, steps = facts.banks, facts.line.steps
        segments = found.stay.size
        self._pairs = [pair for pair in product(range(banks), repeat=2) if pair[0] != pair[1]]
        self._joined = np.flatnonzero(np.diff(found.stay, prepend=-1) == 0)
        self._busy = np.flatnonzero(facts.scratch_bytes)
        self._timed = bool(facts.ported.any())
        counts = (
            segments * banks,
            self._joined.size * len(self._pairs),
            banks * steps,
            banks * self._busy.size,
            steps if self._timed else 0,
        )
        edges = np.concatenate(([0], np.cumsum(counts)))
        self._pages = edges[0] + np.arange(counts[0]).reshape(segments, banks)
        self._moves = edges[1] + np.arange(counts[1]).reshape(self._joined.size, len(self._pairs))
        self._used = edges[2] + np.arange(counts[2]).reshape(banks, steps)
        self._scratch = edges[3] + np.arange(counts[3]).reshape(banks, self._busy.size)
        self._time = edges[4] + np.arange(counts[4])
        self._count = int(edges[5])
        self._streamed_read, self._streamed_write = _streamed(facts, plan)

    def program(self) -> Program:
        """All rows, in pages and in prices of the dearest column."""
        rows = RowTable()
        self._all_somewhere(rows)
        self._carried(rows)
        self._occupied(rows)
        self._scratched(rows)
        if self._timed:
            for bank in np.flatnonzero(self._facts.ported).tolist():
                self._ported(rows, bank)
        cost = self._cost()
        self._unit = float(cost.max(initial=0.0)) or 1.0
        lower, upper = np.zeros(self._count), np.full(self._count, np.inf)
        room = self._facts.capacity_bytes / self._facts.page_bytes
        upper[self._used] = room[:, None]
        if self._timed:
            lower[self._time] = self._spent.step_time
        # What moves, and what is in use, follows in whole numbers.
        integer = np.zeros(self._count, bool)
        integer[self._pages] = True
        integer[self._scratch] = True
        return Program(
            cost=cost / self._unit,
            lower=lower,
            upper=upper,
            row_lower=np.concatenate(rows.lower),
            row_upper=np.concatenate(rows.upper),
            matrix=compressed(*rows.triplets(), self._count, by_rows=False),
            integer=integer,
        )

    def read(self, primal: Floats, objective: float) -> Assignment:
        """Whole pages, and the cost of banks and time."""
        facts = self._facts
        value = objective * self._unit
        if not self._timed:
            value += self._cycle * float(self._spent.step_time.sum())
        value += float(self._streamed_read.sum() * facts.read_byte[STREAM_BANK])
        value += float(self._streamed_write.sum() * facts.write_byte[STREAM_BANK])
        scratch = np.zeros((facts.line.steps, facts.banks), np.int64)
        scratch[self._busy] = np.rint(primal[self._scratch]).astype(np.int64).T
        return Assignment(
            stays=self._stays,
            pages=np.rint(primal[self._pages]).astype(np.int64),
            scratch=scratch,
            value=value,
        )

    @property
    def _cycle(self) -> float:
        """Objective units a cycle."""
        return self._facts.byte_time * self._facts.cycle_bytes

    def _all_somewhere(self, rows: RowTable) -> None:
        """(A1) The pages of a segment lie in some banks."""
        total = self._stays.pages[self._stays.stay].astype(np.float64)
        first = rows.family(total, total)
        for bank in range(self._facts.banks):
            rows.add(first + np.arange(total.size), self._pages[:, bank], 1.0)

    def _carried(self, rows: RowTable) -> None:
        """(A2) In a bank: as before, and what moves there, less what moves away."""
        for bank in range(self._facts.banks):
            zero = np.zeros(self._joined.size)
            row = rows.family(zero, zero) + np.arange(zero.size)
            rows.add(row, self._pages[self._joined, bank], 1.0)
            rows.add(row, self._pages[self._joined - 1, bank], -1.0)
            for place, (source, target) in enumerate(self._pairs):
                if bank in (source, target):
                    sign = -1.0 if bank == target else 1.0
                    rows.add(row, self._moves[:, place], sign)

    def _occupied(self, rows: RowTable) -> None:
        """(A3) Pages in use of a bank: as in the step before, what begins, less what ended."""
        found, (banks, steps) = self._stays, self._used.shape
        zero = np.zeros(banks * steps)
        row = (rows.family(zero, zero) + np.arange(zero.size)).reshape(banks, steps)
        rows.add(row.ravel(), self._used.ravel(), 1.0)
        rows.add(row[:, 1:].ravel(), self._used[:, :-1].ravel(), -1.0)
        ends = np.flatnonzero(found.end < steps)
        over = self._busy + 1 < steps
        for bank in range(banks):
            rows.add(row[bank, found.begin], self._pages[:, bank], -1.0)
            rows.add(row[bank, found.end[ends]], self._pages[ends, bank], 1.0)
            rows.add(row[bank, self._busy], self._scratch[bank], -1.0)
            rows.add(row[bank, self._busy[over] + 1], self._scratch[bank, over], 1.0)

    def _scratched(self, rows: RowTable) -> None:
        """(A4) The scratch of a step lies in some banks."""
        needed = self._facts.scratch_bytes[self._busy] / self._facts.page_bytes
        first = rows.family(needed, needed)
        for bank in range(self._facts.banks):
            rows.add(first + np.arange(needed.size), self._scratch[bank], 1.0)

    def _ported(self, rows: RowTable, bank: int) -> None:
        """(A5) A step lasts at least as long as serial transfers and a bank's port take."""
        facts, found = self._facts, self._stays
        read = facts.read_ratio[bank] / facts.cycle_bytes
        write = facts.write_ratio[bank] / facts.cycle_bytes
        least = self._spent.serial_time.astype(np.float64)
        if bank == STREAM_BANK:
            least = least + read * self._streamed_read + write * self._streamed_write
        first = rows.family(least, np.full(least.size, np.inf))
        rows.add(first + np.arange(least.size), self._time, 1.0)
        # Several events of a segment may fall on one step.
        place = found.segment * least.size + found.step
        unique, inverse = np.unique(place, return_inverse=True)
        busy: Floats = np.bincount(
            inverse, read * found.read + write * found.write, unique.size
        ).astype(np.float64)
        segment, step = np.divmod(unique, least.size)
        rows.add(first + step, self._pages[segment, bank], -busy)
        moved = found.page_bytes[found.stay[self._joined]]
        for place_, (source, target) in enumerate(self._pairs):
            taken = read * moved * (source == bank) + write * moved * (target == bank)
            rows.add(first + found.begin[self._joined], self._moves[:, place_], -taken)

    def _cost(self) -> Floats:
        """Objective units of every column."""
        facts, found = self._facts, self._stays
        cost = np.zeros(self._count)
        segments = found.stay.size
        for bank in range(facts.banks):
            touched = facts.read_byte[bank] * found.read + facts.write_byte[bank] * found.write
            cost[self._pages[:, bank]] = np.bincount(found.segment, touched, segments)
        moved = found.page_bytes[found.stay[self._joined]]
        for place, (source, target) in enumerate(self._pairs):
            cost[self._moves[:, place]] = moved * (
                facts.read_byte[source] + facts.write_byte[target]
            )
        if self._timed:
            cost[self._time] = self._cycle
        return cost


def _streamed(facts: Facts, plan: Plan) -> tuple[Floats, Floats]:
    """(n,) Bytes that the stream bank reads and writes for what is not resident, or no operand."""
    line = facts.line
    away = line.size_bytes[line.tensor] - resident_bytes(plan.residency, line.step, line.tensor)
    read = away * (facts.stream_out + facts.own_read)
    write = away * (facts.stream_in + facts.own_write)
    return (
        np.bincount(line.step, read, line.steps) + facts.loose_read,
        np.bincount(line.step, write, line.steps) + facts.loose_write,
    )
