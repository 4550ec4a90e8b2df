"""The scheduler ``whole`` with a backend of PuLP; and its program as text of a file format."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory, gettempdir
from time import monotonic
from uuid import uuid4

from formulations.pulp_model.model import WholeTensorCase
from formulations.pulp_model.solver import STOP, Limits, WholeSolution, build, require, solve
from formulations.solver import apart
from spmopt.assemble.cost import residency_plan_value
from spmopt.core.mappings import SEVERAL_MAPPINGS
from spmopt.core.objective import Objective
from spmopt.core.problem import Problem
from spmopt.core.result import WHOLE, ClassBound, Result
from spmopt.core.scheduler import Request

_MOST_TIMED, _MOST_STEPS = 150_000, 2_000_000  # steps of all intervals, with time and without
_TOO_LARGE = "too large for a model in PuLP: the schedule that it would start from"
_PARTLY_KEPT = "parts of tensors stay between uses: cheaper than the class allows"
_MARGIN = 1e-6  # relative, that solvers may be off
_GRACE_S = 3.0  # for a solver that was told to stop, or is late


def schedule(problem: Problem, request: Request, *, solver: str) -> Result:
    """Least objective of a whole-tensor schedule in the problem's order, by a solver of PuLP.

    Both models are exact for their class (README of the formulations), but for command set-up,
    the rounding of transfer times up to whole cycles and, where time has a dual value, the rounding
    of parts up to pages, which they leave out: so the solver's bound is one for the class.

    Raises
    ------
    InputError
        No such solver, or it is not there.
    InfeasibleError
        An operation's required-resident operands and scratch do not fit the SPM.
    """
    name = require(solver)
    notes = [SEVERAL_MAPPINGS] if problem.several_mappings else []
    case = WholeTensorCase(problem, request.objective)
    if case.interval_steps() > (_MOST_TIMED if request.objective.cycle > 0 else _MOST_STEPS):
        return Result(residency_plan=request.start, notes=(*notes, _TOO_LARGE))
    found = _find(problem, request, name)
    class_bound = None
    # A solver that claims no bound proves none.
    if found.bound > -float("inf"):
        holds_for = "; ".join((WHOLE, *notes))
        class_bound = ClassBound(value=found.bound, holds_for=holds_for, proved_by=found.solver)
    return _outcome(problem, request, found, class_bound, [*notes, *found.notes])


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
    model, program = build(problem, objective)
    with TemporaryDirectory(prefix="spmopt-") as folder:
        path = Path(folder) / f"program.{form}"
        (program.writeMPS if form == "mps" else program.writeLP)(str(path))
        text = path.read_text(encoding="utf-8")
    unit = model.case.unit
    return ExportedProgram(
        text=text,
        columns=program.numVariables(),
        rows=program.numConstraints(),
        unit=objective.unit if unit == 1 else f"{float(unit):g} {objective.unit}",
    )


def _outcome(
    problem: Problem,
    request: Request,
    found: WholeSolution,
    class_bound: ClassBound | None,
    notes: list[str],
) -> Result:
    """The better of the result and the residency plan to start from.

    In a residency plan that takes no notice of classes, a part that leaves and would be back in the
    very next step just remains (R2). Then it may cost less than the bound for the class.
    """
    residency_plans = [
        residency_plan
        for residency_plan in (found.residency_plan, request.start)
        if residency_plan is not None
    ]
    valued = [
        (residency_plan_value(problem, residency_plan, request.objective), residency_plan)
        for residency_plan in residency_plans
    ]
    value, residency_plan = min(valued, key=lambda one: one[0], default=(None, None))
    if value is not None and class_bound is not None and float(value) < class_bound.value:
        if float(value) < class_bound.value * (1 - _MARGIN):
            notes = [*notes, _PARTLY_KEPT]
            class_bound = None
        else:
            class_bound = replace(class_bound, value=float(value))
    return Result(residency_plan=residency_plan, class_bound=class_bound, notes=tuple(notes))


def _find(problem: Problem, request: Request, name: str) -> WholeSolution:
    """Result of the solver; nothing but notes if it was ended before.

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
    found = WholeSolution(residency_plan=None, bound=-float("inf"), solver=name)
    try:
        found = apart.call(
            f"{solve.__module__}:{solve.__name__}",
            problem,
            request.objective,
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
