"""The fluid optimum over capacities, certified everywhere from a few solves.

Problems that differ in their capacity alone have a fluid optimum that is convex in it and never
rises (formulations/PROBLEM.md, section 4): the capacity is the right-hand side of a linear
program. So

* the dual values of a certificate prove a bound at every capacity ``C``, not only at ``C0`` where
  they were found: a *cut*, ``LB(C0) - (C - C0) sum_i pi_i`` (section 5: only the term
  ``sum_i pi_i (C - b_i)`` depends on the capacity);
* a *chord* between the values of two solutions is above every optimum between them.

Refinement solves where chord and best cut are furthest apart, until they are within the
tolerance at every capacity asked for (the sandwich algorithm: Rote, Computing 48, 1992).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from spmopt.core.result import Certificate


@dataclass(frozen=True, kw_only=True)
class EnclosedOptimum:
    """The fluid optimum at one capacity lies between two exact values.

    Attributes
    ----------
    capacity_bytes
        Of whole pages.
    lower, certificate
        A bound and the dual values that prove it; None where the solver found none in time.
    upper
        Value of a solution of the relaxation; None likewise.
    seconds
        Wall time of the solver.
    """

    capacity_bytes: int
    lower: Fraction | None
    certificate: Certificate | None
    upper: Fraction | None
    seconds: float = 0.0

    def cut(self, capacity_bytes: int) -> Fraction | None:
        """What its dual values prove at another capacity, exact."""
        if self.lower is None or self.certificate is None:
            return None
        slope = Fraction(int(self.certificate.spm.sum(dtype=object)), 2**self.certificate.bits)
        return self.lower - slope * (capacity_bytes - self.capacity_bytes)


@dataclass(frozen=True, kw_only=True)
class Between:
    """What is known of the optimum at one capacity.

    ``cut`` is the solve whose dual values prove ``lower``; ``chord`` holds the one or two
    capacities whose solutions give ``upper``.
    """

    lower: Fraction | None
    upper: Fraction | None
    cut: EnclosedOptimum | None
    chord: tuple[int, ...]

    @property
    def gap(self) -> Fraction | None:
        """``upper / lower - 1``; None where one of them is missing or nothing."""
        if self.lower is None or self.upper is None or self.lower <= 0:
            return Fraction(0) if self.upper == 0 else None
        return self.upper / self.lower - 1


class BoundCurve:
    """Bounds on the fluid optimum at ``capacities`` (bytes, of whole pages)."""

    def __init__(self, capacities: Sequence[int], tolerance: float) -> None:
        self._capacities = sorted(set(capacities))
        self._tolerance = Fraction(tolerance)
        self._solved: dict[int, EnclosedOptimum] = {}

    def add(self, solved: EnclosedOptimum) -> None:
        """Take up a solution."""
        self._solved[solved.capacity_bytes] = solved

    @property
    def solves(self) -> int:
        """Capacities solved so far."""
        return len(self._solved)

    def want(self) -> list[int]:
        """Capacities to solve next: the ends, then the worst of each stretch between solves.

        Depends on the solutions alone, not on who found them when.
        """
        ends = [self._capacities[0], self._capacities[-1]]
        missing = [end for end in dict.fromkeys(ends) if end not in self._solved]
        if missing:
            return missing
        known = sorted(self._solved)
        hull = self._hull()
        worst = (self._worst(self._inside(left, right), hull) for left, right in pairwise(known))
        return [capacity for capacity in worst if capacity is not None]

    def nearest(self, capacity_bytes: int) -> EnclosedOptimum | None:
        """The solution with dual values whose capacity is nearest, the smaller one of two."""
        priced = [solved for solved in self._solved.values() if solved.certificate is not None]

        def distance(solved: EnclosedOptimum) -> tuple[int, int]:
            return abs(solved.capacity_bytes - capacity_bytes), solved.capacity_bytes

        return min(priced, key=distance, default=None)

    def at(self, capacity_bytes: int) -> Between:
        """Best cut and chord at one of the capacities."""
        return self._at(capacity_bytes, self._hull())

    def _inside(self, left: int, right: int) -> list[int]:
        first = bisect_left(self._capacities, left + 1)
        return self._capacities[first : bisect_left(self._capacities, right)]

    def _worst(self, capacities: Sequence[int], hull: _Hull) -> int | None:
        """The capacity of the largest gap beyond the tolerance; of unknown ones the middle."""
        gaps = {capacity: self._at(capacity, hull).gap for capacity in capacities}
        unknown = [capacity for capacity, gap in gaps.items() if gap is None]
        if unknown:
            return unknown[len(unknown) // 2]
        found = {capacity: gap for capacity, gap in gaps.items() if gap is not None}
        worst = max(found, key=lambda capacity: found[capacity], default=None)
        return worst if worst is not None and found[worst] > self._tolerance else None

    def _hull(self) -> _Hull:
        """Corners of the lower convex hull of the solutions, the largest ones leveled."""
        corners: _Hull = []
        for capacity in sorted(self._solved):
            value = self._solved[capacity].upper
            origin = capacity
            if value is None:
                continue
            if corners and corners[-1].value <= value:
                # More room is never worse.
                value, origin = corners[-1].value, corners[-1].origin
            corner = _Corner(capacity=capacity, value=value, origin=origin)
            while len(corners) > 1 and _above(corners[-2], corners[-1], corner):
                corners.pop()
            corners.append(corner)
        return corners

    def _at(self, capacity: int, hull: _Hull) -> Between:
        lower, best = None, None
        for solved in self._solved.values():
            cut = solved.cut(capacity)
            if cut is not None and (lower is None or cut > lower):
                lower, best = cut, solved
        own = self._solved.get(capacity)
        if own is not None and own.lower is not None and own.lower == lower:
            best = own
        upper, chord = _chord(hull, capacity)
        return Between(lower=lower, upper=upper, cut=best, chord=chord)


@dataclass(frozen=True, kw_only=True)
class _Corner:
    """A point of the hull, and the capacity of the solution that it is from."""

    capacity: int
    value: Fraction
    origin: int


_Hull = list[_Corner]


def _above(left: _Corner, middle: _Corner, right: _Corner) -> bool:
    """Whether ``middle`` is on or above the line between the others."""
    run, rise = right.capacity - left.capacity, right.value - left.value
    return (middle.value - left.value) * run >= rise * (middle.capacity - left.capacity)


def _chord(hull: _Hull, capacity: int) -> tuple[Fraction | None, tuple[int, ...]]:
    """The hull at ``capacity``, and the capacities of the solutions that it rests on."""
    place = bisect_left([corner.capacity for corner in hull], capacity)
    if place < len(hull) and hull[place].capacity == capacity:
        return hull[place].value, (hull[place].origin,)
    if place == 0:
        return None, ()
    left = hull[place - 1]
    if place == len(hull):
        return left.value, (left.origin,)
    right = hull[place]
    share = Fraction(capacity - left.capacity, right.capacity - left.capacity)
    value = left.value + (right.value - left.value) * share
    return value, tuple(dict.fromkeys((left.origin, right.origin)))
