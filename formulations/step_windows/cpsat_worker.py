"""A window of steps, solved by CP-SAT; for a process of its own."""

from __future__ import annotations

from ortools.sat.python import cp_model

from formulations.step_windows.program import Number, WindowProgram
from formulations.step_windows.residency_rows import RESIDENCY
from formulations.step_windows.time_rows import Barriers, Replay
from spmopt.core.window import StepWindow, WindowDecision

_SECONDS = 2.5
"""Of an idle core, for one of CP-SAT's deterministic time, about."""


def decide(window: StepWindow, work_s: float) -> WindowDecision | None:
    """Return the best decision found by so much counted work; None where none was.

    One thread: its course, and so the decision, is always the same.
    """
    program, end = build(window)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.linearization_level = 2  # without, SqueezeNet's take up to ten times as long
    # Counted work, not seconds: the same decision under any load.
    solver.parameters.max_deterministic_time = work_s / _SECONDS
    solver.parameters.catch_sigint_signal = False
    status = solver.solve(program.cp)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    return _decode(program, solver, solver.value(end))


def build(window: StepWindow) -> tuple[WindowProgram, Number]:
    """Return the program of a window, and its objective: the time at which all has ended."""
    program = WindowProgram(window)
    for family in RESIDENCY:
        family(program)
    rows = Barriers(program) if window.barriers else Replay(program)
    for step in range(program.steps):
        rows.run(step)
    end = rows.end()
    program.cp.minimize(end)
    return program, end


def _decode(program: WindowProgram, solver: cp_model.CpSolver, end: int) -> WindowDecision:
    window, steps = program.window, range(program.window.steps)
    chosen = [
        next(
            (operation, mapping)
            for literal, operation, mapping in program.options(step)
            if solver.boolean_value(literal)
        )
        for step in steps
    ]
    tensors, value = range(len(window.tensors)), solver.value
    return WindowDecision(
        operation=tuple(operation for operation, _ in chosen),
        mapping=tuple(mapping for _, mapping in chosen),
        held=tuple(tuple(value(program.held[t][p]) for p in steps) for t in tensors),
        valid=tuple(tuple(value(program.valid[t][p + 1]) for p in steps) for t in tensors),
        stored=tuple(tuple(value(program.stored[t][p]) > 0 for p in steps) for t in tensors),
        cycles=end / program.unit,
        work_s=_SECONDS * solver.response_proto.deterministic_time,
    )
