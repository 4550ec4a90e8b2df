"""Constraints on figures, as ``area_mm2 <= 50``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

from spmopt.core.errors import InputError
from spmopt.search.space.figures import NOT_BOUNDED, STATIC, figure_named

_FORM = re.compile(r"\s*([A-Za-z_0-9]+)\s*(<=|>=)\s*(\S+)\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """``figure <= limit``, or ``>=`` with ``least``."""

    figure: str
    limit: float
    least: bool = False

    def __str__(self) -> str:
        """As it is written."""
        return f"{self.figure} {'>=' if self.least else '<='} {self.limit:g}"

    @property
    def is_static(self) -> bool:
        """Whether the machine alone says whether it holds."""
        return self.figure in STATIC

    def excess(self, figures: Mapping[str, float]) -> float:
        """How far beyond the limit, as a part of it where it is not 0; 0 or less: it holds."""
        beyond = figures[self.figure] - self.limit
        beyond = -beyond if self.least else beyond
        return beyond / abs(self.limit) if self.limit else beyond

    def excluded(self, least: Mapping[str, float]) -> bool:
        """Whether no schedule can hold it, where its figures are at least those given."""
        if self.figure not in least:
            return False
        bounded = self.is_static or not (self.least or self.figure in NOT_BOUNDED)
        return bounded and self.excess(least) > 0


def read_constraint(given: object, where: str) -> Constraint:
    """Read one.

    Raises
    ------
    InputError
        Not of the form FIGURE <= NUMBER, or an unknown figure.
    """
    match = _FORM.fullmatch(given) if isinstance(given, str) else None
    if match is None:
        raise InputError(f"{where}: constraint {given!r}: write FIGURE <= NUMBER, or >=")
    figure = figure_named(match[1], f"figure of constraint {given!r} ({where})")
    try:
        limit = float(match[3])
    except ValueError:
        limit = float("nan")
    if not isfinite(limit):
        raise InputError(
            f"{where}: constraint {given!r}: {match[3]!r} is no number; the unit is that of "
            f"the figure, {figure}"
        )
    return Constraint(figure=figure, limit=limit, least=match[2] == ">=")
