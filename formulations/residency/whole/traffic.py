"""Whole-tensor residency of least DRAM traffic: a 0/1 program, and how it is solved.

The search takes as few capacity rows as do, and as tight ones as can be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from formulations.residency.byte_duals import ByteDuals
from formulations.residency.whole.decisions import NO, YES, CapacityRows, Decisions, link, settle
from formulations.residency.whole.intervals import PagedIntervals, byte_duals, savings
from formulations.residency.whole.retention import Retention, fill, repair
from formulations.solver.highs import Option, solve_within
from formulations.solver.program import Floats, Program, ProgramBuilder, SolverResult
from spmopt.core.scheduler import Request
from spmopt.core.table import Bools, Ints

_BUSY = 0.7  # capacity rows less full than this in the relaxation are left out at first
_FEW = 0.5  # unless more than this share of them is busy
_ROUNDS = 4  # programs with some rows left out
_COARSE = 1e-4
Better = Callable[[float | None, float], None]
"""Told costs and bounds for whole tensors as they come, in units of the model."""


class TrafficProgram:
    """Minimize the cost of bytes over the channel, in units of ``unit`` objective units.

    Columns: ``k_j`` the interval of access ``j`` is kept, ``x_j`` its tensor is resident in its
    step, ``w_v`` version ``v`` is stored::

        sum_j a_j (1 - x_j) + b_j (1 - k_j) + sum_v e_v w_v              objective
        k_j <= x_j,  k_j <= x_(j-1)                                            (W1)
        w_v >= 1 - k_j           for every interval of a written version v          (W2)
        sum_j s_j (k_j + x_j) <= room_i          in each step, in pages        (W3)

    ``decisions`` come first, then one column a version that may be stored: ``store`` (a,) is its
    number at the access that writes the version, or ``NO`` or ``YES``.
    """

    def __init__(self, uses: PagedIntervals, duals: ByteDuals) -> None:
        absent, back, store_dual = byte_duals(uses, duals)
        self.uses = uses
        self.savings = savings(uses, duals)
        self.decisions = settle(uses, streams_cost=absent > 0)
        self.store = _stores(uses, self.decisions)
        self.capacity = CapacityRows(uses, self.decisions)
        count = self.decisions.count + int((self.store >= 0).sum())
        cost = np.zeros(count, np.int64)
        # Costs are stated as savings on streaming everything.
        constant = int(absent.sum() + back.sum())
        priced = (
            (self.decisions.kept, -back),
            (self.decisions.resident, -absent),
            (self.store, store_dual),
        )
        for state, dual in priced:
            constant += int(dual[state == YES].sum())
            np.add.at(cost, state[state >= 0], dual[state >= 0])
        # Whole small numbers: the solver's objective is exact.
        unit = int(np.gcd.reduce(cost)) or 1
        self.unit = unit * duals.unit
        self._cost, self._offset = cost / unit, constant / unit

    def program(self, where: Bools | None = None) -> Program:
        """Return all rows; or of (W3) only those ``where`` (n,), cut to sums that can be filled."""
        build = ProgramBuilder()
        build.columns(self._cost.size, cost=self._cost, upper=1.0, integer=True)
        link(build, self.decisions)
        _store(build, self.uses, self.decisions, self.store)
        self.capacity.add(build, where)
        return build.program(by_rows=True, offset=self._offset)

    def cost(self, chosen: Retention) -> float:
        """Return the cost of a set that fits, in units."""
        return float(self._cost @ self.values(chosen) + self._offset)

    def values(self, chosen: Retention) -> Floats:
        """Return the solution of a set that fits."""
        values = np.zeros(self._cost.size)
        self.decisions.write(values, chosen)
        own = self.store >= 0
        values[self.store[own]] = chosen.drop(self.uses)[own]
        return values

    def choose(self, values: Floats) -> Retention:
        """Return the decisions of a solution, without residency that saves nothing."""
        return self.decisions.choose(self.uses, values)


def _stores(uses: PagedIntervals, decisions: Decisions) -> Ints:
    """Return (a,) whether the version that each access writes is stored, wherever that is."""
    interval = np.flatnonzero(uses.between_uses)
    version, kept = uses.version[interval - 1], decisions.kept[interval]
    written = version >= 0
    store = np.full(uses.step.size, NO, np.int64)
    store[version[written & (kept >= 0)]] = 0
    store[version[written & (kept == NO)]] = YES
    store[uses.version[uses.final]] = YES
    there = np.flatnonzero(store == 0)
    store[there] = decisions.count + np.arange(there.size)
    return store


def _store(build: ProgramBuilder, uses: PagedIntervals, decisions: Decisions, store: Ints) -> None:
    """(W2) ``w_v >= 1 - k_j`` for every interval of a written version: dropped, it is stored."""
    interval = np.flatnonzero(decisions.kept >= 0)
    interval = interval[uses.version[interval - 1] >= 0]
    column = store[uses.version[interval - 1]]
    real = column >= 0
    row = build.rows(int(real.sum()), 1.0)
    build.add(row, decisions.kept[interval[real]], 1.0)
    build.add(row, column[real], 1.0)


@dataclass(frozen=True, kw_only=True)
class TrafficSolution:
    """A set that fits, its cost and the best bound, in units of the model."""

    chosen: Retention
    cost: float
    bound: float
    solver: str

    def is_closed(self, tolerance: float) -> bool:
        """Return whether nothing is left to gain."""
        return self.cost - self.bound <= max(tolerance * abs(self.cost), 1e-6)


def search(
    model: TrafficProgram, request: Request, start: Retention, better: Better
) -> TrafficSolution:
    """Return the least traffic within ``request``'s time and tolerance, from ``start`` on.

    The first program has only the capacity rows that are nearly full in the linear relaxation:
    its optimum is a bound already. Each round adds the rows that its solution breaks; the last
    has all. A tolerance finer than ``_COARSE`` is asked for once a coarse solution breaks none.
    """
    request.report("relaxing", None)
    relaxed = _solve(replace(model.program(), integer=None), request, better)
    start = model.choose(model.values(start))
    found = TrafficSolution(
        chosen=start, cost=model.cost(start), bound=relaxed.bound, solver=relaxed.solver
    )
    where = _busy(model, relaxed)
    tolerance = max(request.tolerance, _COARSE)
    for left in reversed(range(_ROUNDS + 1)):
        if found.is_closed(request.tolerance) or request.remaining_s() <= 0:
            break
        if not left:
            where[:], tolerance = True, request.tolerance
        program = model.program(where)
        answer = _solve(program, request, better, tolerance, model.values(found.chosen))
        found, broken = _take(model, found, answer)
        better(found.cost, found.bound)
        where |= broken
        if not broken.any():
            if tolerance <= request.tolerance:
                break
            tolerance = request.tolerance
    return found


def _solve(
    program: Program,
    request: Request,
    better: Better,
    tolerance: float = 0.0,
    start: Floats | None = None,
) -> SolverResult:
    rows = program.row_upper.size

    def progress(best: float, bound: float) -> None:
        del best  # may break rows that were left out
        request.report(f"integer program of {rows:,} rows", None)
        better(None, bound)

    options: dict[str, Option] = {"mip_rel_gap": tolerance}
    return solve_within(program, request, options=options, start=start, progress=progress)


def _busy(model: TrafficProgram, relaxed: SolverResult) -> Bools:
    """Return (n,) capacity rows to begin with: the nearly full ones, or all if these are most."""
    capacity = model.capacity
    if relaxed.primal is None:
        return capacity.needed.copy()
    busy = capacity.needed & (capacity.used(relaxed.primal) >= _BUSY * capacity.room)
    return busy if busy.sum() <= _FEW * capacity.needed.sum() else capacity.needed.copy()


def _take(
    model: TrafficProgram, found: TrafficSolution, answer: SolverResult
) -> tuple[TrafficSolution, Bools]:
    """Keep the better parts of an answer; (n,) the capacity rows that its solution breaks."""
    capacity = model.capacity
    found = replace(found, bound=max(found.bound, answer.bound), solver=answer.solver)
    if answer.primal is None:
        return found, np.zeros_like(capacity.needed)
    values = np.round(answer.primal)
    broken = capacity.needed & (capacity.used(values) > capacity.room)
    chosen = model.choose(values)
    if not chosen.fits(model.uses):
        keep, enter = model.savings.keep, model.savings.enter
        chosen = fill(model.uses, repair(model.uses, chosen, keep), keep, enter)
        chosen = model.choose(model.values(chosen))
    cost = model.cost(chosen)
    if cost < found.cost:
        found = replace(found, chosen=chosen, cost=cost)
    return found, broken
