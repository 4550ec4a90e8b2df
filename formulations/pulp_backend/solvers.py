"""Solvers of PuLP: by name, and at work in a process of their own.

``pulp:cbc`` is whichever of PuLP's solvers of that name is there. In the process that
:mod:`formulations.solver.apart` starts a solver can be ended at any time, and writes its files into
a folder that goes with it.
"""

from __future__ import annotations

import os
import re
import signal
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature
from pathlib import Path
from shutil import rmtree
from threading import Event, Thread, current_thread, main_thread
from time import monotonic
from typing import Any

import numpy as np
import pulp
from highspy import Highs, cb

from formulations.pulp_backend.translate import Names, translate
from formulations.solver.apart_worker import at_end
from formulations.solver.program import Floats, Program
from spmopt.core.errors import InputError, SpmoptError, unknown

STOP = "stop"
"""A file of this name in the folder asks for the best so far."""
_POLL_S = 0.1  # between two looks for the file
_MARGIN = 1e-5  # more than the tolerances of the solvers, of 1e-6 and less
_ALSO = {"COIN_CMD": "cbc", "FSCIP_CMD": "scip"}
_AGAIN = "{} died, and was run again"
_LOG = "solver.log"
_LOG_BOUND = re.compile(r"^Lower bound:\s+(\S+)", re.MULTILINE)
_LOG_DIGITS = 5e-4  # to which the log rounds the bound
_VALUE_DIGITS = 1e-7  # relative; solution files have eight digits

_OPTIONS = {"HiGHS": {"presolve": "off"}}
"""With presolve HiGHS 1.15 proves wrong optima (:mod:`formulations.residency.plain.search`)."""
_BOUND: Mapping[str, Callable[[Any], float]] = {
    "HiGHS": lambda model: model.getInfo().mip_dual_bound,
    "GUROBI": lambda model: model.ObjBound,
    "CPLEX_PY": lambda model: model.solution.MIP.get_best_objective(),
    "SCIP_PY": lambda model: model.getDualbound(),
    "XPRESS_PY": lambda model: model.attributes.bestbound,
    "COPT": lambda model: model.BestBnd,
}
"""Where those that have one tell their lower bound; the others when they are done, or nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """When a solver ends: a relative gap and wall seconds; how many threads; where its files go."""

    gap: float
    seconds: float
    threads: int
    folder: Path


def require(name: str) -> str:
    """PuLP's name of the solver called ``name``, in any case: ``cbc`` is ``PULP_CBC_CMD``.

    Of several that are there, one in this process comes before one that is a program of its own.

    Raises
    ------
    InputError
        No such solver, or it is not installed; with those that are.
    """
    with warnings.catch_warnings(action="ignore"):  # about changes of its next version
        known = _by_name(pulp.listSolvers())
        wanted = name.lower()
        if wanted not in known:
            raise unknown("solver of PuLP", name, sorted(known))
        there = pulp.listSolvers(onlyAvailable=True)
    own = [solver for solver in known[wanted] if solver in there]
    if not own:
        choices = ", ".join(f"pulp:{one}" for one in sorted(_short(_by_name(there))))
        raise InputError(
            f"--backend pulp:{wanted}: PuLP finds no {' or '.join(known[wanted])} here; "
            f"install it, or use one of {choices}"
        )
    return min(own, key=lambda solver: solver.endswith("_CMD"))


def solver(name: str, limits: Limits, **more: Any) -> Any:
    """The PuLP solver ``name``, quiet, with those of the settings that it has."""
    with warnings.catch_warnings(action="ignore"):  # about changes of its next version
        accepted = signature(type(pulp.getSolver(name, msg=False)).__init__).parameters
        settings = {
            "gapRel": limits.gap,
            "timeLimit": limits.seconds,
            "threads": limits.threads,
            "logPath": str(limits.folder / _LOG),
            **more,
        }
        known = {key: value for key, value in settings.items() if key in accepted}
        found = pulp.getSolver(name, msg=False, **known, **_OPTIONS.get(name, {}))
    found.tmpDir = str(limits.folder)
    return found


def bound(name: str, program: Any, value: float | None, limits: Limits) -> float:
    """Lower bound of the optimum as the solver claims it, or minus infinity.

    ``value`` is that of its solution, if it calls it optimal.
    """
    claimed = -float("inf")
    if name in _BOUND and program.isMIP():
        claimed = float(_BOUND[name](program.solverModel))
    elif "CBC" in name or name == "COIN_CMD":
        log = limits.folder / _LOG
        stated = _LOG_BOUND.findall(log.read_text()) if log.exists() else []
        claimed = float(stated[-1]) - _LOG_DIGITS if stated else claimed
    # An infinite claim is no bound.
    known = [one for one in (claimed, -float("inf")) if one < float("inf")]
    if value is not None:  # HiGHS has 0 where presolve leaves nothing to search
        known.append(value - max(limits.gap, _VALUE_DIGITS) * abs(value))
    return max(known)


@dataclass(frozen=True, kw_only=True, eq=False)
class PulpSolution:
    """Values (n,) of the columns, or None; a bound or minus infinity; notes."""

    primal: Floats | None
    bound: float
    solver: str
    notes: tuple[str, ...] = ()


def solve(program: Program, names: Names, name: str, limits: Limits) -> PulpSolution:
    """Translate a program, and solve it with PuLP's solver ``name``; notes say where that failed.

    Its folder is made, and removed, here. The program must have a solution.
    """
    limits.folder.mkdir(mode=0o700, exist_ok=True)
    remove = partial(rmtree, limits.folder, ignore_errors=True)
    at_end.append(remove)
    try:
        return _solve(program, names, name, limits)
    finally:
        remove()
        at_end.remove(remove)


def _solve(program: Program, names: Names, name: str, limits: Limits) -> PulpSolution:
    began = monotonic()
    problem, columns = translate(program, names)
    author = f"{name} by PuLP {pulp.__version__}"
    nothing = PulpSolution(primal=None, bound=-float("inf"), solver=author)
    left = replace(limits, seconds=limits.seconds - (monotonic() - began))
    if left.seconds <= 0:  # which for some solvers is no limit
        return nothing
    done, notes = _try(problem, name, left)
    if done is None:
        return replace(nothing, notes=notes)
    primal = _values(program, columns) if done else None
    if problem.sol_status == pulp.LpSolutionInfeasible and primal is None:
        wrong = f"{author} calls the program infeasible, which it is not"
        return replace(nothing, notes=(*notes, wrong))
    optimal = primal is not None and problem.sol_status == pulp.LpSolutionOptimal
    value = pulp.value(problem.objective) if optimal else None
    least = bound(name, problem, value, left)
    return PulpSolution(primal=primal, bound=least, solver=author, notes=notes)


def _try(problem: Any, name: str, limits: Limits) -> tuple[bool | None, tuple[str, ...]]:
    """Run the solver, and again where it dies; None where it has found nothing before it did."""
    due, notes = monotonic() + limits.seconds, tuple[str, ...]()
    while True:
        try:
            return _run(problem, name, replace(limits, seconds=due - monotonic())), notes
        except SpmoptError as error:
            if notes or due <= monotonic() or (limits.folder / STOP).exists():
                return None, (str(error),)
            notes = (_AGAIN.format(name),)


def _run(problem: Any, name: str, limits: Limits) -> bool:
    """Whether the solver left values; whatever it calls them, they are checked."""
    with _is_stopped(limits.folder / STOP) as more, _inside(limits.folder):
        Highs.resetGlobalScheduler(True)  # else it keeps to the threads of the call before
        try:
            problem.solve(solver(name, limits, **more(name)))
        except pulp.PulpSolverError as error:
            said = " ".join(str(error).split())
            raise SpmoptError(f"backend pulp: {name} failed, or died: {said}") from None
        except IndexError:  # PuLP reads values of HiGHS that has none yet
            return False
    return True


def _values(program: Program, columns: list[Any]) -> Floats | None:
    """Return values that meet the rows, as nearly as files with 8 digits can; else None."""
    primal = np.array([np.nan if one.varValue is None else one.varValue for one in columns])
    if not np.isfinite(primal).all():
        return None
    whole = np.zeros(primal.size, bool) if program.integer is None else program.integer
    near = np.rint(primal)
    if (np.abs(primal - near)[whole] > _MARGIN).any():
        return None
    matrix, count = program.matrix, program.row_lower.size
    row = np.repeat(np.arange(count), np.diff(matrix.start))
    terms = matrix.value * primal[matrix.index]
    total = np.bincount(row, terms, count)
    margin = _MARGIN * (1 + np.bincount(row, np.abs(terms), count))
    within = (total >= program.row_lower - margin) & (total <= program.row_upper + margin)
    within_bounds = (primal >= program.lower - _MARGIN) & (primal <= program.upper + _MARGIN)
    return np.where(whole, near, primal) if within.all() and within_bounds.all() else None


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """Work in a folder, where some solvers leave their logs, and print there, not on screen."""
    screens = [os.dup(number) for number in (1, 2)]
    try:
        with (
            warnings.catch_warnings(action="ignore"),
            chdir(folder),
            (folder / "printed").open("wb") as file,
        ):
            for number in (1, 2):
                os.dup2(file.fileno(), number)
            yield
    finally:
        for number, screen in zip((1, 2), screens, strict=True):
            os.dup2(screen, number)
            os.close(screen)


@contextmanager
def _is_stopped(file: Path) -> Iterator[Callable[[str], dict[str, Any]]]:
    """Interrupt the solver when ``file`` appears; give settings that it needs for that.

    Solvers that are programs get the signal of Ctrl-C, upon which they write their incumbent;
    HiGHS is asked for by a callback. Others are ended by the process that waits for this process.
    """
    told, over = Event(), Event()

    def watch() -> None:
        while not over.wait(_POLL_S):
            if file.exists():
                told.set()
                os.killpg(os.getpgrp(), signal.SIGINT)
                return

    def more(name: str) -> dict[str, Any]:
        return _callback(told) if name == "HiGHS" else {}

    if current_thread() is not main_thread() or os.getpgrp() != os.getpid():
        yield more  # not in a process of its own
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=watch, daemon=True).start()
    try:
        yield more
    finally:
        over.set()
        signal.signal(signal.SIGINT, before)


def _callback(told: Event) -> dict[str, Any]:
    def listen(kind: Any, message: str, output: Any, answer: Any, data: Any) -> None:
        del kind, message, output, data
        if told.is_set():
            answer.user_interrupt = True

    return {
        "callbackTuple": (listen, None),
        "callbacksToActivate": [
            cb.HighsCallbackType.kCallbackSimplexInterrupt,
            cb.HighsCallbackType.kCallbackMipInterrupt,
        ],
    }


def _by_name(solvers: list[str]) -> dict[str, list[str]]:
    """Solvers by PuLP's own name and by its parts, in lower case."""
    found: dict[str, list[str]] = {}
    for one in solvers:
        words = {one.lower(), *one.lower().split("_"), _ALSO.get(one, one.lower())}
        for word in words - {"cmd", "py", "dll", "pulp"}:
            found.setdefault(word, []).append(one)
    return found


def _short(names: Mapping[str, list[str]]) -> list[str]:
    """Names without a shorter one for the same solvers."""
    return [name for name in names if "_" not in name]
