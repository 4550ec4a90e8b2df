"""Windows of steps: legal amounts at every width, the optimum where one window covers all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from formulations.residency.bound.duals import Multipliers
from formulations.residency.bound.ranked import RankedIntervals
from formulations.residency.program.columns import (
    ColumnKind,
    PathColumns,
    of_keys,
    require,
)
from formulations.residency.program.master import Master
from formulations.residency.program.paths import near_best_paths
from formulations.residency.windows.state import Amounts
from formulations.residency.windows.sweep import Span, Sweep, SweepPart
from formulations.solver.highs import solve
from formulations.solver.program import SolverStatus
from spmopt.core.scheduler import Request
from tests.checked import need
from tests.formulations.priced import Case, all_columns, cases, random_duals, solved
from tests.thorough import share

LARGER: dict[str, Any] = {"max_operations": 12, "max_tensors": 7}
SLACK = 1e-5


def sweeping(
    case: Case, duals: Multipliers, columns: PathColumns, decided: int, *more: int
) -> Sweep:
    """A sweep over windows that look as far as they decide, or the steps and parts ``more``."""
    overlap, part = more or (decided, 25)
    span = Span(decided=decided, overlap=overlap, part=part)
    return Sweep(case.priced(duals), columns, page_bytes=1, margin=0.0, tie=0.0, span=span)


def sweep(
    case: Case, duals: Multipliers, columns: PathColumns, decided: int, *more: int
) -> SweepPart:
    """The windows of such a sweep, one after the other."""
    return SweepPart(sweeping(case, duals, columns, decided, *more), 0, case.intervals.steps)


def cost(case: Case, amounts: Amounts) -> float:
    """What bytes of columns cost in the program over all steps, whose rows they must keep."""
    steps = case.intervals.steps
    keys, place = np.unique(amounts.columns.key(steps), return_inverse=True)
    columns = of_keys([keys], steps)
    built = Master(case.intervals, case.coefficients, columns, page_bytes=1)
    amount = np.bincount(place, amounts.size_bytes, keys.size) / built.unit_bytes
    lower, upper = built.program.lower.copy(), built.program.upper.copy()
    lower[built.amount] = np.maximum(amount - SLACK, 0.0)
    upper[built.amount] = amount + SLACK
    program = replace(built.program, lower=lower, upper=upper)
    answer = solve(program, options={"solver": "simplex"})
    assert answer.status is SolverStatus.OPTIMAL
    return built.value(need(answer.objective))


def test_one_window_over_all_steps_is_the_program() -> None:
    for seed, case in enumerate(cases(share(40), **LARGER)):
        columns = all_columns(case.intervals)
        least = solved(case, columns)[2]
        found = sweep(case, random_duals(case, seed), columns, case.intervals.steps)
        assert case.close(cost(case, found.run(Request(threads=1))), least, 1e-5), seed


@pytest.mark.parametrize("span", [(1,), (2,), (4,), (1, 4, 1), (4, 1, 3)])
def test_narrow_windows_keep_all_rows(span: tuple[int, ...]) -> None:
    """From any duals and few columns the amounts are legal, and cost no less than the optimum."""
    for seed, case in enumerate(cases(share(40), **LARGER)):
        least = solved(case, all_columns(case.intervals))[2]
        duals = random_duals(case, seed)
        columns = require(case.intervals)
        if seed % 2:
            found = near_best_paths(case.priced(duals), 0.2 * case.byte, 2)
            columns = columns.union(found, case.intervals.steps)
        run = sweep(case, duals, columns, *span)
        amounts = run.run(Request(threads=1))
        assert run.state.step == case.intervals.steps
        assert cost(case, amounts) >= least - 1e-5 * max(case.scale, least), seed


@pytest.mark.parametrize("span", [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_windows_that_look_no_step_ahead_are_refused(span: tuple[int, int, int]) -> None:
    """Nobody would keep room in the step after a window for what it leaves dirty."""
    with pytest.raises(ValueError, match="from 1 on"):
        Span(decided=span[0], overlap=span[1], part=span[2])


def test_the_duals_of_the_optimum_lead_near_it() -> None:
    """With such dual values the loss of narrow windows is small on average."""
    lost = []
    for case in cases(share(60), **LARGER):
        columns = all_columns(case.intervals)
        built, answer, least = solved(case, columns)
        found = sweep(case, built.multipliers(answer), columns, 3).run(Request(threads=1))
        lost.append(cost(case, found) / max(least, case.scale) - 1)
    assert np.mean(lost) < 0.02


def test_stopped_after_any_window_the_rest_streams() -> None:
    held = 0
    for seed, case in enumerate(cases(share(60, 8), **LARGER)):
        columns, steps = all_columns(case.intervals), case.intervals.steps
        built, answer, least = solved(case, columns)
        run = sweep(case, built.multipliers(answer), columns, 1)
        for _ in range(min(seed % 5, max(steps - 2, 0))):
            assert run.advance(Request(threads=1))
        held += run.state.open.size > 0
        assert run.state.step < steps or not steps
        amounts = run.run(Request(threads=1, stop=lambda: True))
        access, kind = amounts.columns.access, amounts.columns.kind
        assert not np.isin(
            kind[case.intervals.step[access] > run.state.step],
            (ColumnKind.HOLD_DIRTY, ColumnKind.HOLD_CLEAN, ColumnKind.LOAD, ColumnKind.CLEAN),
        ).any()
        assert cost(case, amounts) >= least - 1e-5 * max(case.scale, least), seed
    assert held > share(20, 8)


def test_nothing_is_resident_where_none_may_be() -> None:
    """No recourse and no cost to go brings bytes to accesses at which they must be absent."""
    barred = 0
    for seed, case in enumerate(cases(share(40, 8), **LARGER)):
        line, random = case.line, np.random.default_rng(seed)
        absent = ~line.required_resident & (random.random(line.step.size) < 0.4)
        narrowed = replace(case, intervals=RankedIntervals(line, absent))
        intervals, duals = narrowed.intervals, random_duals(case, seed)
        for half in (1, 3, intervals.steps):
            run = sweep(narrowed, duals, require(intervals), half)
            amounts = run.run(Request(threads=1))
            assert run.state.step == intervals.steps
            here = amounts.columns.take(intervals.absent[amounts.columns.access])
            barred += len(here)
            assert np.isin(
                here.kind, (ColumnKind.STREAM, ColumnKind.DROP, ColumnKind.FINAL)
            ).all(), seed
            least = narrowed.priced(duals).value
            assert cost(narrowed, amounts) >= least - 1e-5 * max(case.scale, abs(least))
    assert barred > share(300, 8)


def in_two_parts(run: Sweep, cut: int) -> Amounts:
    """Amounts of two parts, nothing on chip between them."""
    steps, request = run.intervals.steps, Request(threads=1)
    parts = (SweepPart(run, 0, cut), SweepPart(run, cut, steps))
    return Amounts.together(*(part.run(request) for part in parts))


def test_parts_keep_all_rows_and_joining_them_never_costs_more() -> None:
    """At any cut, from any duals; a window over all but the last step leaves what was there."""
    joined_better = 0
    for seed, case in enumerate(cases(share(60, 16), **LARGER)):
        steps = case.intervals.steps
        if steps < 3:
            continue
        columns = near_best_paths(case.priced(random_duals(case, seed)), 0.2 * case.byte, 2)
        columns = columns.union(require(case.intervals), steps)
        least = solved(case, all_columns(case.intervals))[2]
        slack = 2e-5 * max(case.scale, least)
        for cut in range(1, steps):
            run = sweeping(case, random_duals(case, seed), columns, 1 + seed % 3)
            parts = in_two_parts(run, cut)
            apart = cost(case, parts)
            joined = cost(case, run.join(cut, parts, Request(threads=1)))
            assert least - slack <= joined <= apart + slack, (seed, cut)
            joined_better += joined < apart - slack
    assert joined_better > share(50, 16)


def test_joining_an_optimum_leaves_it() -> None:
    for seed, case in enumerate(cases(share(40), **LARGER)):
        steps = case.intervals.steps
        if steps < 4:
            continue
        columns = all_columns(case.intervals)
        built, answer, least = solved(case, columns)
        best = Amounts(columns=built.columns, size_bytes=built.amounts(answer))
        best = best.take(best.size_bytes > 1e-6)
        run = sweeping(case, random_duals(case, seed), columns, 1)
        for cut in range(1, steps):
            joined = cost(case, run.join(cut, best, Request(threads=1)))
            assert case.close(joined, least, 2e-5), (seed, cut)


def test_steps_are_decided_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """As legal as in one part; a window decides one step, so 20 steps are two parts."""
    monkeypatch.setattr("formulations.residency.windows.sweep._PARTS", 2)
    apart = []
    for case in cases(share(56, 9), max_operations=60, max_tensors=20):
        steps = case.intervals.steps
        if steps < 20:
            continue
        columns = all_columns(case.intervals)
        built, answer, least = solved(case, columns)
        run = sweeping(case, built.multipliers(answer), columns, 1, 4, 3)
        joined = cost(case, run.run(Request(threads=2)))
        never_joined = cost(case, in_two_parts(run, steps // 2))
        slack = 2e-5 * max(case.scale, least)
        assert least - slack <= joined <= never_joined + slack
        apart.append(joined < never_joined - slack)
    assert sum(apart) > share(5, 9)


def test_parts_do_not_depend_on_threads() -> None:
    several = 0
    for case in cases(share(12, 6), max_operations=60, max_tensors=20):
        columns = all_columns(case.intervals)
        built, answer, _ = solved(case, columns)
        run = sweeping(case, built.multipliers(answer), columns, 1, 4, 3)
        one, *others = (run.run(Request(threads=threads)) for threads in (1, 2, 3))
        for other in others:
            np.testing.assert_array_equal(one.size_bytes, other.size_bytes)
        several += case.intervals.steps >= 20
    assert several
