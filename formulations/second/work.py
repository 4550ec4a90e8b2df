"""Build and solve in the process that :mod:`formulations.solver.apart` starts.

There a solver can be ended at any time, and writes its files into a folder that goes with it.
"""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from threading import Event, Thread, current_thread, main_thread
from time import monotonic
from typing import Any

import pulp
from highspy import Highs, cb

from formulations.second import backends, timed, traffic
from formulations.second.backends import Limits
from formulations.second.case import Case
from formulations.second.plans import plan_of
from spmopt.core.errors import SpmoptError
from spmopt.core.instance import Instance
from spmopt.core.objective import Objective
from spmopt.core.schedule import Plan

STOP = "stop"
"""A file of this name in the folder asks for the best so far."""
_POLL_S = 0.1
_MARGIN = 1e-5


@dataclass(frozen=True, kw_only=True)
class Found:
    """A plan, and a bound in the objective's units or minus infinity; what is to be noted."""

    plan: Plan | None
    bound: float
    solver: str
    notes: tuple[str, ...] = ()


def solved(instance: Instance, objective: Objective, name: str, limits: Limits) -> Found:
    """Build the model, and solve it with PuLP's solver ``name``.

    Raises
    ------
    SpmoptError
        The solver failed.
    """
    began = monotonic()
    case = Case.of(instance, objective)
    model: traffic.Traffic | timed.Timed
    if objective.cycle == 0:
        model, problem = traffic.build(case)
    else:
        model, problem = timed.build(case)
    author = f"{name} by PuLP {pulp.__version__}"
    left = replace(limits, seconds=limits.seconds - (monotonic() - began))
    if left.seconds <= 0:  # which for some solvers is no limit
        return Found(plan=None, bound=-float("inf"), solver=author)
    done = _run(problem, name, left)
    if problem.sol_status == pulp.LpSolutionInfeasible and not done:
        # Every operation fits and the rest can stream: there is a solution.
        wrong = f"{author} calls the program infeasible, which it is not"
        return Found(plan=None, bound=-float("inf"), solver=author, notes=(wrong,))
    optimal = done and problem.sol_status == pulp.LpSolutionOptimal
    value = pulp.value(problem.objective) if optimal else None
    return Found(
        plan=plan_of(model) if done else None,
        bound=backends.bound(name, problem, value, left) * float(case.unit),
        solver=author,
    )


def _run(problem: Any, name: str, limits: Limits) -> bool:
    """Whether the solver left a solution; whatever it calls it, it is checked."""
    with _told_to_stop(limits.folder / STOP) as more, _inside(limits.folder):
        warnings.simplefilter("ignore")
        Highs.resetGlobalScheduler(True)  # else it keeps to the threads of the call before
        try:
            problem.solve(backends.solver(name, limits, **more(name)))
        except pulp.PulpSolverError as error:
            raise SpmoptError(f"backend pulp: {name} failed: {error}") from None
        except IndexError:  # PuLP reads values of HiGHS that has none yet
            return False
    return _is_solution(problem)


def _is_solution(problem: Any) -> bool:
    """Whether the values of the variables meet the rows, as nearly as files with 8 digits can."""
    for one in problem.variables():
        value = one.varValue
        if value is None or not isfinite(value):
            return False
        if one.cat == pulp.LpInteger and abs(value - round(value)) > _MARGIN:
            return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return all(_holds(row) for row in problem.constraints.values())


def _holds(row: Any) -> bool:
    terms = [factor * one.varValue for one, factor in row.items()]
    over = sum(terms) + row.constant
    margin = _MARGIN * (1 + sum(map(abs, terms)))
    return bool(abs(over) <= margin if row.sense == 0 else over * row.sense >= -margin)


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """Work in a folder, where some solvers leave their logs, and print there, not on screen."""
    before = Path.cwd()
    screens = [os.dup(number) for number in (1, 2)]
    os.chdir(folder)
    try:
        with warnings.catch_warnings(), (folder / "printed").open("wb") as file:
            for number in (1, 2):
                os.dup2(file.fileno(), number)
            yield
    finally:
        for number, screen in zip((1, 2), screens, strict=True):
            os.dup2(screen, number)
            os.close(screen)
        os.chdir(before)


@contextmanager
def _told_to_stop(file: Path) -> Iterator[Callable[[str], dict[str, Any]]]:
    """Interrupt the solver when ``file`` appears; give settings that it needs for that.

    Solvers that are programs get the signal of Ctrl-C, upon which they write what they have;
    HiGHS is asked for by a callback. Others are ended by whoever waits for this process.
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
