"""The machine nearest to one that is known already: no trial is spent on what would be repeated."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from numpy.random import Generator

from spmopt.hardware.settings import Setting
from spmopt.search.space.axes import Axis

Place = tuple[int, ...]
"""Of a point: the positions of its values on the axes."""


def nearest_new(
    axes: Sequence[Axis],
    point: Mapping[str, Setting],
    known: Collection[Place],
    draw: Generator,
) -> dict[str, Setting]:
    """``point``, or of the points not ``known`` one of those the fewest steps away.

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
        fresh = sorted(ring.difference(known))
        if fresh:
            place = fresh[int(draw.integers(len(fresh)))]
            return {axis.key: axis.value(at) for axis, at in zip(axes, place, strict=True)}
        passed |= ring
        ring = {each for place in ring for each in _beside(axes, place)} - passed
    return dict(point)


def place_of(axes: Sequence[Axis], point: Mapping[str, Setting]) -> Place:
    """Positions of the values of a point."""
    return tuple(axis.position(point[axis.key]) for axis in axes)


def _beside(axes: Sequence[Axis], place: Place) -> Iterator[Place]:
    """Every point one step away."""
    for index, (axis, at) in enumerate(zip(axes, place, strict=True)):
        size = axis.size or 0
        others = range(size) if axis.choices else (at - 1, at + 1)
        for other in others:
            if 0 <= other < size and other != at:
                yield (*place[:index], other, *place[index + 1 :])
