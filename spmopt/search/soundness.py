"""Whether what a storage says of trials can be: asked once where a study is opened.

Others may have written there, and a disk may have lost a part; what is beyond that check trusts it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from math import isfinite
from typing import Any

from msgspec import ValidationError, convert
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from spmopt.core.errors import InputError
from spmopt.search.axes import SpaceAxis
from spmopt.search.evaluation import LEAST
from spmopt.search.figures import Spent
from spmopt.search.records import STORED
from spmopt.search.setup import Setup
from spmopt.search.study import FIGURES, NETWORKS

_SLACK = 1e-9
"""Part of a range by which a value may be beyond its end, as its logarithm was rounded."""
_PARTS = tuple(field.name for field in fields(Spent))


def require_sound(study: Study, setup: Setup) -> None:
    """Check each trial of a study.

    Raises
    ------
    InputError
        One that is not numbered by its place, or with values of other kinds, numbers that are not
        finite, or a point, objectives, figures or networks that are not those of its study.
    """
    axes = {axis.key: axis for axis in setup.space.axes}
    for place, trial in enumerate(study.get_trials(deepcopy=False)):
        if trial.number != place:
            raise _damaged(place, f"is numbered {trial.number}")
        _require_values(trial)
        _require_point(trial, axes)
        if trial.state is TrialState.COMPLETE:
            _require_objectives(trial, len(setup.objectives))
            _require_whole(trial, setup)


def _damaged(number: int, what: str) -> InputError:
    return InputError(f"--storage: trial {number}: {what}; it is damaged, name a copy from before")


def _require_values(trial: FrozenTrial) -> None:
    for name, kind in STORED.items():
        value = trial.user_attrs.get(name)
        if value is None:
            continue
        try:
            convert(value, kind)
        except ValidationError as error:
            raise _damaged(trial.number, f"{name}: {error}") from None
        _require_finite(trial, name, value)
    _require_finite(trial, "constraints", trial.constraints)
    if not all(map(_is_number, trial.constraints.values())):
        raise _damaged(trial.number, "constraints: must be numbers")


def _require_finite(trial: FrozenTrial, name: str, value: object) -> None:
    """Refuse what is no finite number: the program has no such figures."""
    match value:
        case Mapping():
            for each in value.values():
                _require_finite(trial, name, each)
        case list() | tuple():
            for each in value:
                _require_finite(trial, name, each)
        case float() if not isfinite(value):
            raise _damaged(trial.number, f"{name}: {value} is no number")


def _require_point(trial: FrozenTrial, axes: Mapping[str, SpaceAxis]) -> None:
    """Refuse one that has ended and is no point of the space, or has a value that is none of it."""
    ended = trial.state in (TrialState.COMPLETE, TrialState.PRUNED)
    if not trial.params.keys() <= axes.keys() or (ended and len(trial.params) < len(axes)):
        raise _damaged(trial.number, "has other fields than its space")
    for key, value in trial.params.items():
        if not _is_of(axes[key], value):
            raise _damaged(trial.number, f"{key}: {value!r} is no value of its space")


def _is_of(axis: SpaceAxis, value: Any) -> bool:
    if axis.choices:
        return value in axis.choices
    slack = _SLACK * max(abs(axis.low), abs(axis.high))
    return _is_number(value) and axis.low - slack <= value <= axis.high + slack


def _require_objectives(trial: FrozenTrial, count: int) -> None:
    values = trial.values or []
    if len(values) != count:
        raise _damaged(trial.number, f"has {len(values)} objectives, but the study {count}")
    # Optuna stores floats; of whole numbers beyond 64 bits it makes no array.
    if not all(_is_number(each) and abs(each) < 2**63 for each in values):
        raise _damaged(trial.number, "an objective is no number of 64 bits")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and isfinite(value)


def _require_whole(trial: FrozenTrial, setup: Setup) -> None:
    """Refuse a trial that was solved and lacks what its search has noted of it."""
    if not {*setup.names} <= {*(trial.user_attrs.get(FIGURES) or {})}:
        raise _damaged(trial.number, f"lacks {FIGURES}")
    networks: Mapping[str, Mapping[str, Any]] = trial.user_attrs.get(NETWORKS) or {}
    if networks.keys() != {network.label for network in setup.networks}:
        raise _damaged(trial.number, f"{NETWORKS}: are others than those of the study")
    for name, one in networks.items():
        for spent in (one, one.get(LEAST, one)):  # old studies have no bounds
            if any(spent.get(part) is None for part in _PARTS):
                raise _damaged(
                    trial.number, f"{NETWORKS}: {name}: lacks one of {', '.join(_PARTS)}"
                )
