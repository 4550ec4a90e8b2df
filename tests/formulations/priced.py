"""Shared by the tests of the priced model: cases, all columns, and what columns cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from formulations.residency.bound.dual import (
    Arcs,
    Backward,
    Forward,
    arcs,
    backward,
    dual_value,
    forward,
)
from formulations.residency.bound.gaps import Gaps
from formulations.residency.bound.prices import Economy, Multipliers
from formulations.residency.bound.rangemin import Floats
from formulations.residency.program.columns import Columns, Kind, exists, of_kind
from formulations.residency.program.master import Master, master
from formulations.residency.program.usage import usage
from formulations.solver.highs import solve
from formulations.solver.program import Answer
from spmopt.core.instance import Instance
from spmopt.core.objective import Objective, objective_named
from spmopt.core.timeline import Access, Timeline, relaxed_timeline
from tests.strategies import random_instance

OBJECTIVES = ("traffic", "time", "energy")


@dataclass(frozen=True, kw_only=True, eq=False)
class Case:
    """An instance as the priced model sees it, for all modes at once."""

    instance: Instance
    objective: Objective
    line: Timeline
    gaps: Gaps
    economy: Economy

    @staticmethod
    def of(instance: Instance, objective: Objective) -> Case:
        line = relaxed_timeline(instance)
        return Case(
            instance=instance,
            objective=objective,
            line=line,
            gaps=Gaps.of(line),
            economy=Economy.of(instance, line, objective),
        )

    @property
    def scale(self) -> float:
        """What a relative tolerance refers to; energies of random instances are picojoules."""
        return 1e-12 if self.objective.unit == "joules" else 1.0

    @property
    def byte(self) -> float:
        """The dearest byte."""
        return max(self.economy.byte_time, self.economy.in_byte, self.economy.out_byte)

    def close(self, one: float, other: float, tolerance: float = 1e-6) -> bool:
        """Whether two values of the objective agree."""
        return abs(one - other) <= tolerance * max(self.scale, abs(one))


@dataclass(frozen=True, kw_only=True, eq=False)
class Priced:
    """Everything that follows from prices."""

    prices: Multipliers
    arc: Arcs
    ahead: Forward
    back: Backward
    value: float

    @staticmethod
    def of(case: Case, prices: Multipliers) -> Priced:
        arc = arcs(case.gaps, case.economy, prices)
        ahead = forward(case.gaps, arc)
        return Priced(
            prices=prices,
            arc=arc,
            ahead=ahead,
            back=backward(case.gaps, arc),
            value=dual_value(case.gaps, case.economy, prices, ahead.best),
        )


def cases(count: int, **features: Any) -> list[Case]:
    """Random cases with every feature, objectives in turn."""
    wanted: dict[str, Any] = {
        "max_operations": 8,
        "max_tensors": 5,
        "max_modes": 2,
        "duplex": True,
        **features,
    }
    found = []
    for seed in range(count):
        instance = random_instance(seed, **wanted)
        found.append(Case.of(instance, objective_named(OBJECTIVES[seed % 3], instance.machine)))
    return found


def random_prices(case: Case, seed: int) -> Multipliers:
    """Legal prices, some of them 0 or (by a hair) the greatest allowed."""
    generator = np.random.default_rng(seed)
    steps, limit = case.gaps.steps, case.economy.byte_time
    share = np.round(generator.random((2, steps)) * 1.5 - 0.25, 1).clip(0, 1)
    spm = case.byte * generator.random(steps) * generator.integers(0, 2, steps)
    prices = Multipliers.legal(case.economy, spm, limit * share[0], limit * share[1])
    return prices.mixed(Multipliers.legal(case.economy, *np.zeros((3, steps))), 1e-12)


def all_columns(gaps: Gaps) -> Columns:
    """Every column that makes sense, with every step of its gap."""
    parts = [of_kind(kind, np.flatnonzero(exists(gaps, kind))) for kind in Kind if kind <= 4]
    for kind in (Kind.LOAD, Kind.DROP, Kind.CLEAN):
        for access in np.flatnonzero(exists(gaps, kind)).tolist():
            own_step = kind == Kind.CLEAN and gaps.kind[access] == Access.READ
            parts.append(_at_steps(kind, access, gaps.begin[access], gaps.step[access] + own_step))
    for access in gaps.last.tolist():
        parts.append(_at_steps(Kind.FINAL, access, gaps.step[access] + 1, gaps.steps))
    return Columns.together(*parts)


def _at_steps(kind: Kind, access: int, begin: int, end: int) -> Columns:
    step = np.arange(begin, end, dtype=np.int64)
    return of_kind(kind, np.full(step.size, access, np.int64), step)


def solved(case: Case, columns: Columns, **options: Any) -> tuple[Master, Answer, float]:
    """The compact program over ``columns``, its solution, and its value in objective units."""
    built = master(case.gaps, case.economy, columns, page_bytes=1)
    answer = solve(built.program, options={"solver": "simplex", **options})
    assert answer.objective is not None
    value = answer.objective * built.unit_bytes * built.price_unit + case.economy.constant
    return built, answer, value


def column_costs(case: Case, columns: Columns, prices: Multipliers) -> Floats:
    """(c,) What a byte of each column pays at ``prices``, by its use of SPM and channel."""
    use, economy = usage(case.gaps, columns), case.economy
    held = np.array(
        [
            prices.spm[begin:end].sum()
            for begin, end in zip(use.begin.tolist(), use.end.tolist(), strict=True)
        ]
    )
    into = np.where(use.serial, economy.byte_time, prices.load[use.at]) + economy.in_byte
    out = np.where(use.serial, economy.byte_time, prices.store[use.at]) + economy.out_byte
    result: Floats = held + use.moved_in * into + use.moved_out * out
    return result


def uncolumned_cost(case: Case, prices: Multipliers) -> float:
    """Held bytes of stationary results that nothing needs: the one use without a column."""
    gaps = case.gaps
    where = gaps.stationary & gaps.dead & (gaps.kind == Access.WRITE)
    return float((gaps.size_bytes * prices.spm[gaps.step])[where].sum())
