"""A curve through the figures of a memory at several capacities.

``y(C) = constant + factor * C**exponent`` with C in MB and all three at least 0: the share of a
cell and its sense amplifier, which does not depend on capacity, and the share of wires and
periphery. So no figure falls with the capacity, between and beyond the points, and a power law is
the case without constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spmopt.core.errors import InputError

_EXPONENTS = range(1, 151)
"""Hundredths that are tried; a wire or cell that grows faster than C**1.5 is none."""
_DIGITS = 6
_MB = 10**6
_LEAST_POINTS = 3
_ENDS = 2
_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityCurve:
    """``constant + factor * C**exponent``, C in MB, in the unit of the figure."""

    constant: float
    factor: float
    exponent: float

    def at(self, capacity_bytes: int) -> float:
        """Return the value at a capacity, to six digits: alike on every computer."""
        # Powers differ in the last bits between mathematics libraries.
        return _round(self.constant + self.factor * (capacity_bytes / _MB) ** self.exponent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A curve, and how far it is from each point: ``curve / point - 1``."""

    curve: CapacityCurve
    residuals: tuple[float, ...]


def fit(capacities_bytes: Sequence[int], values: Sequence[float]) -> Fit:
    """Fit a curve by least squares of the relative residuals.

    The exponent is searched in steps of 0.01; for each, constant and factor are a linear least
    squares problem. Of equally good exponents the smallest is taken.

    Parameters
    ----------
    capacities_bytes
        (n,) At least three, all different.
    values
        (n,) Greater than 0.

    Raises
    ------
    InputError
        Fewer than three points: any curve would do.
    """
    if len(capacities_bytes) < _LEAST_POINTS:
        raise InputError(
            f"a fit needs at least {_LEAST_POINTS} points, there are {len(capacities_bytes)}"
        )
    sizes = np.array(capacities_bytes, np.float64) / _MB
    targets = np.array(values, np.float64)
    curves = [_linear(sizes, targets, hundredths / 100) for hundredths in _EXPONENTS]
    found = [_against(curve, capacities_bytes, values) for curve in curves]
    return min(found, key=lambda each: sum(residual**2 for residual in each.residuals))


def through(capacities_bytes: Sequence[int], values: Sequence[float]) -> Fit:
    """Return the power law through two points: the usual values of cells of one kind.

    Raises
    ------
    InputError
        Not two points, or the second one is less: no figure falls with the capacity.
    """
    if len(capacities_bytes) != _ENDS:
        raise InputError(f"a power law needs {_ENDS} points, there are {len(capacities_bytes)}")
    (first, last), (low, high) = np.array(capacities_bytes, np.float64) / _MB, values
    # From low = f * first**e and high = f * last**e.
    exponent = float(np.log(high / low) / np.log(last / first))
    if exponent < 0:
        raise InputError(f"a power law must not fall with the capacity, from {low:g} to {high:g}")
    curve = CapacityCurve(constant=0.0, factor=float(low / first**exponent), exponent=exponent)
    return _against(curve, capacities_bytes, values)


def _linear(sizes: _Floats, targets: _Floats, exponent: float) -> CapacityCurve:
    """Return the best constant and factor for an exponent; neither is negative."""
    # Divided by the targets: the residuals are relative, since figures span orders of magnitude.
    columns = np.stack([np.ones_like(sizes), sizes**exponent], axis=1) / targets[:, None]
    ones = np.ones_like(targets)
    both = np.linalg.lstsq(columns, ones, rcond=None)[0]
    constant, factor = float(both[0]), float(both[1])
    # Convex, so that the best of those allowed lies where the negative one is 0.
    if constant < 0:
        constant, factor = 0.0, _alone(columns[:, 1])
    elif factor < 0:
        constant, factor = _alone(columns[:, 0]), 0.0
    return CapacityCurve(constant=_round(constant), factor=_round(factor), exponent=exponent)


def _alone(column: _Floats) -> float:
    """Solve least squares with one column against ones."""
    return float(column.sum() / (column @ column))


def _against(curve: CapacityCurve, capacities_bytes: Sequence[int], values: Sequence[float]) -> Fit:
    pairs = zip(capacities_bytes, values, strict=True)
    return Fit(curve=curve, residuals=tuple(curve.at(size) / value - 1 for size, value in pairs))


def _round(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
