"""Axes of ratios: one logarithmic scale in all panels, with a line where both take the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import floor, log10
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # matplotlib loads only where something is drawn
    from spmopt.report.plots.lines import Panel

_STEPS = (1, 2, 5)


def ratio_ticks(values: Sequence[float]) -> tuple[float, ...]:
    """1, 2, 5 of every power of ten, as few as reach around ``values`` (above 0) and 1."""
    low, high = min(1.0, *values), max(1.0, *values)
    powers = range(floor(log10(low)), floor(log10(high)) + 2)
    ticks = [float(f"{step}e{power}") for power in powers for step in _STEPS]
    first = max(tick for tick in ticks if tick <= low)
    last = min(tick for tick in ticks if tick >= high)
    return tuple(tick for tick in ticks if first <= tick <= last)


def alike(panels: Sequence[Sequence[Panel]]) -> list[list[Panel]]:
    """The panels of ratios with the same axis: equal heights are equal ratios."""
    values = [y for some in panels for panel in some for line in panel.lines for y in line.y]
    ticks = ratio_ticks(values)
    return [[replace(panel, y_ticks=ticks, level=1.0) for panel in some] for some in panels]
