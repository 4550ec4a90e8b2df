"""Shared by the tests of the priced model: cases, all columns, and what columns cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from formulations.residency.bound.dual import DualFunction
from formulations.residency.bound.duals import CostCoefficients, Multipliers
from formulations.residency.bound.ranked import RankedIntervals
from formulations.residency.program.columns import ColumnKind, PathColumns, Usage, existing, of_kind
from formulations.residency.program.master import Master
from formulations.solver.highs import solve
from formulations.solver.program import Floats, SolverResult
from spmopt.core.objective import Objective, objective_named
from spmopt.core.problem import Problem
from spmopt.core.timeline import Access, Timeline, relax_timeline
from tests.checked import need
from tests.strategies import random_problem

OBJECTIVES = ("traffic", "time", "energy")


@dataclass(frozen=True, kw_only=True, eq=False)
class Case:
    """A problem as the priced model sees it, for all mappings at once."""

    problem: Problem
    objective: Objective
    line: Timeline
    intervals: RankedIntervals
    coefficients: CostCoefficients

    @staticmethod
    def of(problem: Problem, objective: Objective) -> Case:
        line = relax_timeline(problem)
        return Case(
            problem=problem,
            objective=objective,
            line=line,
            intervals=RankedIntervals(line),
            coefficients=CostCoefficients(problem, line, objective),
        )

    @property
    def scale(self) -> float:
        """What a relative tolerance refers to; energies of random problems are picojoules."""
        return 1e-12 if self.objective.unit == "joules" else 1.0

    @property
    def byte(self) -> float:
        """The dearest byte."""
        return max(
            self.coefficients.byte_time, self.coefficients.in_byte, self.coefficients.out_byte
        )

    def priced(self, duals: Multipliers) -> DualFunction:
        """Everything that follows from dual values."""
        return DualFunction(self.intervals, self.coefficients, duals)

    def close(self, one: float, other: float, tolerance: float = 1e-6) -> bool:
        """Whether two values of the objective agree."""
        return abs(one - other) <= tolerance * max(self.scale, abs(one))


def cases(count: int, **features: Any) -> list[Case]:
    """Random cases with every feature, objectives in turn."""
    wanted: dict[str, Any] = {
        "max_operations": 8,
        "max_tensors": 5,
        "max_mappings": 2,
        "duplex": True,
        **features,
    }
    found = []
    for seed in range(count):
        problem = random_problem(seed, **{"compression": seed % 4 == 3, **wanted})
        found.append(Case.of(problem, objective_named(OBJECTIVES[seed % 3], problem.machine)))
    return found


def random_duals(case: Case, seed: int) -> Multipliers:
    """Legal dual values, some of them 0 or (by a hair) the greatest allowed."""
    generator = np.random.default_rng(seed)
    steps, limit = case.intervals.steps, case.coefficients.byte_time
    share = np.round(generator.random((2, steps)) * 1.5 - 0.25, 1).clip(0, 1)
    spm = case.byte * generator.random(steps) * generator.integers(0, 2, steps)
    duals = Multipliers.legal(case.coefficients, spm, limit * share[0], limit * share[1])
    return duals.mix(Multipliers.legal(case.coefficients, *np.zeros((3, steps))), 1e-12)


def all_columns(intervals: RankedIntervals) -> PathColumns:
    """Every column that makes sense, with every step of its gap."""
    parts = [
        of_kind(kind, np.flatnonzero(existing(intervals)[kind])) for kind in ColumnKind if kind <= 4
    ]
    for kind in (ColumnKind.LOAD, ColumnKind.DROP, ColumnKind.CLEAN):
        for access in np.flatnonzero(existing(intervals)[kind]).tolist():
            own_step = kind == ColumnKind.CLEAN and intervals.kind[access] == Access.READ
            parts.append(
                _at_steps(kind, access, intervals.begin[access], intervals.step[access] + own_step)
            )
    for access in intervals.last.tolist():
        parts.append(
            _at_steps(ColumnKind.FINAL, access, intervals.step[access] + 1, intervals.steps)
        )
    return PathColumns.together(*parts)


def _at_steps(kind: ColumnKind, access: int, begin: int, end: int) -> PathColumns:
    step = np.arange(begin, end, dtype=np.int64)
    return of_kind(kind, np.full(step.size, access, np.int64), step)


def solved(case: Case, columns: PathColumns, **options: Any) -> tuple[Master, SolverResult, float]:
    """The compact program over ``columns``, its solution, and its value in objective units."""
    built = Master(case.intervals, case.coefficients, columns, page_bytes=1)
    answer = solve(built.program, options={"solver": "simplex", **options})
    value = need(answer.objective) * built.unit_bytes * built.dual_unit + case.coefficients.constant
    return built, answer, value


def column_costs(case: Case, columns: PathColumns, duals: Multipliers) -> Floats:
    """(c,) What a byte of each column pays at ``duals``, by its use of SPM and channel."""
    use, coefficients = Usage(case.intervals, columns), case.coefficients
    held = np.array(
        [
            duals.spm[begin:end].sum()
            for begin, end in zip(use.begin.tolist(), use.end.tolist(), strict=True)
        ]
    )
    into = np.where(use.serial, coefficients.byte_time, duals.load[use.at]) + coefficients.in_byte
    out = np.where(use.serial, coefficients.byte_time, duals.store[use.at]) + coefficients.out_byte
    beyond = 1 / case.intervals.ratio[columns.access] - 1
    into, out = into + beyond * coefficients.unpacked, out + beyond * coefficients.packed
    result: Floats = held + use.moved_in * into + use.moved_out * out
    return result


def uncolumned_cost(case: Case, duals: Multipliers) -> float:
    """Held bytes of required-resident results that nothing needs: the one use without a column."""
    intervals = case.intervals
    where = intervals.required_resident & intervals.dead & (intervals.kind == Access.WRITE)
    return float((intervals.size_bytes * duals.spm[intervals.step])[where].sum())
