"""Bars in groups, one series a colour, marks beside them for what others found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes

from spmopt.report.palette import COLOURS
from spmopt.report.plots.style import (
    Heading,
    alone,
    canvas,
    dress,
    finish,
    own_legend,
)

_WIDTH = 0.8
_FEW = 12  # groups whose names stand beside each other


@dataclass(frozen=True, kw_only=True)
class Series:
    """A value for each group; None: there is none.

    ``is_mark``: a line across, not a bar. ``rank`` chooses the colour; None: its place.
    """

    label: str
    values: Sequence[float | None]
    is_mark: bool = False
    rank: int | None = None


@dataclass(frozen=True, kw_only=True)
class BarPanel:
    """Groups along x, series side by side in each; ``level`` is a value to compare with."""

    title: str
    y_label: str
    groups: tuple[str, ...]
    series: tuple[Series, ...]
    level: float | None = None


def plot_bars(panel: BarPanel, ax: Axes | None = None) -> Axes:
    """Draw a panel, by default into a figure of its own."""
    ax = alone(ax)
    bars = [series for series in panel.series if not series.is_mark]
    width = _WIDTH / max(1, len(bars))
    for rank, series in enumerate(bars):
        places = [
            (group + (rank + 0.5) * width - _WIDTH / 2, value)
            for group, value in enumerate(series.values)
            if value is not None
        ]
        ax.bar(
            [place for place, _ in places],
            [value for _, value in places],
            width,
            color=COLOURS[(rank if series.rank is None else series.rank) % len(COLOURS)],
            label=series.label,
        )
    for series in panel.series:
        if series.is_mark:
            _mark(ax, series)
    if panel.level is not None:
        ax.axhline(panel.level, color="#555555", linewidth=0.8)
    many = len(panel.groups) > _FEW
    ax.set_xticks(range(len(panel.groups)), panel.groups, rotation=90 if many else 0)
    ax.set_xlim(-0.7, len(panel.groups) - 0.3)
    dress(ax, panel.title, "", panel.y_label)
    ax.grid(visible=False, axis="x")
    return ax


def _mark(ax: Axes, series: Series) -> None:
    shown = [(group, value) for group, value in enumerate(series.values) if value is not None]
    ax.hlines(
        [value for _, value in shown],
        [group - _WIDTH / 2 - 0.05 for group, _ in shown],
        [group + _WIDTH / 2 + 0.05 for group, _ in shown],
        color=COLOURS[-1],
        linewidth=1.6,
        label=series.label,
    )


def save_bars(panels: Sequence[BarPanel], heading: Heading, path: Path) -> None:
    """Write panels, one below the other; raises :class:`InputError`.

    They have one legend, or one each where their series differ.
    """
    figure, axes = canvas(len(panels), 1, 1.2 + 2.4 * len(panels))
    drawn = [plot_bars(panel, ax) for panel, (ax,) in zip(panels, axes, strict=True)]
    labels = {tuple(series.label for series in panel.series) for panel in panels}
    if len(labels) > 1:
        for ax in drawn:
            own_legend(ax)
    finish(figure, drawn if len(labels) == 1 else (), heading, path)
