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
from math import isfinite
from pathlib import Path
from shutil import rmtree
from threading import Event, Thread, current_thread, main_thread
from time import monotonic
from typing import Any

import pulp
from highspy import Highs, cb

from formulations.pulp_model.model import WholeModel, WholeTensorCase
from formulations.pulp_model.plans import residency_plan_of
from formulations.pulp_model.timed import TimedPulpModel
from formulations.pulp_model.traffic import TrafficPulpModel
from formulations.solver.apart_worker import at_end
from spmopt.core.errors import InputError, SpmoptError, unknown
from spmopt.core.objective import Objective
from spmopt.core.problem import Problem
from spmopt.core.schedule import ResidencyPlan

STOP = "stop"
"""A file of this name in the folder asks for the best so far."""
_POLL_S = 0.1
_MARGIN = 1e-5
_ALSO = {"COIN_CMD": "cbc", "FSCIP_CMD": "scip"}
_AGAIN = "{} died, and was run again"
_LOG = "solver.log"
_LOG_BOUND = re.compile(r"^Lower bound:\s+(\S+)", re.MULTILINE)
_LOG_DIGITS = 5e-4  # to which the log rounds the bound
_VALUE_DIGITS = 1e-7  # relative; solution files have eight digits

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
        found = pulp.getSolver(name, msg=False, **known)
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


def build(problem: Problem, objective: Objective) -> tuple[WholeModel, Any]:
    """Return the model for an objective, simpler where time has no dual, and its PuLP problem."""
    case = WholeTensorCase(problem, objective)
    model = TrafficPulpModel(case) if objective.cycle == 0 else TimedPulpModel(case)
    return model, model.program()


@dataclass(frozen=True, kw_only=True)
class WholeSolution:
    """A residency plan, and a bound in the objective's units or minus infinity; notes."""

    residency_plan: ResidencyPlan | None
    bound: float
    solver: str
    notes: tuple[str, ...] = ()


def solve(problem: Problem, objective: Objective, name: str, limits: Limits) -> WholeSolution:
    """Build the model, and solve it with PuLP's solver ``name``; notes say where that failed.

    Its folder is made, and removed, here.
    """
    limits.folder.mkdir(mode=0o700, exist_ok=True)
    remove = partial(rmtree, limits.folder, ignore_errors=True)
    at_end.append(remove)
    try:
        return _solve(problem, objective, name, limits)
    finally:
        remove()
        at_end.remove(remove)


def _solve(problem: Problem, objective: Objective, name: str, limits: Limits) -> WholeSolution:
    began = monotonic()
    model, program = build(problem, objective)
    author = f"{name} by PuLP {pulp.__version__}"
    left = replace(limits, seconds=limits.seconds - (monotonic() - began))
    if left.seconds <= 0:  # which for some solvers is no limit
        return WholeSolution(residency_plan=None, bound=-float("inf"), solver=author)
    done, notes = _try(program, name, left)
    if done is None:
        return WholeSolution(residency_plan=None, bound=-float("inf"), solver=author, notes=notes)
    if program.sol_status == pulp.LpSolutionInfeasible and not done:
        # Every operation fits and the rest can stream: there is a solution.
        wrong = f"{author} calls the program infeasible, which it is not"
        return WholeSolution(
            residency_plan=None, bound=-float("inf"), solver=author, notes=(*notes, wrong)
        )
    optimal = done and program.sol_status == pulp.LpSolutionOptimal
    value = pulp.value(program.objective) if optimal else None
    return WholeSolution(
        residency_plan=residency_plan_of(model) if done else None,
        bound=bound(name, program, value, left) * float(model.case.unit),
        solver=author,
        notes=notes,
    )


def _try(program: Any, name: str, limits: Limits) -> tuple[bool | None, tuple[str, ...]]:
    """Run the solver, and again where it dies; None where it has found nothing before it did."""
    due, notes = monotonic() + limits.seconds, tuple[str, ...]()
    while True:
        try:
            return _run(program, name, replace(limits, seconds=due - monotonic())), notes
        except SpmoptError as error:
            if notes or due <= monotonic() or (limits.folder / STOP).exists():
                return None, (str(error),)
            notes = (_AGAIN.format(name),)


def _run(program: Any, name: str, limits: Limits) -> bool:
    """Whether the solver left a solution; whatever it calls it, it is checked."""
    with _is_stopped(limits.folder / STOP) as more, _inside(limits.folder):
        Highs.resetGlobalScheduler(True)  # else it keeps to the threads of the call before
        try:
            program.solve(solver(name, limits, **more(name)))
        except pulp.PulpSolverError as error:
            said = " ".join(str(error).split())
            raise SpmoptError(f"backend pulp: {name} failed, or died: {said}") from None
        except IndexError:  # PuLP reads values of HiGHS that has none yet
            return False
    return _is_solution(program)


def _is_solution(program: Any) -> bool:
    """Whether the values of the variables meet the rows, as nearly as files with 8 digits can."""
    for one in program.variables():
        value = one.varValue
        if value is None or not isfinite(value):
            return False
        if one.cat == pulp.LpInteger and abs(value - round(value)) > _MARGIN:
            return False
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        return all(_holds(row) for row in program.constraints.values())


def _holds(row: Any) -> bool:
    terms = [factor * one.varValue for one, factor in row.items()]
    over = sum(terms) + row.constant
    margin = _MARGIN * (1 + sum(map(abs, terms)))
    return bool(abs(over) <= margin if row.sense == 0 else over * row.sense >= -margin)


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
