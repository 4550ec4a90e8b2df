"""The search by CP-SAT, for a process of its own: OR-Tools and HiGHS exclude each other."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from math import ceil
from queue import SimpleQueue
from threading import Thread
from time import monotonic
from typing import Any, TypeAlias

import numpy as np
from ortools.sat.python import cp_model

from formulations.joint.facts import analyze, least_cycles
from formulations.joint.model import FAMILIES, PAGED, build
from formulations.joint.program import HUGE, JointProgram
from formulations.joint.relaxation import relax
from formulations.joint.schedule import FoundSchedule, JointSettings, ProvedBound
from formulations.joint.solution import decide_residency, decode, hint
from formulations.joint.symmetries import interchanges, mirror
from spmopt.core.params import JointParams
from spmopt.core.problem import Problem
from spmopt.core.schedule import ResidencyPlan
from spmopt.core.table import Ints

# Strategies of CP-SAT differ, so that more of them than cores pay off.
_WORKERS_A_THREAD = 4

Answer: TypeAlias = FoundSchedule | ProvedBound
Hints: TypeAlias = Sequence[tuple[Any, int]]  # variables or literals, and values


def search(
    problem: Problem, settings: JointSettings, start: ResidencyPlan | None, due: float
) -> Iterator[Answer]:
    """Schedules and bounds as they come; the last of each is the best; ends at ``due``.

    First the model with the decisions of ``start`` fixed (order, mappings, which uses share an
    interval), which is solved at once or found not to fit contiguously; then the relaxation, for
    a bound, and the model with its decisions; then all of it from the best of these. At last, once
    nothing better is to be found, a schedule of that time that is the same always.
    """
    left_out = [family for family in (*FAMILIES, *PAGED) if family.__name__ in settings.without]
    # Interchangeable operations have one order in common; a fixed order has none to choose.
    alike = settings.order is None and "interchanges" not in settings.without
    pairs = interchanges(problem) if alike else ()
    order = [(pair.first, pair.other) for pair in pairs]
    facts = analyze(problem, settings.order, pairs=order)
    create = partial(build, facts, paged=settings.paged, without=left_out)
    start = None if start is None else mirror(start, pairs)
    run = _Search(create(), settings, due)
    if start is not None:
        yield from run.near([*hint(run.program, start)])
    if not left_out:
        yield from run.send_hints([ProvedBound(cycles=least_cycles(facts))])
        if "relaxation" not in settings.without:
            yield from run.relax(start)
    yield from run.free()
    if settings.same and run.is_closed:
        yield from _settle(create(), run.best, settings.params, due)


class _Search:
    """The parts of a search, and the best schedule and bound so far."""

    def __init__(self, program: JointProgram, settings: JointSettings, due: float) -> None:
        self.program, self._settings, self._due = program, settings, due
        self._params = settings.params
        self._hints: Hints = ()
        self.best, self._least = HUGE, 0

    @property
    def is_closed(self) -> bool:
        """Whether the result is within the tolerance."""
        return self.best <= self._least * (1 + self._settings.tolerance)

    def send_hints(self, answers: Iterable[Answer]) -> Iterator[Answer]:
        """Yield better results, until the gap is closed."""
        for answer in answers:
            if isinstance(answer, FoundSchedule):
                if answer.cycles >= self.best:
                    continue
                self.best = answer.cycles
            elif answer.cycles < self._least and not answer.infeasible:
                continue
            else:
                self._least = max(self._least, answer.cycles)
            yield answer
            if self.is_closed:
                break

    def near(self, hints: Hints) -> Iterator[Answer]:
        """A schedule with the hints fixed; if it is the best, all of it is hinted later."""
        solver = self._solver(self._params.start_fraction)
        # Decisions of the plan are fixed, its times and addresses are free: solved at once, or
        # infeasible.
        solver.parameters.fix_variables_to_their_hinted_value = True
        self._hint(hints)
        if solver.solve(self.program.cp) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            if not self._hints:
                self._hints = hints
            return
        cycles = round(solver.objective_value)
        if cycles <= self.best:
            self._hints = [(variable, solver.value(variable)) for variable in self.program.every]
        schedule = decode(self.program, solver.value, solver.boolean_value)
        yield from self.send_hints([FoundSchedule(schedule=schedule, cycles=cycles)])

    def relax(self, start: ResidencyPlan | None) -> Iterator[Answer]:
        """Bounds by the relaxation, and a schedule by its decisions."""
        if self.is_closed:
            return
        relaxation = relax(self.program.facts)
        if self.best < HUGE:
            # Only better makespans matter: the domain shrinks.
            relaxation.cp.add(relaxation.makespan <= self.best)
        for literal, holds in () if start is None else hint(relaxation, start):
            relaxation.cp.add_hint(literal, holds)
        solver = self._solver(self._params.relaxed_fraction)
        solver.parameters.max_deterministic_time = self._params.relaxed_work
        with closing(_solve(relaxation.cp, solver)) as answers:
            yield from self.send_hints(answers)
        if self.is_closed or not solver.response_proto.solution:
            return
        self.program.cp.add(self.program.makespan >= self._least)
        best = self.best
        yield from self.near(_decisions(self.program, relaxation, solver))
        # The relaxation's decisions do not fit as they are: its order alone may.
        if self.best == best and self._settings.order is None:
            place = [solver.value(position) for position in relaxation.position]
            order = np.argsort(np.array(place, np.int64))
            yield from self.in_order(order, relaxation, solver)

    def in_order(
        self, order: Ints, relaxation: JointProgram, relaxed: cp_model.CpSolver
    ) -> Iterator[Answer]:
        """Schedules in one order; the best becomes the hint."""
        facts = analyze(self.program.facts.problem, order)
        program = build(facts, paged=self._settings.paged)
        program.cp.add(program.makespan >= self._least)
        for literal, holds in _decisions(program, relaxation, relaxed):
            program.cp.add_hint(literal, holds)
        solver, best = self._solver(self._params.ordered_fraction), self.best
        with closing(_solve(program.cp, solver, program)) as answers:
            # Its bounds are of that order only.
            yield from self.send_hints(each for each in answers if isinstance(each, FoundSchedule))
        if self.best < best and not self.is_closed:
            yield from self.near(_decisions(self.program, program, solver))

    def free(self) -> Iterator[Answer]:
        """All solutions and bounds on the way to the optimum."""
        if self.is_closed:
            return
        self._hint(self._hints)
        with closing(_solve(self.program.cp, self._solver(), self.program)) as answers:
            yield from self.send_hints(answers)

    def _hint(self, hints: Hints) -> None:
        _clear(self.program.cp.clear_hints)
        for variable, value in hints:
            self.program.cp.add_hint(variable, value)

    def _solver(self, share: float = 1.0) -> cp_model.CpSolver:
        threads = self._settings.threads
        workers = _WORKERS_A_THREAD * threads if threads > 1 else 1
        return _solver(workers, share * (self._due - monotonic()))


def _decisions(program: JointProgram, other: JointProgram, solver: cp_model.CpSolver) -> Hints:
    return [*decide_residency(program, other, solver.value, solver.boolean_value)]


def _solve(
    model: cp_model.CpModel, solver: cp_model.CpSolver, program: JointProgram | None = None
) -> Generator[Answer, None, None]:
    """Bounds, and with ``program`` solutions, handed over by the solver's threads."""
    answers: SimpleQueue[Answer | None] = SimpleQueue()
    solver.best_bound_callback = lambda bound: answers.put(ProvedBound(cycles=_whole(bound)))
    listener = None if program is None else _Listener(program, answers)

    def run() -> None:
        status = solver.solve(model, listener)
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


def _settle(
    program: JointProgram, cycles: int, params: JointParams, due: float
) -> Iterator[FoundSchedule]:
    """A schedule that takes no longer than ``cycles``, by one thread and from no hint.

    Many schedules take the least time, and several threads find now this one, now that.
    """
    _clear(program.cp.clear_hints)
    _clear(program.cp.clear_objective)
    program.cp.add_linear_constraint(program.makespan, 0, cycles)
    solver = _solver(1, due - monotonic())
    solver.parameters.max_deterministic_time = params.settling_work
    if solver.solve(program.cp) in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        schedule = decode(program, solver.value, solver.boolean_value)
        yield FoundSchedule(schedule=schedule, cycles=cycles)


def _clear(what: Callable[[], None]) -> None:
    """Call it; such methods of a model have no annotations."""
    what()


def _whole(bound: float) -> int:
    """Cycles are whole; the solver's bound is exact up to its rounding to a double."""
    return max(0, ceil(bound - 1e-6))


def _solver(workers: int, limit_s: float) -> cp_model.CpSolver:
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = workers
    solver.parameters.max_time_in_seconds = max(0.0, limit_s)
    solver.parameters.catch_sigint_signal = False
    return solver


class _Listener(cp_model.CpSolverSolutionCallback):
    """Decodes every solution."""

    def __init__(self, program: JointProgram, answers: SimpleQueue[Answer | None]) -> None:
        super().__init__()
        self._program = program
        self._answers = answers

    def on_solution_callback(self) -> None:
        """Called by the solver."""
        schedule = decode(self._program, self.value, self.boolean_value)
        self._answers.put(FoundSchedule(schedule=schedule, cycles=round(self.objective_value)))
