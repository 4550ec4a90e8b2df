"""HiGHS: a program in, a result out (https://highs.dev, package highspy)."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from threading import Thread
from time import monotonic

import highspy
import numpy as np
from highspy import HighsModelStatus, HighsStatus, cb

from formulations.solver.program import Floats, Matrix, Program, SolverResult, SolverStatus
from spmopt.core.errors import SolverError
from spmopt.core.scheduler import Request
from spmopt.core.table import Ints

Option = bool | int | float | str
Progress = Callable[[float, float], None]

# Numbers of HiGHS's own enumerations.
_BY_COLUMNS, _BY_ROWS, _MINIMIZE, _FEASIBLE = 1, 2, 1, 2
_POLL_S = 0.05  # between two questions whether to stop
_GRACE_S = 0.7  # for a solver that was told to stop
_LATE_S = 0.3  # for a solver to heed its own time limit
_new: Callable[[], highspy.Highs] = highspy.Highs  # its constructor has no annotation
_INTERRUPTS = (
    cb.HighsCallbackType.kCallbackSimplexInterrupt,
    cb.HighsCallbackType.kCallbackIpmInterrupt,
    cb.HighsCallbackType.kCallbackMipInterrupt,
)
_SIMPLEX_S, _LARGE_S, _INTERIOR_S = 2e-9, 3e-7, 4e-7
"""Seconds of an iteration of a linear program: for each entry of the matrix, in a large one by the
root of their number; of an interior point for each entry."""
_ENTRY_S, _MIP_ITERATION_S = 5e-6, 3e-6
"""Of an integer program: to begin with, for each entry; of an iteration, by the root of their
number. Half of 140 programs of 1,000 to 40,000 entries took between 0.7 and 1.3 times as long."""
_ASKED_S, _FEW_ENTRIES, _MORE = 1e-6, 8e3, 1.6
"""Between two times that HiGHS asks in an integer program, for each entry; in large ones, most of
whose time is spent at the root, as much more as a power of their entries."""
_STATUS = {
    HighsModelStatus.kOptimal: SolverStatus.OPTIMAL,
    HighsModelStatus.kModelEmpty: SolverStatus.OPTIMAL,
    HighsModelStatus.kInfeasible: SolverStatus.INFEASIBLE,
    HighsModelStatus.kUnbounded: SolverStatus.UNBOUNDED,
    HighsModelStatus.kTimeLimit: SolverStatus.TIME_LIMIT,
    HighsModelStatus.kInterrupt: SolverStatus.INTERRUPTED,
}


def solve(
    program: Program,
    *,
    options: Mapping[str, Option] | None = None,
    time_limit_s: float = float("inf"),
    work_limit_s: float = float("inf"),
    threads: int = 1,
    start: Floats | None = None,
    stop: Callable[[], bool] = bool,
    progress: Progress | None = None,
    brief: bool = False,
) -> SolverResult:
    """Solve ``program``; primal and dual values come back even when HiGHS stopped early.

    The solver runs in a thread of its own while the caller's waits, so that signal handlers
    run at once and ``stop`` may depend on them. An interrupt that is raised ends the solver, then
    propagates. Parts of HiGHS (the ordering of a large matrix) cannot be stopped for many seconds:
    then the thread is left to itself, and the answer has no values.

    Parameters
    ----------
    options
        HiGHS options by name (``mip_rel_gap``, ``solver``, ``run_crossover``, ...).
    work_limit_s
        Of an integer program, counted by its iterations: where that ends, it does so at the same
        point on every machine.
    start : (n,)
        A first solution of an integer program.
    stop
        Asked often; once true, the best found is returned.
    progress
        Told the best objective and the bound of an integer program as they change.
    brief
        A program of less than a second: it runs in the caller's thread, in no other, and asks
        nothing. To be asked at every iteration costs a quarter of the time of a linear program of
        1,500 rows.

    Raises
    ------
    SolverError
        HiGHS refused the program: it takes no coefficient of 1e15 or more, for one.
    ValueError
        HiGHS refused an option: a mistake in the calling code.
    """
    if not program.cost.size:
        return _without_columns(program)
    settings = {"output_flag": False, "threads": 1 if brief else threads, **(options or {})}
    if np.isfinite(time_limit_s):
        settings["time_limit"] = max(0.0, time_limit_s)
    solver = _new()
    for name, value in settings.items():
        _set(solver, name, value)
    _pass(solver, program)
    if start is not None:
        solution = highspy.HighsSolution()
        solution.col_value = start
        _require(solver.setSolution(solution), "start solution")
    if brief:
        _forget_threads()  # of what else the caller solves by HiGHS
        _run_once(solver)
        return _result(solver, program)
    # HiPO heeds neither interrupts nor its limit while it analyses.
    deadline = monotonic() + time_limit_s + _LATE_S
    entries = max(1, program.matrix.index.size)
    # It tells of no iterations before it ends, so that those it may take are guessed.
    asked_s = _ASKED_S * entries * max(1.0, entries / _FEW_ENTRIES) ** _MORE
    ended = _run(solver, lambda: monotonic() > deadline or stop(), progress, work_limit_s / asked_s)
    if not ended:
        # Nothing is known of a solver that still runs.
        return SolverResult(status=SolverStatus.INTERRUPTED, solver=_name())
    return _result(solver, program)


class Repeated:
    """A small linear program that is solved again with other costs or sides, from its last basis.

    It runs in the caller's thread, in no other, as ``brief`` programs do.
    """

    def __init__(self, program: Program, options: Mapping[str, Option]) -> None:
        self.program, self._solver = program, _new()
        for name, value in {"output_flag": False, "threads": 1, **options}.items():
            _set(self._solver, name, value)
        _pass(self._solver, program)

    def sides(self, row: int, lower: float, upper: float) -> None:
        """Change the sides of a row."""
        _require(self._solver.changeRowBounds(row, lower, upper), "sides")

    def costs(self, columns: Ints, cost: Floats) -> None:
        """Change the costs of columns."""
        program = self.program
        self.program = replace(program, cost=program.cost.copy())
        self.program.cost[columns] = cost
        which = columns.astype(np.int32)
        _require(self._solver.changeColsCost(which.size, which, cost), "costs")

    def bounds(self, columns: Ints, lower: Floats, upper: Floats) -> None:
        """Change the bounds of columns."""
        which = columns.astype(np.int32)
        _require(self._solver.changeColsBounds(which.size, which, lower, upper), "bounds")

    def add_rows(self, matrix: Matrix, lower: Floats, upper: Floats) -> None:
        """Add the rows of ``matrix``; results have no dual values of rows from then on."""
        start, index = matrix.start[:-1].astype(np.int32), matrix.index.astype(np.int32)
        added = self._solver.addRows(
            lower.size, lower, upper, index.size, start, index, matrix.value
        )
        _require(added, "rows")

    def option(self, name: str, value: Option) -> None:
        """Change an option."""
        _set(self._solver, name, value)

    def solve(self) -> SolverResult:
        """Solve it."""
        if not self.program.cost.size:
            return _without_columns(self.program)
        _forget_threads()
        _run_once(self._solver)
        return _result(self._solver, self.program)


def solve_within(
    program: Program,
    request: Request,
    *,
    options: Mapping[str, Option] | None = None,
    share: float = 1.0,
    start: Floats | None = None,
    progress: Progress | None = None,
    brief: bool = False,
) -> SolverResult:
    """Solve ``program`` in the time that ``request`` has left, or a phase of it; count its work.

    With no time left it is not begun, unless it is ``brief``.
    """
    if share < 1:
        request = request.share(share)
    if not brief and program.cost.size and request.is_over():
        return SolverResult(status=SolverStatus.INTERRUPTED, solver=_name())
    answer = solve(
        program,
        options=options,
        time_limit_s=request.remaining_s(),
        work_limit_s=request.work_end - request.work.seconds,
        threads=request.threads,
        start=start,
        stop=request.stop,
        progress=progress,
        brief=brief,
    )
    request.work.seconds += answer.work_s
    return answer


def interior_point(tolerance: float, solver: str = "ipx") -> dict[str, Option]:
    """Return the options of an interior-point method whose duals are right."""
    return {
        "solver": solver,
        "presolve": "off",  # its duals are wrong without crossover
        "run_crossover": "off",
        "ipm_optimality_tolerance": tolerance,
    }


def _pass(solver: highspy.Highs, program: Program) -> None:
    matrix, columns = program.matrix, program.cost.size
    integer = program.integer if program.integer is not None else np.zeros(columns, bool)
    status = solver.passModel(
        columns,
        program.row_lower.size,
        matrix.value.size,
        _BY_ROWS if matrix.by_rows else _BY_COLUMNS,
        _MINIMIZE,
        program.offset,
        program.cost,
        program.lower,
        program.upper,
        program.row_lower,
        program.row_upper,
        matrix.start.astype(np.int32),
        matrix.index.astype(np.int32),
        matrix.value,
        integer.astype(np.int32),
    )
    _require(status, "program")


def _set(solver: highspy.Highs, name: str, value: Option) -> None:
    if solver.setOptionValue(name, value) == HighsStatus.kError:
        raise ValueError(f"HiGHS refused the option {name}={value!r}")


def _require(status: HighsStatus, what: str) -> None:
    # Warnings (tiny coefficients dropped, a start that is no solution) are not mistakes.
    if status == HighsStatus.kError:
        raise SolverError(f"HiGHS refused the {what}")


def _forget_threads() -> None:
    """Let the next run in this thread use other threads; HiGHS refuses it otherwise."""
    highspy.Highs.resetGlobalScheduler(False)


def _run_once(solver: highspy.Highs) -> None:
    try:
        solver.run()
    finally:
        _forget_threads()


def _run(
    solver: highspy.Highs, stop: Callable[[], bool], progress: Progress | None, most: float
) -> bool:
    """Run in a second thread; the callbacks only read a flag that this thread sets.

    An integer program also ends when HiGHS has asked ``most`` times whether it should go on: it
    asks at the same points of the same search, whatever the load and with one thread or two.

    Return whether it ended; a solver that did not stop when told to still runs, and may not be
    touched.
    """
    stopped = False
    latest, asked = (np.inf, -np.inf), 0

    def observe(
        kind: cb.HighsCallbackType,
        message: str,
        output: cb.HighsCallbackOutput,
        answer: cb.HighsCallbackInput,
        data: object,
    ) -> None:
        nonlocal latest, asked
        del message, data
        if stopped:
            answer.user_interrupt = True
        elif kind == cb.HighsCallbackType.kCallbackMipInterrupt:
            latest = (output.mip_primal_bound, output.mip_dual_bound)
            asked += 1
            answer.user_interrupt = asked > most

    solver.setCallback(observe, None)
    for kind in _INTERRUPTS:
        solver.startCallback(kind)
    thread = Thread(target=_run_once, args=(solver,), daemon=True)
    thread.start()
    reported, until = latest, np.inf
    try:
        while thread.is_alive() and monotonic() < until:
            thread.join(_POLL_S)
            if not stopped and stop():
                stopped, until = True, monotonic() + _GRACE_S
            if progress is not None and latest != reported:
                reported = latest
                progress(*reported)
    finally:
        if not stopped:
            stopped = True
            thread.join(_GRACE_S)
    if thread.is_alive():
        atexit.register(thread.join)  # its memory must outlive it
        return False
    return True


def _result(solver: highspy.Highs, program: Program) -> SolverResult:
    info, solution = solver.getInfo(), solver.getSolution()
    status = _STATUS.get(solver.getModelStatus(), SolverStatus.OTHER)
    primal = _values(solution.col_value, valid=solution.value_valid, size=program.cost.size)
    # Not a dot product: its threads wait for each other, 15 % of the CPU time of wide windows.
    objective = None if primal is None else float((program.cost * primal).sum() + program.offset)
    bound = -np.inf
    if program.integer is not None and program.integer.any():
        bound = float(info.mip_dual_bound)
    elif status is SolverStatus.OPTIMAL and objective is not None:
        bound = objective
    return SolverResult(
        status=status,
        objective=objective,
        bound=bound,
        feasible=primal is not None and info.primal_solution_status == _FEASIBLE,
        primal=primal,
        column_dual=_values(solution.col_dual, valid=solution.dual_valid, size=program.cost.size),
        row_dual=_values(solution.row_dual, valid=solution.dual_valid, size=program.row_lower.size),
        solver=_name(),
        work_s=_work_s(info, program),
    )


def _work_s(info: highspy.HighsInfo, program: Program) -> float:
    """Return about how long the iterations take."""
    entries = program.matrix.index.size
    simplex, interior = max(0, info.simplex_iteration_count), max(0, info.ipm_iteration_count)
    if program.integer is not None and program.integer.any():
        return float(_ENTRY_S * entries + _MIP_ITERATION_S * simplex * entries**0.5)
    # Of a large program an iteration sees few of the entries.
    simplex_s = simplex * min(_SIMPLEX_S * entries, _LARGE_S * entries**0.5)
    return float(simplex_s + _INTERIOR_S * interior * entries)


def _without_columns(program: Program) -> SolverResult:
    """Answer for HiGHS, which refuses models without columns: every row is zero."""
    row_dual = np.zeros(program.row_lower.size)
    if not ((program.row_lower <= 0).all() and (program.row_upper >= 0).all()):
        status = SolverStatus.INFEASIBLE
        return SolverResult(status=status, solver=_name(), bound=np.inf, row_dual=row_dual)
    return SolverResult(
        status=SolverStatus.OPTIMAL,
        solver=_name(),
        objective=program.offset,
        bound=program.offset,
        feasible=True,
        primal=np.zeros(0),
        column_dual=np.zeros(0),
        row_dual=row_dual,
    )


@cache
def _name() -> str:
    return f"HiGHS {_new().version()}"


def _values(values: list[float], *, valid: bool, size: int) -> Floats | None:
    array = np.asarray(values, np.float64)
    return array if valid and array.size == size else None
