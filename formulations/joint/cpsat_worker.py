"""The search by CP-SAT, for a process of its own: OR-Tools and HiGHS exclude each other."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from math import ceil
from queue import SimpleQueue
from threading import Thread
from time import monotonic

from ortools.sat.python import cp_model

from formulations.joint.facts import analyze, least_cycles
from formulations.joint.model import FAMILIES, PAGED, build
from formulations.joint.program import HUGE, JointProgram
from formulations.joint.schedule import FoundSchedule, JointSettings, ProvedBound
from formulations.joint.solution import decoded, hinted
from spmopt.core.instance import Instance
from spmopt.core.schedule import Plan

_FIRST_SHARE = 0.5  # of the time, at most, for the schedule nearest to the plan to start from
_SETTLING = 2.0  # of CP-SAT's deterministic time: some ten seconds
_WORKERS_A_THREAD = 4  # strategies differ, so more of them than cores pay off


def search(
    instance: Instance, settings: JointSettings, start: Plan | None, due: float
) -> Iterator[FoundSchedule | ProvedBound]:
    """Schedules and bounds as they come; the last of each is the best; ends at ``due``.

    First the model with the decisions of ``start`` fixed (order, modes, which uses share a
    interval), which is solved at once or found not to fit contiguously; then all of it from there.
    At last, once nothing better is to be found, a schedule of that time that is the same always.
    """
    left_out = [family for family in (*FAMILIES, *PAGED) if family.__name__ in settings.without]
    program = build(analyze(instance, settings.order), paged=settings.paged, without=left_out)
    if start is not None:
        for literal, holds in hinted(program, start):
            program.cp.add_hint(literal, holds)
        yield from _near(program, settings, due)
    best, least = HUGE, 0
    if not left_out:
        least = least_cycles(program.facts)
        yield ProvedBound(cycles=least)
    with closing(_solve(program, settings, due)) as answers:
        for answer in answers:
            if isinstance(answer, FoundSchedule):
                best = answer.cycles
            elif answer.cycles < least and not answer.infeasible:
                continue
            else:
                least = max(least, answer.cycles)
            yield answer
            if best <= least * (1 + settings.tolerance):
                break
    if settings.same and best <= least * (1 + settings.tolerance):
        yield from _settled(program, best, due)


def _near(program: JointProgram, settings: JointSettings, due: float) -> Iterator[FoundSchedule]:
    """A schedule with what is hinted fixed; all of it becomes the hint."""
    solver = _solver(settings, monotonic() + _FIRST_SHARE * (due - monotonic()))
    solver.parameters.fix_variables_to_their_hinted_value = True
    if solver.solve(program.cp) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return
    schedule = decoded(program, solver.value, solver.boolean_value)
    yield FoundSchedule(schedule=schedule, cycles=round(solver.objective_value))
    _clear(program.cp.clear_hints)
    for variable in program.every:
        program.cp.add_hint(variable, solver.value(variable))


def _solve(
    program: JointProgram, settings: JointSettings, due: float
) -> Generator[FoundSchedule | ProvedBound, None, None]:
    """All solutions and bounds on the way, handed over by the solver's threads."""
    answers: SimpleQueue[FoundSchedule | ProvedBound | None] = SimpleQueue()
    solver = _solver(settings, due)
    solver.best_bound_callback = lambda bound: answers.put(ProvedBound(cycles=_whole(bound)))

    def run() -> None:
        status = solver.solve(program.cp, _Listener(program, answers))
        if status == cp_model.INFEASIBLE:
            answers.put(ProvedBound(cycles=0, infeasible=True))
        elif status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            answers.put(ProvedBound(cycles=_whole(solver.best_objective_bound)))
        answers.put(None)

    thread = Thread(target=run, daemon=True)
    thread.start()
    try:
        while (answer := answers.get()) is not None:
            yield answer
    finally:
        solver.stop_search()
        thread.join()


def _settled(program: JointProgram, cycles: int, due: float) -> Iterator[FoundSchedule]:
    """A schedule that takes no longer than ``cycles``, by one thread and from no hint.

    Many schedules take the least time, and several threads find now this one, now that.
    """
    _clear(program.cp.clear_hints)
    _clear(program.cp.clear_objective)
    program.cp.add_linear_constraint(program.makespan, 0, cycles)
    solver = _solver(JointSettings(threads=1), due)
    solver.parameters.max_deterministic_time = _SETTLING
    if solver.solve(program.cp) in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        schedule = decoded(program, solver.value, solver.boolean_value)
        yield FoundSchedule(schedule=schedule, cycles=cycles)


def _clear(what: Callable[[], None]) -> None:
    """Call it; such methods of a model have no annotations."""
    what()


def _whole(bound: float) -> int:
    """Cycles are whole; the solver's bound is exact up to its rounding to a double."""
    return max(0, ceil(bound - 1e-6))


def _solver(settings: JointSettings, due: float) -> cp_model.CpSolver:
    solver = cp_model.CpSolver()
    several = settings.threads > 1
    solver.parameters.num_workers = _WORKERS_A_THREAD * settings.threads if several else 1
    solver.parameters.max_time_in_seconds = max(0.0, due - monotonic())
    solver.parameters.catch_sigint_signal = False
    return solver


class _Listener(cp_model.CpSolverSolutionCallback):
    """Decodes every solution."""

    def __init__(
        self, program: JointProgram, answers: SimpleQueue[FoundSchedule | ProvedBound | None]
    ) -> None:
        super().__init__()
        self._program = program
        self._answers = answers

    def on_solution_callback(self) -> None:
        """Called by the solver."""
        schedule = decoded(self._program, self.value, self.boolean_value)
        self._answers.put(FoundSchedule(schedule=schedule, cycles=round(self.objective_value)))
