"""Strips: dots, medians and means where they belong."""

from pathlib import Path

import numpy as np
from matplotlib.collections import PathCollection

from spmopt.report.plots.strips import Strip, Strips, plot_strips, save_strips
from spmopt.report.plots.style import Heading

DATA = Strips(
    title="Time",
    x_label="gap, %",
    strips=(Strip(label="a", values=(0.0, 1.0, 5.0)), Strip(label="b", values=(20.0, 40.0))),
    linear=1.0,
    ticks=(0, 1, 10, 100),
)


def test_medians_and_means() -> None:
    ax = plot_strips(DATA)
    lines = [np.asarray(line.get_xdata()).tolist() for line in ax.get_lines()]
    assert lines == [[1.0, 1.0], [30.0, 30.0]]
    clouds = [each for each in ax.collections if isinstance(each, PathCollection)]
    offsets = [np.asarray(each.get_offsets()).tolist() for each in clouds]
    assert offsets[1] == [[2.0, 0.0]]
    assert offsets[3] == [[30.0, 1.0]]
    assert [x for x, _ in offsets[0]] == [0.0, 1.0, 5.0]
    assert all(abs(y) <= 0.25 for _, y in offsets[0])
    assert [each.get_text() for each in ax.get_yticklabels()] == ["a", "b"]
    assert ax.yaxis_inverted()
    assert ax.get_xlabel() == "gap, %\n(linear to 1, then logarithmic)"


def test_a_picture_is_written(tmp_path: Path) -> None:
    save_strips([DATA, DATA], Heading(title="Gaps", conditions="none"), tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
