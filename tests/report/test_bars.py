"""Bars: heights, colours by series, marks, what is missing left out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.patches import Rectangle

from spmopt.core.errors import InputError
from spmopt.report.plots.bars import BarPanel, Series, plot_bars, save_bars
from spmopt.report.plots.style import COLOURS, Heading

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
    bars = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    assert [bar.get_height() for bar in bars] == [50.0, 60.0, 70.0]
    first, _, second = bars
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


def test_a_picture_is_written(tmp_path: Path) -> None:
    heading = Heading(title="What", conditions="where")
    save_bars((PANEL, PANEL), heading, tmp_path / "bars.png")
    assert (tmp_path / "bars.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InputError, match="cannot be written"):
        save_bars((PANEL,), heading, tmp_path / "none" / "bars.png")
