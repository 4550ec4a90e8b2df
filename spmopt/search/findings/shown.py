"""Which trials a study shows: the front, the best, and how many came to what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from spmopt.core.errors import InputError
from spmopt.search.space.setup import Setup
from spmopt.search.study.process import is_lost
from spmopt.search.study.record import (
    AS_BEFORE,
    ERROR,
    FIGURES,
    NETWORKS,
    PROOF,
    counts,
    is_feasible,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many trials came to what; ``running`` are those of other processes.

    ``lost`` are those of processes of this machine that have ended. Optuna takes them for running
    until a search goes on with the study: it fails them and puts their points back, up to three
    times, and ``put_back`` are those that it has failed.
    """

    solved: int = 0
    as_before: int = 0
    excluded: int = 0
    impossible: int = 0
    failed: int = 0
    running: int = 0
    lost: int = 0
    put_back: int = 0


def tally(study: Study) -> Tally:
    """Count the trials that were begun."""
    found = dict.fromkeys(Tally.__slots__, 0)
    for trial in study.get_trials(deepcopy=False):
        if trial.state is not TrialState.WAITING:
            found[state_of(trial)] += 1
    return Tally(**found)


def front(study: Study) -> list[FrozenTrial]:
    """Trials that no other is better than, by the first objective; each machine once."""
    found = [trial for trial in study.best_trials if is_feasible(trial)]
    once = {tuple(sorted(trial.params.items())): trial for trial in reversed(found)}
    return sorted(once.values(), key=lambda trial: (trial.values, trial.number))


def best(study: Study, count: int) -> list[FrozenTrial]:
    """The ``count`` feasible trials that are best in the first objective; each machine once."""
    found = [trial for trial in study.get_trials(deepcopy=False) if is_feasible(trial)]
    once = {tuple(sorted(trial.params.items())): trial for trial in reversed(found)}
    return sorted(once.values(), key=lambda trial: (trial.values, trial.number))[:count]


def require_feasible(study: Study, setup: Setup) -> None:
    """Raise if trials were run, and none can be had.

    Raises
    ------
    InputError
        No machine of the space can be built.
    """
    trials = [trial for trial in study.get_trials(deepcopy=False) if counts(trial)]
    reasons = [trial.user_attrs.get(PROOF, {}).get("impossible") for trial in trials]
    if trials and all(reasons):
        raise InputError(f"all {len(trials)} trials are impossible: {reasons[0]}")


def never_held(study: Study, setup: Setup) -> str:
    """Why nothing is on the front, in a sentence."""
    trials = [trial for trial in study.get_trials(deepcopy=False) if counts(trial)]
    if not trials:
        return "no trial was run"
    errors = [trial.user_attrs[ERROR] for trial in trials if ERROR in trial.user_attrs]
    if len(errors) == len(trials):
        return f"all {len(trials)} trials failed: {errors[0]}"
    for limit in setup.space.constraints:
        name = str(limit)
        known = [trial for trial in trials if name in trial.constraints]
        if known and all(trial.constraints[name] > 0 for trial in known):
            values = [value for trial in known for value in _values(trial, limit.figure)]
            best = (max if limit.least else min)(values) if values else None
            nearest = "" if best is None else f"; the nearest comes to {best:.6g}"
            return f"none of {len(trials)} trials holds {limit}{nearest}"
    return f"none of {len(trials)} trials holds all constraints"


def _values(trial: FrozenTrial, figure: str) -> list[float]:
    """A figure of a trial, or what it is at least."""
    found = {**trial.user_attrs.get(PROOF, {}).get("bounds", {}), **_figures(trial)}
    return [found[figure]] if figure in found else []


def _figures(trial: FrozenTrial) -> dict[str, float]:
    return trial.user_attrs.get(FIGURES) or {}


def gap_of(trial: FrozenTrial) -> float | None:
    """The largest gap of its networks' schedules."""
    networks: Mapping[str, Any] = trial.user_attrs.get(NETWORKS) or {}
    return max(
        (one["gap"] for one in networks.values() if one.get("gap") is not None), default=None
    )


def state_of(trial: FrozenTrial) -> str:
    """What came of it, as one of the counts of :class:`Tally`."""
    match trial.state:
        case TrialState.COMPLETE:
            return "as_before" if AS_BEFORE in trial.user_attrs else "solved"
        case TrialState.PRUNED:
            proof = trial.user_attrs.get(PROOF, {})
            return "impossible" if "impossible" in proof else "excluded"
        case TrialState.FAIL:
            # One that was put back has none, and its point was asked for again.
            return "failed" if ERROR in trial.user_attrs else "put_back"
        case _:
            return "lost" if is_lost(trial) else "running"
