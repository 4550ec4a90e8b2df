"""Nearest neighbours on data whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from spmopt.core.errors import InputError
from spmopt.core.table import Ints
from spmopt.studies.gradients.neighbours import Protocol, accuracy, features
from spmopt.tiles.layer import Layer


def layers(sizes: Ints) -> list[Layer]:
    return [Layer(name="fc", m=m, k=k, n=n) for m, k, n in sizes.tolist()]


def costs(best: Ints, right: int = 10, wrong: int = 15) -> Ints:
    """Choice ``best`` costs ``right``, the other two ``wrong``."""
    table: Ints = np.full((best.size, 3), wrong, np.int64)
    table[np.arange(best.size), best] = right
    return table


def test_what_can_be_told_apart_is_predicted() -> None:
    rng = np.random.default_rng(0)
    best = np.arange(60) % 3
    sizes = rng.integers(1, 50, (60, 3))
    sizes[np.arange(60), best] += 10_000
    found = accuracy(
        layers(sizes), costs(best), np.full(60, 20), Protocol(neighbours=3, repetitions=50)
    )
    assert (found.mean, found.spread) == (1.0, 0.0)
    assert found.ideal == found.predicted == pytest.approx(0.5)


def test_what_sizes_do_not_tell_is_guessed() -> None:
    rng = np.random.default_rng(1)
    best = rng.integers(0, 3, 300)
    sizes = rng.integers(1, 10_000, (300, 3))
    found = accuracy(
        layers(sizes), costs(best), np.full(300, 20), Protocol(neighbours=1, repetitions=100)
    )
    assert found.mean == pytest.approx(1 / 3, abs=0.06)
    assert found.spread > 0.02
    # Every wrong guess costs 15 in place of 10.
    assert found.ideal == pytest.approx(0.5)
    assert found.predicted == pytest.approx(0.5 + (1 - found.mean) * 0.25)


def test_the_same_every_time_and_by_seed() -> None:
    rng = np.random.default_rng(2)
    some = layers(rng.integers(1, 100, (40, 3)))
    table = costs(rng.integers(0, 3, 40))
    base = np.full(40, 20)
    protocol = Protocol(neighbours=3, repetitions=7)
    assert accuracy(some, table, base, protocol) == accuracy(some, table, base, protocol)
    assert accuracy(some, table, base, protocol) != accuracy(
        some, table, base, Protocol(neighbours=3, repetitions=8)
    )


def test_features_are_rows_and_columns_of_dx_dw_and_dy() -> None:
    one = [Layer(name="fc", m=2, k=3, n=5)]
    assert features(one).tolist() == [[2, 3, 3, 5, 2, 5]]
    assert np.exp(features(one, logarithmic=True)) == pytest.approx(features(one))


def test_logarithms_tell_apart_what_dimensions_do_not() -> None:
    rng = np.random.default_rng(3)
    small = np.arange(80) % 2
    sizes = np.stack((np.where(small, 1, 30), rng.integers(1, 100_000, 80), np.full(80, 7)), axis=1)
    table, base = costs(small), np.full(80, 20)
    near = Protocol(neighbours=1, repetitions=50)
    far = Protocol(neighbours=1, repetitions=50, logarithmic=True)
    some = layers(sizes)
    assert accuracy(some, table, base, far).mean > accuracy(some, table, base, near).mean + 0.2


def test_bad_input_is_refused() -> None:
    with pytest.raises(InputError, match="0 neighbours, 1000 repetitions"):
        Protocol(neighbours=0)
    with pytest.raises(InputError, match="share"):
        Protocol(known=1.0)
    few = layers(np.ones((4, 3), np.int64))
    with pytest.raises(InputError, match="3 of 4 layers are known, too few or too many for 5"):
        accuracy(few, costs(np.zeros(4, np.int64)), np.ones(4, np.int64))
