"""Backends by name: ``pulp:cbc`` is whichever of PuLP's solvers of that name is there."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

import pulp

from spmopt.core.errors import InputError, unknown

_ALSO = {"COIN_CMD": "cbc", "FSCIP_CMD": "scip"}
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
    with _quiet():
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
    with _quiet():
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


def bound(name: str, problem: Any, value: float | None, limits: Limits) -> float:
    """Lower bound of the optimum as the solver claims it, or minus infinity.

    ``value`` is that of its solution, if it calls it optimal.
    """
    claimed = -float("inf")
    if name in _BOUND and problem.isMIP():
        claimed = float(_BOUND[name](problem.solverModel))
    elif "CBC" in name or name == "COIN_CMD":
        log = limits.folder / _LOG
        stated = _LOG_BOUND.findall(log.read_text()) if log.exists() else []
        claimed = float(stated[-1]) - _LOG_DIGITS if stated else claimed
    known = [one for one in (claimed, -float("inf")) if one < float("inf")]
    if value is not None:  # HiGHS has 0 where presolve leaves nothing to search
        known.append(value - max(limits.gap, _VALUE_DIGITS) * abs(value))
    return max(known)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without PuLP's warnings of what its next version will change."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


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
