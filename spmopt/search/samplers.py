"""Samplers by name; a proposal depends on the seed and the number of the trial."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
from numpy.random import Generator
from optuna import samplers
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from spmopt.core.errors import InputError, unknown
from spmopt.hardware.settings import Setting
from spmopt.search.axes import SpaceAxis
from spmopt.search.space import Space
from spmopt.search.study import counts, distributions

_Make = Callable[[int, Space], BaseSampler]
_PARENTS = 24
"""Of a generation; those excluded by proof are not among them, so that fifty would be late."""
_MOST = 1_000_000
"""Points of a space that is searched exhaustively, or each of them once."""


def _is_small(space: Space) -> bool:
    """Return whether each of its points can be proposed once."""
    return space.size is not None and space.size <= _MOST


_SAMPLERS: Mapping[str, _Make] = MappingProxyType(
    {
        "tpe": lambda seed, _: samplers.TPESampler(seed=seed),
        "nsga2": lambda seed, _: samplers.NSGAIISampler(seed=seed, population_size=_PARENTS),
        "nsga3": lambda seed, _: samplers.NSGAIIISampler(seed=seed, population_size=_PARENTS),
        "random": lambda seed, _: samplers.RandomSampler(seed=seed),
        # The order of the points is drawn once, so that every process has the same.
        "grid": lambda _, space: samplers.GridSampler(
            {axis.key: list(axis.values()) for axis in space.axes}, seed=0
        ),
        "brute-force": lambda seed, _: samplers.BruteForceSampler(seed=seed),
    }
)
NAMES = tuple(_SAMPLERS)
EXHAUSTIVE = ("grid", "brute-force")


def require_sampler(name: str, space: Space) -> None:
    """Raise unless the sampler can search that space.

    Raises
    ------
    InputError
        No such sampler, or a space that it cannot enumerate.
    """
    if name not in _SAMPLERS:
        raise unknown("sampler", name, _SAMPLERS)
    if name in EXHAUSTIVE and (space.size is None or space.size > _MOST):
        many = "infinitely many" if space.size is None else str(space.size)
        raise InputError(
            f"sampler {name}: the space has {many} points, at most {_MOST} can be tried; "
            "give ranges a step, or use tpe"
        )


class Seeded(BaseSampler):
    """A sampler that is made anew for every trial, from the seed and the trial's number.

    So a study that was taken up again, or is shared, neither repeats points nor depends on where
    it was cut: all that these samplers remember is in the storage.

    In a finite space a point that is known gives way to the nearest one that is not, see
    :func:`spmopt.search.samplers.nearest_new`: samplers of few values propose the best ones
    again and again.

    Parameters
    ----------
    name
        One of ``NAMES``.
    seed
        0 or more.
    space
        Space to sample from.
    """

    def __init__(self, name: str, seed: int, space: Space) -> None:
        self._name, self._seed, self._space = name, seed, space
        self._inner = self._make(0)

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Take a new sampler; a trial that has its point is none of those that it lists."""
        self._inner = self._make(trial.number)
        if not trial.params:
            self._inner.before_trial(study, trial)

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Return all fields where points are moved, else the sampler's own space."""
        if self._moves:
            return distributions(self._space)
        return self._inner.infer_relative_search_space(study, trial)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Sample as the inner sampler; move a known point to the nearest new one."""
        if not self._moves:
            return self._inner.sample_relative(study, trial, search_space)
        own = self._inner.infer_relative_search_space(study, trial)
        point = self._inner.sample_relative(study, trial, own)
        for name in (name for name in search_space if name not in point):
            # Samplers may leave out fields; moving needs a complete point.
            point[name] = self._inner.sample_independent(study, trial, name, search_space[name])
        draw = np.random.default_rng((self._seed, trial.number))
        return dict(nearest_new(self._space.axes, point, self._known_places(study), draw))

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """Do as the sampler does."""
        return self._inner.sample_independent(study, trial, param_name, param_distribution)

    def after_trial(
        self,
        study: Study,
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        """Do as the sampler does; those that only find here that all is tried are not asked."""
        # GridSampler would stop the whole study here, also for trials still under way elsewhere.
        if self._name not in EXHAUSTIVE:
            self._inner.after_trial(study, trial, state, values)

    @property
    def _moves(self) -> bool:
        return self._name not in EXHAUSTIVE and _is_small(self._space)

    def _known_places(self, study: Study) -> set[Place]:
        """Return points that were told of, or are under way."""
        axes = self._space.axes
        trials = study.get_trials(deepcopy=False)
        begun = (trial.params for trial in trials if counts(trial))
        return {place_of(axes, point) for point in begun if len(point) == len(axes)}

    def _make(self, number: int) -> BaseSampler:
        seed = int(np.random.SeedSequence((self._seed, number)).generate_state(1)[0])
        with catch_warnings():
            simplefilter("ignore")
            return _SAMPLERS[self._name](seed, self._space)


Place = tuple[int, ...]
"""Of a point: the positions of its values on the axes."""


def nearest_new(
    axes: Sequence[SpaceAxis],
    point: Mapping[str, Setting],
    known: Collection[Place],
    draw: Generator,
) -> dict[str, Setting]:
    """Find a point not ``known`` the fewest steps from ``point``, which may be itself.

    A step changes one value: to the next one of a range, or to any other choice. Only known
    points are passed through; a point that no step leads on from stays.

    Parameters
    ----------
    axes
        Of a finite space.
    known
        As :func:`place_of` gives them.
    draw
        Decides among equals.
    """
    ring, passed = {place_of(axes, point)}, set[Place]()
    while ring:
        # Sorted: the order of a set depends on the process, the draw must not.
        fresh = sorted(ring.difference(known))
        if fresh:
            place = fresh[int(draw.integers(len(fresh)))]
            return {axis.key: axis.value(at) for axis, at in zip(axes, place, strict=True)}
        passed |= ring
        ring = {each for place in ring for each in _beside(axes, place)} - passed
    return dict(point)


def place_of(axes: Sequence[SpaceAxis], point: Mapping[str, Setting]) -> Place:
    """Return positions of the values of a point."""
    return tuple(axis.position(point[axis.key]) for axis in axes)


def _beside(axes: Sequence[SpaceAxis], place: Place) -> Iterator[Place]:
    """Yield every point one step away."""
    for index, (axis, at) in enumerate(zip(axes, place, strict=True)):
        size = axis.size or 0
        # Choices have no order, so that each is as near as any other.
        others = range(size) if axis.choices else (at - 1, at + 1)
        for other in others:
            if 0 <= other < size and other != at:
                yield (*place[:index], other, *place[index + 1 :])
