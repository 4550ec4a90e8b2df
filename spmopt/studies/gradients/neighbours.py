"""The best partition of a layer from those of layers with similar sizes (section 5).

"Using the dimensions of dX, dW, and dY as features in the KNN algorithm": six numbers a layer, rows
and columns of each. 80 % of the layers, chosen at random, are known; what is predicted for the
others is compared with what evaluation says is best. The paper repeats that 1000 times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spmopt.core.errors import InputError
from spmopt.core.table import Ints
from spmopt.tiles.layer import Layer

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """How predictions are tried.

    Attributes
    ----------
    neighbours
        k.
    logarithmic
        Whether distances are between logarithms of sizes; the paper says only "dimensions".
    repetitions
        Random divisions, with seeds from 0 on.
    known
        Share of the layers that is known.
    """

    neighbours: int = 5
    logarithmic: bool = False
    repetitions: int = 1000
    known: float = 0.8

    def __post_init__(self) -> None:
        if self.neighbours < 1 or self.repetitions < 1 or not 0 < self.known < 1:
            raise InputError(
                f"nearest neighbours: {self.neighbours} neighbours, {self.repetitions} "
                f"repetitions, {self.known:g} known; give at least 1, at least 1, and a share"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """Over all repetitions.

    Attributes
    ----------
    mean, spread
        Share of right predictions, and its standard deviation.
    ideal, predicted
        Sum of the costs of what is best, and of what is predicted, both of the layers that were
        predicted and in terms of the sum of ``baseline``.
    """

    mean: float
    spread: float
    ideal: float
    predicted: float


def features(layers: Sequence[Layer], *, logarithmic: bool = False) -> Floats:
    """(n, 6) Rows and columns of dX, dW and dY of each layer."""
    sizes = np.array([(one.m, one.k, one.k, one.n, one.m, one.n) for one in layers], np.float64)
    return np.log(sizes) if logarithmic else sizes


def accuracy(
    layers: Sequence[Layer], costs: Ints, baseline: Ints, protocol: Protocol | None = None
) -> Accuracy:
    """Predict by nearest neighbours, again and again.

    Parameters
    ----------
    costs : (n, c)
        Of each choice for each layer, as cycles; the first of the least is the best.
    baseline : (n,)
        Of the same layers, what to hold the sums against.

    Raises
    ------
    InputError
        Fewer known layers than neighbours, or nothing to predict.
    """
    protocol = protocol or Protocol()
    total = len(layers)
    known = round(protocol.known * total)
    if not protocol.neighbours <= known < total:
        raise InputError(
            f"nearest neighbours: {known} of {total} layers are known, too few or too many for "
            f"{protocol.neighbours} neighbours; give other layers or neighbours"
        )
    points = features(layers, logarithmic=protocol.logarithmic)
    label: Ints = np.argmin(costs, axis=1)
    right, sums = [], []
    for seed in range(protocol.repetitions):
        order = np.random.default_rng(seed).permutation(total)
        learnt, asked = order[:known], order[known:]
        told = _predicted(points, label, learnt, asked, protocol.neighbours)
        right.append(float((told == label[asked]).mean()))
        best, taken = costs[asked, label[asked]].sum(), costs[asked, told].sum()
        sums.append((best / baseline[asked].sum(), taken / baseline[asked].sum()))
    ideal, predicted = np.mean(sums, axis=0).tolist()
    return Accuracy(
        mean=float(np.mean(right)), spread=float(np.std(right)), ideal=ideal, predicted=predicted
    )


def _predicted(points: Floats, label: Ints, learnt: Ints, asked: Ints, neighbours: int) -> Ints:
    from sklearn.neighbors import KNeighborsClassifier

    model: Any = KNeighborsClassifier(n_neighbors=neighbours, algorithm="kd_tree")
    model.fit(points[learnt], label[learnt])
    told: Ints = model.predict(points[asked])
    return told
