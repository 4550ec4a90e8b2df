"""Whole tensors with a solver of PuLP; and their program as text of a file format."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor, log10
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory, gettempdir
from time import monotonic
from uuid import uuid4

from formulations.pulp_backend.solvers import STOP, Limits, PulpSolution, require, solve
from formulations.pulp_backend.translate import Names, translate
from formulations.residency.plain.cells import Spans, count_cells, plain_cells
from formulations.residency.plain.model import PlainModel
from formulations.residency.plain.names import names_of
from formulations.residency.plain.solution import plan_of, read_amounts, steps_of
from formulations.residency.tensors import FAMILIES, TOO_LARGE, outcome
from formulations.solver import apart
from formulations.solver.program import Program
from spmopt.assemble.cost import residency_plan_value, unavoidable
from spmopt.core.objective import Objective
from spmopt.core.problem import Problem
from spmopt.core.result import WHOLE, ClassBound, Result
from spmopt.core.scheduler import Request
from spmopt.core.timeline import fitting_timeline

_MOST_CELLS = 100_000  # each two integers in the solver's file
_GRACE_S = 3.0  # for a solver that was told to stop, or is late


def schedule(problem: Problem, request: Request, *, solver: str) -> Result:
    """Least objective of a whole-tensor schedule in the problem's order, by a solver of PuLP.

    The program is that of :mod:`formulations.residency.tensors`, all steps at once. It leaves out
    the rounding of transfer times up to whole cycles: so the solver's bound is one for the class.

    Raises
    ------
    InputError
        No such solver, or it is not there.
    InfeasibleError
        An operation's required-resident operands and scratch do not fit the SPM.
    """
    name = require(solver)
    line = fitting_timeline(problem)
    if count_cells(line, _spans(request.objective)) > _MOST_CELLS:
        return Result(residency_plan=request.start, notes=(TOO_LARGE,))
    model, named = name_program(problem, request.objective)
    found = _solve_apart(named, request, name)
    plan, least = request.start, None
    if found.primal is not None:
        amounts = read_amounts(model, found.primal)
        own = plan_of(steps_of(model, found.primal), model.cells, amounts)
        plans = [own] if plan is None else [plan, own]
        plan = min(plans, key=lambda one: residency_plan_value(problem, one, request.objective))
    # A solver that claims no bound proves none.
    if found.bound > -float("inf"):
        value = found.bound * float(named.unit)
        least = ClassBound(value=value, holds_for=WHOLE, proved_by=found.solver)
    result = outcome(problem, request, plan, least)
    return replace(result, notes=(*result.notes, *found.notes))


@dataclass(frozen=True, kw_only=True, eq=False)
class NamedProgram:
    """A program with names, its objective complete, in units of ``unit`` of the objective's."""

    program: Program
    names: Names
    unit: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedProgram:
    """A program to minimize; ``unit`` is the worth of one unit of its objective."""

    text: str
    columns: int
    rows: int
    unit: str


def export(problem: Problem, objective: Objective, form: str) -> ExportedProgram:
    """Return the program for ``objective`` as ``mps`` (free format) or ``lp`` (CPLEX's).

    Raises
    ------
    InfeasibleError
        Required-resident operands and scratch of an operation do not fit the SPM.
    """
    _, named = name_program(problem, objective)
    program, _ = translate(named.program, named.names)
    with TemporaryDirectory(prefix="spmopt-") as folder:
        path = Path(folder) / f"program.{form}"
        (program.writeMPS if form == "mps" else program.writeLP)(str(path))
        text = path.read_text(encoding="utf-8")
    return ExportedProgram(
        text=text,
        columns=program.numVariables(),
        rows=program.numConstraints(),
        unit=objective.unit if named.unit == 1 else f"{float(named.unit):g} {objective.unit}",
    )


def _spans(objective: Objective) -> Spans:
    return Spans.ONE if objective.cycle == 0 else Spans.STEPS


def name_program(problem: Problem, objective: Objective) -> tuple[PlainModel, NamedProgram]:
    """Return the model, and its program with names and the cost of every schedule."""
    line = fitting_timeline(problem)
    cells = plain_cells(line, _spans(objective))
    model = PlainModel(problem, line, objective, families=FAMILIES, cells=cells)
    largest = float(max(objective.cycle, objective.dram_in_byte, objective.dram_out_byte))
    # Tolerances of solvers are absolute: costs near one suit them.
    unit = Fraction(10) ** floor(log10(largest)) if largest > 0 else Fraction(1)
    factor = model.value_of(1.0) / float(unit)
    constant = float(unavoidable(objective, model.line)) / float(unit)
    columns, rows = names_of(model, problem.tensor_names)
    program = replace(
        model.program,
        cost=model.program.cost * factor,
        offset=model.program.offset * factor + constant,
    )
    names = Names(program="whole_tensors", columns=columns, rows=rows)
    return model, NamedProgram(program=program, names=names, unit=unit)


def _solve_apart(named: NamedProgram, request: Request, name: str) -> PulpSolution:
    """Solution of the solver; nothing but notes if it was ended before.

    Its process makes and removes the folder for its files, so that they do not outlive this one.
    """
    request.report(f"solving with {name}", None)
    folder, notes = Path(gettempdir()) / f"spmopt-{uuid4().hex}", list[str]()
    limits = Limits(
        gap=request.tolerance,
        seconds=request.remaining_s(),
        threads=request.threads,
        folder=folder,
    )
    found = PulpSolution(primal=None, bound=-float("inf"), solver=name)
    try:
        found = apart.call(
            f"{solve.__module__}:{solve.__name__}",
            named.program,
            named.names,
            name,
            limits,
            time_limit_s=limits.seconds + _GRACE_S,
            stop=_gently(request.stop, folder / STOP),
            library="pulp",
            note=notes.append,
        )
    except apart.StoppedError:
        pass
    except apart.DiedError:
        notes.append(apart.DIED)
    finally:
        rmtree(folder, ignore_errors=True)
    return replace(found, notes=(*found.notes, *dict.fromkeys(notes)))


def _gently(stop: Callable[[], bool], file: Path) -> Callable[[], bool]:
    """Ask for the best so far first; end the process only when it does not come."""
    stopped_s: float | None = None

    def over() -> bool:
        nonlocal stopped_s
        if stopped_s is None:
            if not stop():
                return False
            stopped_s = monotonic()
        with suppress(OSError):  # it has not begun, or has ended
            file.touch()
        return monotonic() > stopped_s + _GRACE_S

    return over
