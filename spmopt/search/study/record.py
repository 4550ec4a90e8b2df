"""What a study and its trials say in the storage, beside the figures of Optuna's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, Trial, TrialState

from spmopt.core.errors import InputError
from spmopt.hardware.settings import Setting
from spmopt.search.evaluation.evaluate import Answer, Solved
from spmopt.search.space.axes import Axis
from spmopt.search.space.candidate import Candidate
from spmopt.search.space.setup import Setup
from spmopt.search.space.space import Space
from spmopt.search.study.differences import differences

SETUP, FOLDER = "spmopt", "schedules"
"""Attributes of a study: its :class:`Setup`, and where its schedules are."""
ERROR, PROOF, AS_BEFORE = "error", "proof", "as_before"
"""Attributes of trials: why one came to nothing, why one was pruned, which one it repeats."""
FIGURES, NETWORKS, MACHINE, SECONDS = "figures", "networks", "machine", "seconds"
LEAST = "least"
"""Of a network in a trial: what any schedule takes at least."""


def distributions(space: Space) -> dict[str, BaseDistribution]:
    """What Optuna samples from, by field."""
    return {axis.key: _distribution(axis) for axis in space.axes}


def values_of(space: Space, parameters: Mapping[str, Any]) -> dict[str, Setting]:
    """A point of ``space`` from what Optuna keeps of it."""
    return {axis.key: parameters[axis.key] for axis in space.axes}


def remember(study: Study, setup: Setup) -> None:
    """Note what a study is about, or check that it is what it was.

    Raises
    ------
    InputError
        The study is about something else.
    """
    wanted, known = setup.record(), study.user_attrs.get(SETUP)
    if known is None:
        if study.get_trials(deepcopy=False) or not _minimises(study, len(setup.objectives)):
            raise InputError(
                f"study {study.study_name}: was not made by this program, or its storage is cut "
                "short: it does not say what it is of; give another --study"
            )
        study.set_user_attr(SETUP, wanted)
        study.set_metric_names(list(setup.objectives))
        return
    differing = differences(_plain(known), _plain(wanted))
    if differing:
        raise InputError(
            f"study {study.study_name}: is another one, of {'; '.join(differing)}; repeat its own "
            "options, or give another --study"
        )


def setup_of(study: Study) -> Setup:
    """What a study is about.

    Raises
    ------
    InputError
        It does not say so.
    """
    known = study.user_attrs.get(SETUP)
    if known is None or not _minimises(study, len(known["objectives"])):
        raise InputError(
            f"study {study.study_name}: was not made by this program, or its storage is cut short: "
            "it does not say what it is of"
        )
    return Setup.of_record(known)


def counts(trial: FrozenTrial) -> bool:
    """Whether a trial is one of those asked for: not put back, nor waiting."""
    if trial.state is TrialState.FAIL:
        return ERROR in trial.user_attrs
    return trial.state is not TrialState.WAITING


def is_feasible(trial: FrozenTrial) -> bool:
    """Whether it was solved, and holds every constraint."""
    held = all(excess <= 0 for excess in trial.constraints.values())
    return trial.state is TrialState.COMPLETE and held


def note_solved(
    trial: Trial,
    setup: Setup,
    candidate: Candidate,
    answer: Answer,
    files: Mapping[str, str | None],
) -> tuple[float, ...]:
    """Note what a trial came to, and the files of its schedules; return its objectives."""
    spent = {name: one.spent for name, one in answer.networks.items() if one.spent is not None}
    figures = setup.figures(candidate, spent)
    networks = {name: solved_record(one, files[name]) for name, one in answer.networks.items()}
    trial.set_user_attr(FIGURES, figures)
    trial.set_user_attr(NETWORKS, networks)
    trial.set_user_attr(MACHINE, candidate.record())
    trial.set_user_attr(SECONDS, answer.seconds)
    for limit in (each for each in setup.space.constraints if not each.is_static):
        trial.set_constraint(str(limit), limit.excess(figures))
    return tuple(figures[name] for name in setup.objectives)


def solved_record(solved: Solved, file: str | None) -> dict[str, object]:
    """One network of a trial; ``file`` holds its schedule."""
    return {
        **({} if solved.spent is None else asdict(solved.spent)),
        LEAST: asdict(solved.least),
        "scheduler": solved.scheduler,
        "status": str(solved.status),
        "verified": solved.verified,
        "value": None if solved.value is None else float(solved.value),
        "bound": None if solved.bound is None else float(solved.bound),
        "gap": solved.gap,
        "unit": solved.unit,
        "seconds": solved.solve_s,
        "seconds_checked": solved.checked_s,
        "notes": list(solved.notes),
        "file": file,
    }


def _distribution(axis: Axis) -> BaseDistribution:
    if axis.choices:
        return CategoricalDistribution(axis.choices)
    if isinstance(axis.low, float) or isinstance(axis.high, float):
        step = float(axis.step) or None
        return FloatDistribution(float(axis.low), float(axis.high), log=axis.log, step=step)
    step = int(axis.step) or 1
    return IntDistribution(int(axis.low), int(axis.high), log=axis.log, step=step)


def _minimises(study: Study, count: int) -> bool:
    """Whether it minimises so many objectives."""
    return study.directions == [StudyDirection.MINIMIZE] * count


def _plain(value: Any) -> Any:
    """As it comes back from JSON."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value
