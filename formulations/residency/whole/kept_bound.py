"""Dual values and charges that bound tensors kept or dropped in full: a linear program with cuts.

The program of :mod:`formulations.residency.whole.timed`, relaxed, with rows that hold for every set
of tensors that fit a step together. Its duals of steps are dual values; those of its rows, times
their weights, are charges on tensors that are there in a step (spmopt/verifier/kept_bound.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from formulations.residency.bound.dual import DualFunction, PathCharges
from formulations.residency.bound.duals import Multipliers, certificate, round_down
from formulations.residency.program.columns import PathColumns
from formulations.residency.program.paths import near_best_paths
from formulations.residency.whole.decisions import NO, CapacityRows, settle
from formulations.residency.whole.intervals import never_resident
from formulations.residency.whole.knapsacks import Knapsack, dearest_set, violate
from formulations.residency.whole.timed import TimedProgram
from formulations.residency.whole.transfers import WholeCase
from formulations.solver.highs import solve_within
from formulations.solver.program import Floats, SolverResult
from spmopt.assemble.cost import sum_up
from spmopt.core.result import KEPT_WHOLE, Certificate, Charges
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints

_ROUNDS = 20
_LEAST = 1e-4  # by how much a row must be broken, in parts of its right-hand side
_ENTERS = 0.05  # marginal of columns that enter, in dual values of a byte
_DEPTH = 1  # levels of steps
_IDLE = 2  # rounds without a better bound that end the search
_GAIN = 1e-5
_LARGEST = 2**58


@dataclass(frozen=True, kw_only=True, eq=False)
class _Row:
    """Weights of entries of ``CapacityRows``, all of one step.

    At most 1 for sets that fit together.
    """

    entry: Ints
    weight: Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class ChargedDuals:
    """Dual values, charges (k,) on a byte of a tensor in a step, and their bound."""

    bound: float
    duals: Multipliers
    step: Ints
    tensor: Ints
    charge: Floats


class KeptBound:
    """The search for duals and charges of one case, whose operations have one mapping each."""

    def __init__(self, case: WholeCase, columns: PathColumns, request: Request) -> None:
        self.case, self.columns, self.request = case, columns, request
        self.best: ChargedDuals | None = None
        self._rows: list[_Row] = []
        self._barred = self._never()
        uses, fixed = case.uses, np.flatnonzero(case.uses.required_resident)
        self._room = uses.capacity_pages - sum_up(uses.steps, uses.step[fixed], uses.pages[fixed])

    def _never(self) -> PathCharges:
        """Return the charges that bar residency where a tensor cannot be in full.

        And its being kept.
        """
        case, uses = self.case, self.case.uses
        settled = settle(uses, streams_cost=np.ones(uses.step.size, bool))
        absent = never_resident(case.problem.machine, case.line)[case.intervals.access]
        never = (uses.between_uses & (settled.kept == NO))[case.use]
        return PathCharges(hold=np.where(never, np.inf, 0.0), here=np.where(absent, np.inf, 0.0))

    def search(self, enough: float) -> ChargedDuals | None:
        """Cut and dual in turn, until the bound is ``enough``, gains little, or time is up."""
        case, idle = self.case, 0
        if not case.intervals.step.size:
            return None
        for _ in range(_ROUNDS):
            model = TimedProgram(case, self.columns)
            capacity = CapacityRows(case.uses, model.decisions)
            numbers = self._add(model, capacity)
            program = replace(model.built.builder.program(), integer=None)
            answer = solve_within(program, self.request)
            if answer.primal is None or answer.row_dual is None or answer.column_dual is None:
                break
            before = -np.inf if self.best is None else self.best.bound
            found = self._prove(model, capacity, numbers, answer)
            if self.best is None or found.bound > self.best.bound:
                self.best = found
                self.request.report_incumbent(bound=found.bound, of_class=True)
            idle = 0 if self.best.bound > before * (1 + _GAIN) else idle + 1
            if self.best.bound >= enough or idle == _IDLE or self.request.remaining_s() <= 0:
                break
            cuts, columns = self._separate(capacity, answer.primal), len(self.columns)
            self._dual(found)
            if not cuts and len(self.columns) == columns:
                break
        return self.best

    def _add(self, model: TimedProgram, capacity: CapacityRows) -> Ints:
        """Add the rows found so far; return their numbers."""
        build = model.built.builder
        numbers = build.rows(len(self._rows), upper=1.0)
        for number, row in zip(numbers.tolist(), self._rows, strict=True):
            column = capacity.column[row.entry]
            build.add(np.full(column.size, number), column, row.weight)
        return numbers

    def _separate(self, capacity: CapacityRows, primal: Floats) -> int:
        """Find a row of each step that the solution breaks; return how many."""
        entries, knapsacks = [], []
        order = np.argsort(capacity.step, kind="stable")
        bounds = np.searchsorted(capacity.step[order], np.arange(capacity.room.size + 1))
        seen: set[bytes] = set()
        for step in np.flatnonzero(capacity.needed).tolist():
            entry = order[bounds[step] : bounds[step + 1]]
            entry = entry[primal[capacity.column[entry]] > _LEAST]
            point, pages = primal[capacity.column[entry]], capacity.pages[entry]
            room = int(capacity.room[step])
            key = np.sort(capacity.column[entry]).tobytes()
            if pages.sum() <= room or (point > 1 - _LEAST).all() or key in seen:
                continue
            seen.add(key)
            entries.append(entry)
            knapsacks.append(Knapsack(pages=pages, room=room, point=np.minimum(point, 1.0)))
        weights = violate(knapsacks, _LEAST)
        new = [
            _Row(entry=entry[weight > _LEAST], weight=weight[weight > _LEAST])
            for entry, weight in zip(entries, weights, strict=True)
            if weight is not None
        ]
        self._rows += new
        return len(new)

    def _prove(
        self, model: TimedProgram, capacity: CapacityRows, numbers: Ints, answer: SolverResult
    ) -> ChargedDuals:
        """Return the dual values and charges that a solution names, and their bound."""
        uses, dual = self.case.uses, answer.row_dual
        if dual is None:
            raise ValueError("the solver returned no duals")
        unit = model.built.dual_unit * model.built.unit_bytes
        parts = [
            (row.entry, max(0.0, -float(dual[number])) * unit * row.weight)
            for number, row in zip(numbers.tolist(), self._rows, strict=True)
        ]
        entry = np.concatenate([np.empty(0, np.int64), *(part for part, _ in parts)])
        paid = np.concatenate([np.empty(0), *(part for _, part in parts)])
        tensor, steps = uses.tensor[capacity.use[entry]], self.case.line.steps
        key, place = np.unique(tensor * steps + capacity.step[entry], return_inverse=True)
        total = np.bincount(place, paid, key.size)
        size = self.case.line.size_bytes[key // steps]
        return self._evaluate(
            model.built.multipliers(answer), key % steps, key // steps, total / size
        )

    def _evaluate(
        self, duals: Multipliers, step: Ints, tensor: Ints, charge: Floats
    ) -> ChargedDuals:
        charges = self._charges(step, tensor, charge)
        dual = DualFunction(self.case.intervals, self.case.coefficients, duals, charges)
        bound = dual.value - self._most(step, tensor, charge)
        return ChargedDuals(bound=bound, duals=duals, step=step, tensor=tensor, charge=charge)

    def _charges(self, step: Ints, tensor: Ints, charge: Floats) -> PathCharges:
        """Sum charges up over the steps of each interval, and at each access."""
        intervals, steps = self.case.intervals, self.case.line.steps
        order = np.lexsort((step, tensor))
        key = tensor[order] * (steps + 1) + step[order]
        upto = np.concatenate(([0.0], np.cumsum(charge[order])))

        def until(end: Ints) -> Floats:
            result: Floats = upto[np.searchsorted(key, intervals.tensor * (steps + 1) + end)]
            return result

        here = until(intervals.step + 1) - until(intervals.step)
        through = until(intervals.step) - until(np.minimum(intervals.begin, intervals.step))
        through = np.where(intervals.between_uses, through, 0.0)
        return PathCharges(
            hold=np.maximum(through, 0.0) + self._barred.hold,
            here=np.maximum(here, 0.0) + self._barred.here,
        )

    def _most(self, step: Ints, tensor: Ints, charge: Floats) -> float:
        """Return ``sum_i K_i``: the most that tensors which fit together are charged."""
        line, machine = self.case.line, self.case.problem.machine
        value, pages = charge * line.size_bytes[tensor], machine.pages(line.size_bytes[tensor])
        total = 0.0
        for at in np.unique(step).tolist():
            mine = step == at
            total += dearest_set(value[mine], pages[mine], int(self._room[at]))[0]
        return total

    def _dual(self, found: ChargedDuals) -> None:
        """Add the columns that are nearly on a best path."""
        case = self.case
        charges = self._charges(found.step, found.tensor, found.charge)
        dual = DualFunction(case.intervals, case.coefficients, found.duals, charges)
        limit = _ENTERS * case.coefficients.dearest_byte
        new = near_best_paths(dual, limit, _DEPTH)
        self.columns = self.columns.union(new, case.intervals.steps)

    def certificate(self) -> Certificate | None:
        """Return the best dual values and charges as integers; None where they are too large."""
        if self.best is None:
            return None
        case, best = self.case, self.best
        duals = certificate(case.problem, self.request.objective, case.coefficients, best.duals)
        charge = round_down(best.charge, duals.bits, _LARGEST)
        some = charge > 0
        columns = (best.step[some], best.tensor[some], charge[some])
        if float(columns[2].sum()) > _LARGEST:
            return None
        step, tensor, dual = columns
        charges = Charges(step=step, tensor=tensor, dual=dual) if dual.size else None
        return replace(duals, holds_for=KEPT_WHOLE, charges=charges)
