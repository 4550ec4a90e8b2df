from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Timer, main_thread
from time import monotonic

import highspy
import numpy as np
import pytest

from formulations.solver import highs
from formulations.solver.highs import solve, solve_within
from formulations.solver.program import Program, ProgramBuilder, SolverStatus
from spmopt.core.errors import SolverError
from spmopt.core.scheduler import Request
from tests.checked import need


def _knapsack(columns: int, rows: int, seed: int) -> Program:
    """A multi-dimensional knapsack, dense; hard for branch and bound when large."""
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 1000, (rows, columns)).astype(np.float64)
    build = ProgramBuilder()
    cost = -(weight.mean(axis=0) + rng.integers(1, 500, columns))
    taken = build.columns(columns, cost=cost, upper=1.0, integer=True)
    row = build.rows(rows, upper=np.floor(weight.sum(axis=1) / 2))
    build.add(row[:, None], taken, weight)
    return build.program(by_rows=True)


def _diet(by_rows: bool) -> Program:
    """min 2x + 3y + 1, x + y >= 4, x - y <= 2: x = 3, y = 1, duals 2.5 and -0.5."""
    build = ProgramBuilder()
    column = build.columns(2, cost=[2.0, 3.0])
    build.add(build.rows(1, 4.0), column, 1.0)
    build.add(build.rows(1, upper=2.0), column, [1.0, -1.0])
    return build.program(by_rows=by_rows, offset=1.0)


def test_integer_program_equals_enumeration() -> None:
    program = _knapsack(10, 2, seed=3)
    choices = (np.arange(1 << 10)[:, None] >> np.arange(10)) & 1
    weight = program.matrix.value.reshape(2, 10)
    legal = (choices @ weight.T <= program.row_upper).all(axis=1)
    best = (choices @ program.cost)[legal].min()
    answer = solve(program, options={"mip_rel_gap": 0.0})
    assert answer.status is SolverStatus.OPTIMAL
    assert answer.feasible
    assert answer.objective == pytest.approx(best)
    assert answer.bound == pytest.approx(best)


def test_infeasible_is_told_apart() -> None:
    program = _diet(by_rows=True)
    crossed = Program(
        cost=program.cost,
        lower=program.lower,
        upper=np.ones(2),
        row_lower=program.row_lower,
        row_upper=program.row_upper,
        matrix=program.matrix,
        integer=np.ones(2, bool),
    )
    answer = solve(crossed)
    assert answer.status is SolverStatus.INFEASIBLE
    assert answer.primal is None
    assert answer.objective is None


def test_time_limit_returns_the_start_and_a_bound() -> None:
    program = _knapsack(400, 40, seed=1)
    start = np.zeros(400)
    start[0] = 1.0
    answer = solve(program, time_limit_s=0.3, start=start, options={"mip_rel_gap": 0.0})
    assert answer.status is SolverStatus.TIME_LIMIT
    assert answer.feasible
    assert answer.bound < need(answer.objective) <= program.cost[0]


def test_stop_interrupts_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(highs, "_GRACE_S", 30.0)  # a busy machine takes its time to heed it
    seen: list[tuple[float, float]] = []
    answer = solve(
        _knapsack(400, 40, seed=2),
        options={"mip_rel_gap": 0.0},
        stop=lambda: any(objective < np.inf for objective, _ in seen),
        progress=lambda objective, bound: seen.append((objective, bound)),
        time_limit_s=60.0,
    )
    assert answer.status is SolverStatus.INTERRUPTED
    assert answer.feasible
    assert all(objective >= bound for objective, bound in seen)


@pytest.mark.parametrize("by_limit", [False, True])
def test_a_solver_that_does_not_stop_is_left(
    monkeypatch: pytest.MonkeyPatch, by_limit: bool
) -> None:
    left = Event()

    class Deaf(highspy.Highs):
        def run(self) -> highspy.HighsStatus:
            assert left.wait(60.0)  # which comes after it was left
            return highspy.HighsStatus.kOk

    monkeypatch.setattr(highs, "_new", Deaf)
    monkeypatch.setattr(highs, "_LATE_S", 0.1)
    began = monotonic()
    if by_limit:
        answer = solve(_diet(by_rows=False), time_limit_s=0.1)
    else:
        answer = solve(_diet(by_rows=False), stop=lambda: monotonic() > began + 0.2)
    left.set()
    assert answer.status is SolverStatus.INTERRUPTED
    assert (answer.primal, answer.row_dual, answer.bound) == (None, None, -np.inf)


def test_without_time_no_program_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """Building and presolving one takes seconds of a limit that has passed."""
    monkeypatch.setattr(highs, "_pass", lambda *_: pytest.fail("begun"))
    answer = solve_within(_diet(by_rows=False), Request(time_limit_s=0.0))
    assert answer.status is SolverStatus.INTERRUPTED
    assert (answer.primal, answer.bound) == (None, -np.inf)


def test_control_c_reaches_the_caller() -> None:
    began = monotonic()
    ident = need(main_thread().ident)
    Timer(0.5, signal.pthread_kill, (ident, signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        solve(_knapsack(400, 40, seed=5), options={"mip_rel_gap": 0.0}, time_limit_s=60.0)
    assert monotonic() - began < 50


def test_other_thread_counts_in_turn() -> None:
    program = _knapsack(20, 3, seed=7)
    values = [solve(program, threads=threads).objective for threads in (1, 2, 1)]
    assert values[0] == pytest.approx(values[1], rel=1e-4)
    assert values[0] == values[2]


@pytest.mark.parametrize("threads", [2, 3])
def test_a_brief_program_takes_turns_with_any_other(threads: int) -> None:
    """HiGHS keeps the threads of the first run in a thread, and refuses others."""

    def turns() -> None:
        own: highspy.Highs = highs._new()
        own.setOptionValue("output_flag", False)
        own.setOptionValue("threads", threads)
        for _ in range(2):
            assert own.run() == highspy.HighsStatus.kOk
            for asked in (1, threads):
                assert solve(_diet(by_rows=False), threads=asked, brief=True).objective == 10.0

    with ThreadPoolExecutor(1) as fresh:  # in this thread other tests may have run HiGHS
        fresh.submit(turns).result()


def test_program_of_too_large_figures_is_refused_in_a_line() -> None:
    build = ProgramBuilder()
    build.add(build.rows(1, 1.0), build.columns(1), 2.0**50)
    with pytest.raises(SolverError, match="HiGHS refused the program"):
        solve(build.program())


def test_unknown_option_is_refused() -> None:
    with pytest.raises(ValueError, match="no_such_option"):
        solve(_diet(by_rows=False), options={"no_such_option": 1})


@pytest.mark.parametrize(
    ("lower", "ending"), [(-1.0, SolverStatus.OPTIMAL), (1.0, SolverStatus.INFEASIBLE)]
)
def test_program_without_columns(lower: float, ending: SolverStatus) -> None:
    build = ProgramBuilder()
    build.add(build.rows(1, lower, 2.0), build.columns(0), 1.0)
    program = build.program(by_rows=True, offset=5.0)
    answer = solve(program)
    assert answer.status is ending
    assert answer.objective == (5.0 if ending is SolverStatus.OPTIMAL else None)
