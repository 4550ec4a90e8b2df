"""What a study and its trials say in the storage, beside the figures of Optuna's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from spmopt.core.errors import InputError
from spmopt.machines.settings import Setting
from spmopt.search.axes import Axis
from spmopt.search.evaluate import Solved
from spmopt.search.setup import Setup
from spmopt.search.space import Space

SETUP, FOLDER = "spmopt", "schedules"
"""Attributes of a study: its :class:`Setup`, and where its schedules are."""
ERROR, PROOF, AS_BEFORE = "error", "proof", "as_before"
"""Attributes of trials: why one came to nothing, why one was pruned, which one it repeats."""
FIGURES, NETWORKS, MACHINE, SECONDS = "figures", "networks", "machine", "seconds"


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
        if study.get_trials(deepcopy=False):
            raise InputError(
                f"study {study.study_name}: was not made by this program; give another --study"
            )
        study.set_user_attr(SETUP, wanted)
        study.set_metric_names(list(setup.objectives))
        return
    differing = [key for key, value in wanted.items() if _plain(known.get(key)) != _plain(value)]
    if differing:
        raise InputError(
            f"study {study.study_name}: is of another {', '.join(differing)}; "
            "repeat its own options, or give another --study"
        )


def setup_of(study: Study) -> Setup:
    """What a study is about.

    Raises
    ------
    InputError
        It was not made by this program.
    """
    known = study.user_attrs.get(SETUP)
    if known is None:
        raise InputError(f"study {study.study_name}: was not made by this program")
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


def solved_record(solved: Solved, file: str | None) -> dict[str, object]:
    """One network of a trial; ``file`` holds its schedule."""
    spent = solved.spent
    figures: dict[str, object] = {}
    if spent is not None:
        figures = {
            "time_s": spent.time_s,
            "energy_j": spent.energy_j,
            "traffic_bytes": spent.traffic_bytes,
        }
    return {
        **figures,
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


def _plain(value: Any) -> Any:
    """As it comes back from JSON."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value
