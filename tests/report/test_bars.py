"""Bars: heights, colours by series, marks, what is missing left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from spmopt.core.errors import InputError
from spmopt.report.palette import COLOURS
from spmopt.report.plots import bars
from spmopt.report.plots.bars import BarPanel, Series, plot_bars, save_bars
from spmopt.report.plots.style import (
    DPI,
    WIDTH_INCHES,
    Heading,
    legend_columns,
    own_legend,
)

PANEL = BarPanel(
    title="Time",
    y_label="%",
    groups=("a", "b"),
    series=(
        Series(label="one", values=[50.0, 60.0]),
        Series(label="two", values=[70.0, None]),
        Series(label="best", values=[45.0, 55.0], is_mark=True),
    ),
    level=100.0,
)


def test_bars_stand_beside_each_other_in_groups() -> None:
    ax = plot_bars(PANEL)
    found = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    assert [bar.get_height() for bar in found] == [50.0, 60.0, 70.0]
    first, _, second = found
    assert first.get_x() + first.get_width() == pytest.approx(second.get_x())
    assert (first.get_x() + second.get_x() + second.get_width()) / 2 == pytest.approx(0)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a", "b"]
    assert ax.get_legend_handles_labels()[1] == ["best", "one", "two"]


def test_marks_go_across_their_group() -> None:
    ax = plot_bars(PANEL)
    (marks,) = ax.collections
    assert isinstance(marks, LineCollection)
    segments = [[tuple(point) for point in line] for line in marks.get_segments()]
    assert [(low[1], high[1]) for low, high in segments] == [(45.0, 45.0), (55.0, 55.0)]
    assert all(low[0] < group < high[0] for group, (low, high) in enumerate(segments))
    (level,) = ax.lines
    assert np.asarray(level.get_ydata()).tolist() == [100.0, 100.0]
    assert marks.get_label() == "best"
    assert COLOURS[0] != COLOURS[-1]


def test_a_rank_chooses_the_colour() -> None:
    series = (Series(label="one", values=[1.0]), Series(label="two", values=[2.0], rank=4))
    ax = plot_bars(BarPanel(title="Time", y_label="%", groups=("a",), series=series))
    assert [to_hex(bar.get_facecolor()).upper() for bar in ax.patches] == [COLOURS[0], COLOURS[4]]


def test_panels_of_other_series_have_their_own_legends(monkeypatch: pytest.MonkeyPatch) -> None:
    common: list[int] = []
    own: list[str] = []

    def finish(figure: Figure, axes: Sequence[Axes], heading: Heading, path: Path) -> None:
        del heading, path
        common.append(len(axes))
        for ax in figure.axes:
            legend = ax.get_legend()
            if legend is not None:
                own.extend(text.get_text() for text in legend.get_texts())

    monkeypatch.setattr(bars, "finish", finish)
    other = replace(PANEL, series=(Series(label="three", values=[1.0, 2.0]),))
    heading = Heading(title="What", conditions="where")
    save_bars((PANEL, PANEL), heading, Path())
    assert (common, own) == ([2], [])
    save_bars((PANEL, other), heading, Path())
    assert (common, own) == ([2, 0], ["best", "one", "two", "three"])


def test_entries_of_a_legend_fit_beside_each_other() -> None:
    assert [legend_columns(["a"] * count) for count in (0, 1, 3, 6, 8)] == [1, 1, 3, 6, 6]
    long = "of the traffic of the backward pass, large NPU"
    assert legend_columns([long] * 4) == 2
    assert legend_columns([long, long, "a", "b"]) == 3
    ax = plot_bars(replace(PANEL, series=(Series(label=long, values=[1.0, 2.0]),) * 4))
    own_legend(ax)
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    legend = ax.get_legend()
    assert legend is not None
    assert legend.get_window_extent().width <= WIDTH_INCHES * DPI


def test_a_picture_is_written(tmp_path: Path) -> None:
    heading = Heading(title="What", conditions="where")
    save_bars((PANEL, PANEL), heading, tmp_path / "bars.png")
    assert (tmp_path / "bars.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InputError, match="cannot be written"):
        save_bars((PANEL,), heading, tmp_path / "none" / "bars.png")
