"""The search by CP-SAT, for a process of its own: OR-Tools and HiGHS exclude each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import ceil
from queue import SimpleQueue
from threading import Thread
from time import monotonic

from ortools.sat.python import cp_model

from formulations.joint.decode import Decoder
from formulations.joint.facts import analyse
from formulations.joint.hint import hinted
from formulations.joint.model import FAMILIES, PAGED, build
from formulations.joint.program import Program
from formulations.joint.search import Found, Proved, Settings
from spmopt.core.instance import Instance
from spmopt.core.plan import Plan

_FIRST_SHARE = 0.5  # of the time, at most, for the schedule nearest to the plan to start from
_WORKERS_A_THREAD = 4  # strategies differ, so more of them than cores pay off


def search(instance: Instance, settings: Settings, start: Plan | None) -> Iterator[Found | Proved]:
    """Schedules and bounds as they come; the last of each is the best.

    First the model with the decisions of ``start`` fixed (order, modes, which uses share a
    stay), which is solved at once or found not to fit contiguously; then all of it from there.
    """
    began = monotonic()
    left_out = [family for family in (*FAMILIES, *PAGED) if family.__name__ in settings.without]
    program = build(analyse(instance, settings.order), paged=settings.paged, without=left_out)
    if start is not None:
        for literal, holds in hinted(program, start):
            program.cp.add_hint(literal, holds)
        yield from _near(program, settings)
    yield from _solve(program, settings, settings.time_limit_s - (monotonic() - began))


def _near(program: Program, settings: Settings) -> Iterator[Found]:
    """A schedule with what is hinted fixed; all of it becomes the hint."""
    solver = _solver(settings, _FIRST_SHARE * settings.time_limit_s)
    solver.parameters.fix_variables_to_their_hinted_value = True
    if solver.solve(program.cp) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return
    schedule = Decoder(program, solver.value, solver.boolean_value).schedule()
    yield Found(schedule=schedule, cycles=round(solver.objective_value))
    clear: Callable[[], None] = program.cp.clear_hints  # it has no annotation
    clear()
    for variable in program.every:
        program.cp.add_hint(variable, solver.value(variable))


def _solve(program: Program, settings: Settings, limit_s: float) -> Iterator[Found | Proved]:
    """All solutions and bounds on the way, handed over by the solver's threads."""
    answers: SimpleQueue[Found | Proved | None] = SimpleQueue()
    solver = _solver(settings, limit_s)
    solver.best_bound_callback = lambda bound: answers.put(Proved(cycles=_whole(bound)))

    def run() -> None:
        status = solver.solve(program.cp, _Listener(program, answers))
        if status == cp_model.INFEASIBLE:
            answers.put(Proved(cycles=0, infeasible=True))
        elif status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            answers.put(Proved(cycles=_whole(solver.best_objective_bound)))
        answers.put(None)

    thread = Thread(target=run, daemon=True)
    thread.start()
    while (answer := answers.get()) is not None:
        yield answer
    thread.join()


def _whole(bound: float) -> int:
    """Cycles are whole; the solver's bound is exact up to its rounding to a double."""
    return max(0, ceil(bound - 1e-6))


def _solver(settings: Settings, limit_s: float) -> cp_model.CpSolver:
    solver = cp_model.CpSolver()
    several = settings.threads > 1
    solver.parameters.num_workers = _WORKERS_A_THREAD * settings.threads if several else 1
    solver.parameters.max_time_in_seconds = max(0.0, limit_s)
    solver.parameters.catch_sigint_signal = False
    return solver


class _Listener(cp_model.CpSolverSolutionCallback):
    """Decodes every solution."""

    def __init__(self, program: Program, answers: SimpleQueue[Found | Proved | None]) -> None:
        super().__init__()
        self._program = program
        self._answers = answers

    def on_solution_callback(self) -> None:
        """Called by the solver."""
        schedule = Decoder(self._program, self.value, self.boolean_value).schedule()
        self._answers.put(Found(schedule=schedule, cycles=round(self.objective_value)))
