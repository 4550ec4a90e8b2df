"""How much of an objective each field of a space explains: exact where machines alone say it.

Fields that an objective cannot depend on are never named: whether one can is found by changing it
alone. Of schedules only the solved trials tell, and search has chosen them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from spmopt.core.errors import InputError, package_hint
from spmopt.core.machine import Area, Energy
from spmopt.hardware.settings import Setting
from spmopt.search.candidate import Candidate
from spmopt.search.figures import HAVE_AREA, STATIC, needs, static_figures
from spmopt.search.records import Importance
from spmopt.search.setup import Setup
from spmopt.search.space import Space

_TREES = 64
_FEWEST = 10
"""Solved machines below which nothing is said."""
_MOST = 4096
_DRAWN = 64
"""Points of a larger space, each with every field changed alone."""
_NONE = 1e-6
"""A share that is nothing but rounding."""

Lines = Mapping[str, list[list[Candidate]]]
"""By field: machines that differ in it alone."""


def importances(study: Study, setup: Setup) -> dict[str, Importance]:
    """Find what each objective varies with.

    A static one by total effects over the space: what remains of the variance where all fields
    but one are fixed. Others by fANOVA over solved trials, if scikit-learn is installed. (Optuna's
    PED-ANOVA needs no such package, but says what good trials share: no part of the variance.)
    """
    lines, found = _lines(setup.space), {}
    for place, name in enumerate(setup.objectives):
        if name in STATIC:
            found[name] = Importance(parts=_static(name, setup, lines))
        else:
            found[name] = _solve(study, setup, place, lines)
    return found


def _static(name: str, setup: Setup, lines: Lines) -> dict[str, float]:
    def figure(candidate: Candidate) -> float | None:
        try:
            return static_figures((name,), candidate, setup.space.cost)[name]
        except InputError:
            return None

    effects = {}
    for key, rows in lines.items():
        known = [[value for each in row if (value := figure(each)) is not None] for row in rows]
        squares = [np.square(np.array(row) - np.mean(row)) for row in known if row]
        effects[key] = float(np.mean(np.concatenate(squares))) if squares else 0.0
    return _shares(effects)


def _solve(study: Study, setup: Setup, place: int, lines: Lines) -> Importance:
    trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    machines = {tuple(sorted(trial.params.items())) for trial in trials}
    if len(machines) < _FEWEST:
        return Importance(parts={}, trials=len(machines))
    if find_spec("sklearn") is None:
        return Importance(parts={}, trials=len(machines), missing=package_hint("sklearn"))

    from optuna.importance import FanovaImportanceEvaluator, get_param_importances

    # The trees take variances of 1e-18, those of nanojoules, for none.
    unit = max(abs(trial.values[place]) for trial in trials) or 1.0

    def target(trial: FrozenTrial) -> float:
        return float(trial.values[place] / unit)

    seen = _inspect(setup.objectives[place])
    with catch_warnings():
        simplefilter("ignore")
        evaluator = FanovaImportanceEvaluator(n_trees=_TREES, seed=0)
        try:
            parts = get_param_importances(study, evaluator=evaluator, target=target)
        except (RuntimeError, ValueError):
            parts = {}
    matter = {
        key: float(part)
        for key, part in parts.items()
        if len({trial.params[key] for trial in trials}) > 1 and _differ(lines[key], seen)
    }
    return Importance(parts=_shares(matter), trials=len(machines))


def _inspect(name: str) -> Callable[[Candidate], Any]:
    """Return what a figure of schedules can depend on."""
    if name in HAVE_AREA:
        return lambda candidate: candidate
    with_energy = "energy" in needs(name)

    def seen(candidate: Candidate) -> Candidate:
        machine = candidate.machine
        energy = machine.energy if with_energy else Energy()
        machine = replace(machine, name="", source="", area=Area(), energy=energy)
        return replace(candidate, machine=machine)

    return seen


def _differ(rows: list[list[Candidate]], seen: Callable[[Candidate], Any]) -> bool:
    return any(seen(each) != seen(row[0]) for row in rows for each in row[1:])


def _shares(effects: Mapping[str, float]) -> dict[str, float]:
    total = sum(effects.values())
    found = {key: value / total for key, value in effects.items() if value > _NONE * total}
    return dict(sorted(found.items(), key=lambda each: -each[1]))


def _lines(space: Space) -> Lines:
    """Go over every point of a small space, else about some drawn ones; machines that there are."""
    every = space.size is not None and space.size <= _MOST
    bases = list(space.points() if every else _draw(space))
    keys = [axis.key for axis in space.axes]

    @cache
    def machine(place: tuple[Setting, ...]) -> Candidate | None:
        return space.possible(dict(zip(keys, place, strict=True)))

    found: dict[str, list[list[Candidate]]] = {}
    for axis in space.axes:
        values = tuple(axis.values()) if every else axis.ends
        others = {tuple((k, v) for k, v in base.items() if k != axis.key): base for base in bases}
        rows = [
            [machine(tuple({**base, axis.key: value}.values())) for value in values]
            for base in others.values()
        ]
        found[axis.key] = [[each for each in row if each is not None] for row in rows]
    return found


def _draw(space: Space) -> Iterator[dict[str, Setting]]:
    draw = np.random.default_rng(0)
    for _ in range(_DRAWN):
        yield {
            axis.key: float(axis.low + (axis.high - axis.low) * draw.random())
            if axis.size is None
            else axis.value(int(draw.integers(axis.size)))
            for axis in space.axes
        }
