"""The program in bytes, over more and more cells, and the bound that its prices prove."""

from __future__ import annotations

import numpy as np

from formulations.residency.banks.cells import ChosenCells, Field
from formulations.residency.banks.facts import BankCoefficients
from formulations.residency.banks.network import BankNetwork
from formulations.residency.banks.paths import Paths, promising
from formulations.residency.banks.prices import BankMultipliers
from formulations.residency.banks.program import BankProgram
from formulations.residency.banks.retention import Retention
from formulations.residency.bound.ranked import RankedIntervals
from formulations.residency.pages.profiles import Profiles
from formulations.residency.pages.rounding import to_plan
from formulations.solver.highs import interior_point, solve_within
from formulations.solver.program import Floats, SolverResult, SolverStatus
from spmopt.core.instance import Instance
from spmopt.core.result import Certificate
from spmopt.core.schedule import Plan
from spmopt.core.scheduler import Request
from spmopt.core.table import Bools, Ints
from spmopt.core.timeline import Timeline, relaxed_timeline

_ALL_CELLS = 4_000
"""With so few cells all of them are in the first program."""
_MOST_CELLS = 30_000
"""Beyond that, a program takes minutes: the prices found before it are all there is."""
_NEAR = 2
_ROUNDS = 8
_THRESHOLD = 0.05
_PRECISE = 1e-8
_LARGE = 1e-6


class Relaxation:
    """Prices and solution of the program in bytes.

    Parameters
    ----------
    line
        Of the modes that plans run; the bound is of all modes.
    """

    def __init__(self, instance: Instance, request: Request, line: Timeline) -> None:
        self._instance, self._request, self._line = instance, request, line
        self.facts = BankCoefficients(
            instance, relaxed_timeline(instance), request.objective, relaxed=True
        )
        zero = np.zeros((self.facts.bank_count, line.steps))
        self.prices = BankMultipliers(hold=zero, load=zero[0], store=zero[0], port=zero)
        self._best = Paths(self.facts, self.prices)
        self.cut_short = False

    @property
    def bound(self) -> float:
        """What the best prices prove."""
        return self._best.bound

    def offer(self, certificate: Certificate) -> None:
        """Try prices that know no banks."""
        unit = 2.0**-certificate.bits
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

    def run(self, request: Request) -> Plan | None:
        """Solve, price, add cells; the last solution in pages, if there is one."""
        field = Field(self.facts.line)
        cells = len(field.cells)
        every = np.ones(cells, bool)
        chosen = every if cells <= _ALL_CELLS else field.near(_NEAR)
        if cells > _ALL_CELLS:
            chosen = chosen | promising(field, self._best, chosen, self._limit)
        plan: Plan | None = None
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
            plan = self._rounded(built, answer) or plan
            gained = built.value(answer) - self.bound
            further = promising(field, self._best, chosen, self._limit)
            if gained <= request.tolerance / 3 * abs(self.bound) or not further.any():
                return plan
            chosen = chosen | further
        self.cut_short = request.remaining_s() <= 0
        return plan

    def lasting(self, request: Request, retention: Retention, step_cycles: Floats) -> Plan | None:
        """Return a plan in which bytes wait no longer in a bank that forgets than it keeps them.

        Only from one use to the next, which is not all that R12 asks for; and without moves on
        the way, which R12 allows: so its prices are no bound, and its plan need not be legal.
        """
        field = Field(self.facts.line)
        chosen = field.near(0)
        if int(chosen.sum()) > _MOST_CELLS or request.remaining_s() <= 0:
            return None
        network = BankNetwork(self.facts, ChosenCells(field, chosen))
        built = BankProgram(
            network,
            retention.barred_arcs(network.arcs, step_cycles),
            retention.barred_scratch(step_cycles),
        )
        answer = self._answer(built, chosen, request)
        if answer.status is not SolverStatus.OPTIMAL:
            return None
        return self._rounded(built, answer, retention.room(step_cycles))

    @property
    def _limit(self) -> float:
        return _THRESHOLD * self.facts.byte_price

    def _try(self, prices: BankMultipliers) -> None:
        found = Paths(self.facts, prices)
        if found.bound > self.bound:
            self._best, self.prices = found, prices
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

    def _rounded(
        self, built: BankProgram, answer: SolverResult, room: Ints | None = None
    ) -> Plan | None:
        """Return whole pages of the solution, whatever their bank; only where there is one mode.

        ``room`` (n,): pages of the steps, those of all banks if not given.
        """
        if self._instance.several_modes:
            return None
        machine, line = self._instance.machine, self._line
        return to_plan(
            profile(built.network, RankedIntervals(line), built.amounts(answer)),
            self.prices.load + self.facts.in_byte,
            page_bytes=machine.page_bytes,
            capacity_pages=(machine.spm_pages if room is None else room)
            - machine.pages(line.scratch_bytes),
        )


def profile(network: BankNetwork, intervals: RankedIntervals, amounts: Floats) -> Profiles:
    """Add up the bytes (c,) of arcs; a row for each cell, and one for the steps after it."""
    cells, arcs, count = network.cells, network.arcs, len(network.cells)
    inside = (arcs.bank >= 0) & (arcs.state >= 0)
    between = (arcs.bank >= 0) & (arcs.state < 0)
    newer = (arcs.state > network.facts.bank_count) & ~cells.dead[arcs.cell]
    held, carried, dirty = (
        np.bincount(arcs.cell, np.where(which, amounts, 0.0), count).astype(np.float64)
        for which in (inside, between, newer)
    )
    before = np.where(cells.first, 0.0, np.roll(dirty, 1))
    # The row after a cell is not needed where the next cell is one step on.
    apart = (np.diff(cells.tensor) != 0) | (np.diff(cells.step) != 1)
    alone = np.flatnonzero(np.append(apart, True)[:count])
    return Profiles(
        intervals,
        tensor=np.insert(cells.tensor, alone + 1, cells.tensor[alone]),
        step=np.insert(cells.step, alone + 1, cells.step[alone] + 1),
        resident=np.insert(held, alone + 1, carried[alone]),
        dirty=np.insert(before, alone + 1, dirty[alone]),
        access=np.insert(intervals.position[cells.access], alone + 1, -1),
    )
