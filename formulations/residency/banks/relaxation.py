"""The program in bytes, over more and more cells, and the bound that its dual values prove."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from formulations.residency.banks.cells import ChosenCells, Field
from formulations.residency.banks.duals import BankMultipliers
from formulations.residency.banks.facts import BankCoefficients
from formulations.residency.banks.network import BankNetwork
from formulations.residency.banks.paths import Paths, promising
from formulations.residency.banks.program import BankProgram
from formulations.residency.banks.retention import Retention
from formulations.residency.banks.windows import Walk, Windows, WindowSolution
from formulations.residency.bound.ranked import RankedIntervals
from formulations.residency.pages.profiles import Profiles
from formulations.residency.pages.rounding import to_residency_plan
from formulations.solver.highs import interior_point, solve_within
from formulations.solver.program import Floats, SolverResult, SolverStatus
from spmopt.core.problem import Problem
from spmopt.core.result import Certificate
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.scheduler import Request
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Timeline, relax_timeline

_ALL_CELLS = 4_000
"""With so few cells all of them are in the first program."""
_MOST_CELLS = 30_000
"""Beyond that, a program takes minutes: it is solved window by window."""
_MOST_STATES = 20_000_000
"""So many states of all tensors in all steps are kept in a table."""
_NEAR = 2
_ROUNDS = 8
_THRESHOLD = 0.05
_PRECISE = 1e-8
_LARGE = 1e-6


class Relaxation:
    """Dual values and solution of the program in bytes.

    Parameters
    ----------
    line
        Of the mappings that plans run; the bound is of all mappings.
    """

    def __init__(self, problem: Problem, request: Request, line: Timeline) -> None:
        self._problem, self._request, self._line = problem, request, line
        self.facts = BankCoefficients(
            problem, relax_timeline(problem), request.objective, relaxed=True
        )
        zero = np.zeros((self.facts.bank_count, line.steps))
        self.duals = BankMultipliers(hold=zero, load=zero[0], store=zero[0], port=zero)
        self._windows = Windows(self.facts) if _large(self.facts) else None
        self._best = self._prove(self.duals)
        self.cut_short = False

    @property
    def bound(self) -> float:
        """Bound at the best dual values."""
        return self._best.bound

    def offer(self, certificate: Certificate) -> None:
        """Try dual values that know no banks."""
        unit = 2.0**-certificate.bits
        # Dual values of a uniform scratchpad are legal with the same value in every bank.
        hold = np.tile(certificate.spm * unit, (self.facts.bank_count, 1))
        self._try(
            BankMultipliers.legal(
                self.facts,
                hold=hold,
                load=certificate.dram_in.astype(np.float64) * unit,
                store=certificate.dram_out.astype(np.float64) * unit,
                port=np.zeros_like(hold),
            )
        )

    def run(self, request: Request) -> ResidencyPlan | None:
        """Solve, dual value, add cells; the last solution in pages, if there is one."""
        if self._windows is not None:
            return self._run_windows(self._windows, request)
        return self._run_whole(request)

    def _run_whole(self, request: Request) -> ResidencyPlan | None:
        field = Field(self.facts.line)
        cells = len(field.cells)
        every = np.ones(cells, bool)
        chosen = every if cells <= _ALL_CELLS else field.near(_NEAR)
        if cells > _ALL_CELLS:
            chosen = chosen | promising(field, self._table, chosen, self._limit)
        residency_plan: ResidencyPlan | None = None
        for _ in range(_ROUNDS):
            if int(chosen.sum()) > _MOST_CELLS or request.remaining_s() <= 0:
                break
            request.report(f"program of {int(chosen.sum()):,} cells", None)
            built, answer = self._solve(field, chosen, request)
            if answer.row_dual is None or answer.column_dual is None:
                break
            self._try(built.multipliers(answer))
            if answer.status is not SolverStatus.OPTIMAL:
                break
            residency_plan = self._round(built, answer) or residency_plan
            # The program over chosen cells is above the optimum, the bound below it.
            gained = built.value(answer) - self.bound
            further = promising(field, self._table, chosen, self._limit)
            if gained <= request.tolerance / 3 * abs(self.bound) or not further.any():
                return residency_plan
            chosen = chosen | further
        self.cut_short = request.remaining_s() <= 0
        return residency_plan

    def _run_windows(self, windows: Windows, request: Request) -> ResidencyPlan | None:
        """Sweep over windows until little is gained; the last solutions in pages, joined."""
        residency_plan: ResidencyPlan | None = None
        for number in range(_ROUNDS):
            before = self.bound
            duals, solutions = windows.sweep(self.duals, request, self._limit, number % 2 / 2)
            self._try(duals)
            if solutions and not self._problem.several_mappings:
                intervals = RankedIntervals(self._line)
                residency_plan = (
                    self._to_residency_plan(join_profile(solutions, intervals)) or residency_plan
                )
            gained = self.bound - before
            if request.remaining_s() <= 0 or gained <= request.tolerance / 3 * abs(self.bound):
                break
        self.cut_short = request.remaining_s() <= 0
        return residency_plan

    def lasting(
        self, request: Request, retention: Retention, step_cycles: Floats
    ) -> ResidencyPlan | None:
        """Return a plan in which bytes wait no longer in a bank that forgets than it keeps them.

        Only from one use to the next, which is not all that R12 asks for; and without moves on
        the way, which R12 allows: so its dual values are no bound, and its residency plan need not
        be legal.
        """
        if self._windows is not None:
            return None
        field = Field(self.facts.line)
        chosen = field.near(0)
        if int(chosen.sum()) > _MOST_CELLS or request.remaining_s() <= 0:
            return None
        network = BankNetwork(self.facts, ChosenCells(field, chosen))
        built = BankProgram(
            network,
            retention.bar_arcs(network.arcs, step_cycles),
            retention.bar_scratch(step_cycles),
        )
        answer = self._answer(built, chosen, request)
        if answer.status is not SolverStatus.OPTIMAL:
            return None
        return self._round(built, answer, retention.room(step_cycles))

    @property
    def _table(self) -> Paths:
        """Paths at the best dual values, of tensors that are not large."""
        if not isinstance(self._best, Paths):
            raise TypeError("there is no table of so many states")
        return self._best

    @property
    def _limit(self) -> float:
        return _THRESHOLD * self.facts.byte_dual

    def _prove(self, duals: BankMultipliers) -> Paths | Walk:
        if self._windows is not None:
            return self._windows.walk(duals, [])
        return Paths(self.facts, duals)

    def _try(self, duals: BankMultipliers) -> None:
        found = self._prove(duals)
        if found.bound > self.bound:
            self._best, self.duals = found, duals
            self._request.report_incumbent(bound=found.bound)

    def _solve(
        self, field: Field, chosen: Bools, request: Request
    ) -> tuple[BankProgram, SolverResult]:
        built = BankProgram(BankNetwork(self.facts, ChosenCells(field, chosen)))
        return built, self._answer(built, chosen, request)

    @staticmethod
    def _answer(built: BankProgram, chosen: Bools, request: Request) -> SolverResult:
        interior = interior_point(_PRECISE if chosen.size <= _ALL_CELLS else _LARGE)
        # An interior point that loses its precision ends far away; a vertex does not.
        for options in (interior, {"solver": "simplex"}):
            answer = solve_within(built.program, request, options=options)
            if answer.status is not SolverStatus.OTHER:
                break
        return answer

    def _round(
        self, built: BankProgram, answer: SolverResult, room: Ints | None = None
    ) -> ResidencyPlan | None:
        """Return whole pages of the solution, whatever their bank; only where there is one mapping.

        ``room`` (n,): pages of the steps, those of all banks if not given.
        """
        if self._problem.several_mappings:
            return None
        intervals = RankedIntervals(self._line)
        return self._to_residency_plan(
            profile(built.network, intervals, built.amounts(answer)), room
        )

    def _to_residency_plan(self, rows: Profiles, room: Ints | None = None) -> ResidencyPlan | None:
        machine, line = self._problem.machine, self._line
        return to_residency_plan(
            rows,
            self.duals.load + self.facts.in_byte,
            page_bytes=machine.page_bytes,
            capacity_pages=(machine.spm_pages if room is None else room)
            - machine.pages(line.scratch_bytes),
        )


def _large(facts: BankCoefficients) -> bool:
    """Return whether there are too many states for a table, or cells for one program."""
    line = facts.line
    states = (2 * facts.bank_count + 1) * line.steps * line.size_bytes.size
    return states > _MOST_STATES or (2 * _NEAR + 1) * line.step.size > _MOST_CELLS


class _Rows(NamedTuple):
    """Step functions of some tensors: from a step on, bytes resident, and dirty before it (k,)."""

    tensor: Ints
    step: Ints
    resident: Floats
    dirty: Floats
    access: Ints


def profile(network: BankNetwork, intervals: RankedIntervals, amounts: Floats) -> Profiles:
    """Add up the bytes (c,) of arcs; a row for each cell, and one for the steps after it."""
    rows = _rows(network, amounts)
    return _profile(intervals, rows, rows.access)


def join_profile(solutions: list[WindowSolution], intervals: RankedIntervals) -> Profiles:
    """Add up the bytes of windows, one after the other."""
    line, parts = intervals.line, []
    for each in solutions:
        rows = _rows(each.network, each.amounts)
        # What goes on after the window is in the first row of the next one.
        steps = each.network.facts.line.steps
        goes_on = np.zeros(each.own.size, bool)
        goes_on[each.network.cells.tensor[each.network.cells.leaves]] = True
        kept = (rows.step < steps) | ~goes_on[rows.tensor]
        first = int(line.first[each.begin])
        parts.append(
            _Rows(
                each.own[rows.tensor[kept]],
                rows.step[kept] + each.begin,
                rows.resident[kept],
                rows.dirty[kept],
                np.where(rows.access[kept] >= 0, rows.access[kept] + first, -1),
            )
        )
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    # Where a window begins with a cell of a tensor, a row after the last cell before is not needed.
    order = np.lexsort((columns[4] < 0, columns[1], columns[0]))
    tensor, step = columns[0][order], columns[1][order]
    new = np.ones(order.size, bool)
    new[1:] = (tensor[1:] != tensor[:-1]) | (step[1:] != step[:-1])
    rows = _Rows(*(column[order][new] for column in columns))
    return _profile(intervals, rows, rows.access)


def _profile(intervals: RankedIntervals, rows: _Rows, access: Ints) -> Profiles:
    return Profiles(
        intervals,
        tensor=rows.tensor,
        step=rows.step,
        resident=rows.resident,
        dirty=rows.dirty,
        access=intervals.position[access],
    )


def _rows(network: BankNetwork, amounts: Floats) -> _Rows:
    """Add up the bytes (c,) of arcs."""
    cells, arcs, count = network.cells, network.arcs, len(network.cells)
    inside = (arcs.bank >= 0) & (arcs.state >= 0)
    between = (arcs.bank >= 0) & (arcs.state < 0)
    newer = (arcs.state > network.facts.bank_count) & ~cells.dead[arcs.cell]
    held, carried, dirty = (
        np.bincount(arcs.cell, np.where(which, amounts, 0.0), count).astype(np.float64)
        for which in (inside, between, newer)
    )
    before = np.where(cells.first | cells.entered, 0.0, np.roll(dirty, 1))
    before += network.enter_dirty(amounts)
    # The row after a cell is not needed where the next cell is one step on.
    # Between two cells of a tensor bytes only remain: one row for all those steps.
    apart = (np.diff(cells.tensor) != 0) | (np.diff(cells.step) != 1)
    alone = np.flatnonzero(np.append(apart, True)[:count])
    return _Rows(
        tensor=np.insert(cells.tensor, alone + 1, cells.tensor[alone]),
        step=np.insert(cells.step, alone + 1, cells.step[alone] + 1),
        resident=np.insert(held, alone + 1, carried[alone]),
        dirty=np.insert(before, alone + 1, dirty[alone]),
        access=np.insert(cells.access, alone + 1, -1),
    )
