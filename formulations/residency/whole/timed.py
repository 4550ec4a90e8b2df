"""Whole-tensor residency of least time (or energy): a mixed-integer program over columns.

To the compact linear program it adds two kinds of 0/1 columns and three families of rows::

    stream_j = s_j (1 - x_j)                   all of it is resident, or nothing       (W4)
    held through interval j = s_j k_j               kept in full, or given up in full       (W5)
    k_j <= x_j,  k_j <= x_(j-1)                                                        (W1)
    sum_j s_j (k_j + x_j) <= room_i            in each busy step, in pages             (W3)

(W3) follows from the capacity of the linear program, but only it shows the solver a knapsack:
with its right-hand side cut to a sum that the sizes can reach it saves most of the search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from formulations.residency.bound.duals import Multipliers
from formulations.residency.program.columns import ColumnKind, PathColumns
from formulations.residency.program.master import Master
from formulations.residency.whole.decisions import NO, YES, CapacityRows, Decisions, link, settle
from formulations.residency.whole.retention import Retention, fill, repair
from formulations.residency.whole.transfers import (
    HELD,
    TimedResidencyPlan,
    WholeCase,
    best_transfers,
)
from formulations.solver.highs import solve_within
from formulations.solver.program import Floats, ProgramBuilder, SolverResult
from spmopt.core.table import Bools

_BUSY = 0.9  # steps at least so full in the relaxation get a row (W3)
_ROUNDS = 3
_SHARE = 0.5  # of the time limit, by counted work, for one integer program
_LEAST_GAIN = 1e-3  # relative gain by new columns that calls for another integer program


class TimedProgram:
    """The program over ``columns``, with (W3) in the steps ``busy`` (n,)."""

    def __init__(self, case: WholeCase, columns: PathColumns, busy: Bools | None = None) -> None:
        self.case = case
        self.built = base = case.master(columns)
        self.decisions = _decide(case, base.builder)
        _stream(case, base, self.decisions)
        _hold(case, base, self.decisions)
        link(base.builder, self.decisions)
        if busy is not None:
            CapacityRows(case.uses, self.decisions).add(base.builder, busy)
        self.program = base.builder.program()

    def values(self, timed: TimedResidencyPlan) -> Floats:
        """Return the solution of kept tensors and their transfers."""
        steps, columns, theirs = self.case.intervals.steps, self.built.columns, timed.built.columns
        values, primal = np.zeros(self.program.cost.size), timed.answer.primal
        if primal is None:
            raise ValueError("the transfers have no solution")
        values[np.searchsorted(columns.key(steps), theirs.key(steps))] = primal[: len(theirs)]
        others = primal[len(theirs) :]
        values[len(columns) : len(columns) + others.size] = others
        self.decisions.write(values, timed.chosen)
        return values


def search(
    case: WholeCase, duals: Multipliers, starts: Sequence[Retention], keep: Floats
) -> TimedResidencyPlan | None:
    """Return the best residency plan found; None if time ran out before any.

    The columns come from ``duals`` (of the relaxation) and from those of the best choices so
    far; as long as new columns help much, the integer program is solved again. ``keep`` (a,)
    ranks the intervals where the linear relaxation is indifferent.
    """
    steps = case.intervals.steps
    columns = case.nearby(duals)
    best: TimedResidencyPlan | None = None

    def offer(chosen: Retention) -> None:
        nonlocal best, columns
        timed = best_transfers(case, chosen, columns)
        if timed is not None and (best is None or timed.value < best.value):
            best = timed
            case.request.report_incumbent(value=timed.value)
            columns = columns.union(timed.built.columns, steps)
            columns = columns.union(case.nearby(timed.duals), steps)

    for start in starts:
        offer(start)
    for _ in range(_ROUNDS):
        if best is not None and best.value <= case.enough:
            break
        relaxed = TimedProgram(case, columns)
        answer = solve_within(replace(relaxed.program, integer=None), case.request)
        if answer.primal is None:
            break
        offer(_guide(relaxed, answer.primal, keep))
        model = TimedProgram(case, columns, _busy(relaxed, answer.primal))
        answer = _solve(case, model, best)
        if answer.primal is None or answer.objective is None:
            break
        offer(repair(case.uses, model.decisions.choose(case.uses, answer.primal), keep))
        value = answer.objective * model.built.dual_unit * model.built.unit_bytes
        if best is None or best.lp_value > value * (1 - _LEAST_GAIN):
            break
    return best


def _busy(model: TimedProgram, relaxed: Floats) -> Bools:
    """Return (n,) the steps that are nearly full in the linear relaxation."""
    occupancy = model.built.occupancy
    result: Bools = relaxed[occupancy] >= _BUSY * model.program.upper[occupancy]
    return result


def _guide(model: TimedProgram, relaxed: Floats, keep: Floats) -> Retention:
    """Return a set that fits, most wanted by the linear relaxation first."""
    uses, decisions = model.case.uses, model.decisions
    kept, resident = (
        np.where(state >= 0, relaxed[state], 0.0) for state in (decisions.kept, decisions.resident)
    )
    tie = 0.01 * keep / max(keep.max(initial=0.0), 1e-300)
    return fill(uses, Retention.nothing(uses), kept + tie, resident + 0.01)


def _solve(case: WholeCase, model: TimedProgram, best: TimedResidencyPlan | None) -> SolverResult:
    """Solve the integer program, from the best residency plan so far."""
    request = case.request

    def progress(value: float, bound: float) -> None:
        if np.isfinite(value) and bound > 0:
            request.report(f"at most {value / bound - 1:.3%} to gain in this program", None)

    return solve_within(
        model.program,
        request,
        options={"mip_rel_gap": request.tolerance},
        share=_SHARE,
        start=None if best is None else model.values(best),
        progress=progress,
    )


def _decide(case: WholeCase, build: ProgramBuilder) -> Decisions:
    """Add columns for open decisions; tensors that never fit are settled, all else is open."""
    uses = case.uses
    useful = uses.live | uses.live_after
    settled = settle(uses, streams_cost=useful)
    open_ = useful & ~uses.required_resident & (settled.resident != NO)
    resident = build.columns(open_, upper=1.0, integer=True)
    kept = build.columns(uses.between_uses & (settled.kept != NO), upper=1.0, integer=True)
    return Decisions(
        kept=kept,
        resident=np.where(uses.required_resident, YES, resident),
        count=build.column_count,
    )


def _stream(case: WholeCase, base: Master, decisions: Decisions) -> None:
    """(W4) ``stream_j = s_j (1 - x_j)``: non-resident tensors are streamed in full."""
    column = np.flatnonzero(base.columns.kind == ColumnKind.STREAM)
    access = base.columns.access[column]
    size = case.intervals.size_bytes[access] / base.unit_bytes
    row = base.builder.rows(column.size, size, size)
    base.builder.add(row, column, 1.0)
    base.builder.add(row, decisions.resident[case.use[access]], size)


def _hold(case: WholeCase, base: Master, decisions: Decisions) -> None:
    """(W5) ``held through j = s_j k_j``: a tensor is held through it in full or not at all."""
    held = np.flatnonzero(np.isin(base.columns.kind, HELD))
    access, place = np.unique(base.columns.access[held], return_inverse=True)
    size = case.intervals.size_bytes[access] / base.unit_bytes
    row = base.builder.rows(access.size, 0.0, 0.0)
    base.builder.add(row[place], held, 1.0)
    base.builder.add(row, decisions.kept[case.use[access]], -size)
