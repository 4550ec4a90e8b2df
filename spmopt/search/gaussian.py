"""Gaussian processes in spaces of many values, and beside machines that proofs exclude."""

from __future__ import annotations

from collections.abc import Mapping
from math import log
from typing import Any

from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.samplers import GPSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from spmopt.hardware.settings import Setting
from spmopt.search.axes import SpaceAxis
from spmopt.search.space import Space
from spmopt.search.study import counts

_LISTED = 10_000
"""Values of a range that the sampler lists; of more, the memory would not suffice."""
_NEAR = 1e-3
"""Part of a range within which two values count as the same."""
_LEARNT = (TrialState.COMPLETE, TrialState.RUNNING)
"""What the sampler knows of trials; all else is none to it."""


class Gaussian(GPSampler):
    """Optuna's sampler, but for two things.

    A range of many values is one of real numbers to the model, and the nearest value is proposed.

    The model learns of solved trials only: beside one that a proof excluded it would propose the
    same again and again. There it proposes nothing, so that a point is drawn.

    Parameters
    ----------
    seed
        0 or more.
    space
        What is searched.
    draws
        Whether points are drawn beside excluded ones; else they are proposed all the same.
    """

    def __init__(self, seed: int, space: Space, *, draws: bool) -> None:
        super().__init__(seed=seed, deterministic_objective=True, warn_independent_sampling=False)
        self._axes = {axis.key: axis for axis in space.axes}
        self._draws = draws

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Do as Optuna's, at the nearest values that there are; nothing to have a point drawn."""
        wide = {name: axis for name in search_space if is_wide(axis := self._axes[name])}
        smooth = {
            name: FloatDistribution(float(axis.low), float(axis.high), log=axis.log)
            for name, axis in wide.items()
        }
        point = super().sample_relative(study, trial, {**search_space, **smooth})
        point |= {
            name: axis.value(axis.position(point[name])) for name, axis in wide.items() if point
        }
        return {} if self._draws and self._excluded(study, point) else point

    def _excluded(self, study: Study, point: Mapping[str, Setting]) -> bool:
        """Return whether it is beside one that came to nothing."""
        return any(
            all(beside(self._axes[name], value, each.params[name]) for name, value in point.items())
            for each in study.get_trials(deepcopy=False)
            if counts(each) and each.state not in _LEARNT and point.keys() <= each.params.keys()
        )


def is_wide(axis: SpaceAxis) -> bool:
    """Return whether it is a range of too many values to be listed."""
    return not axis.choices and axis.size is not None and axis.size > _LISTED


def beside(axis: SpaceAxis, left: Setting, right: Setting) -> bool:
    """Return whether two values of an axis are the same to a model."""
    if axis.choices or isinstance(left, str) or isinstance(right, str):
        return left == right
    values = (left, right, axis.low, axis.high)
    first, second, low, high = map(log, values) if axis.log else values
    return abs(first - second) <= _NEAR * (high - low)
