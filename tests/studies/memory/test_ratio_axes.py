"""Axes of ratios reach around all values and 1, and are the same in all panels."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spmopt.report.plots.lines import Line, Panel, plot_lines
from spmopt.studies.memory.ratio_axes import alike, ratio_ticks


def panel(*y: float) -> Panel:
    line = Line(label="a", x=list(range(1, len(y) + 1)), y=y)
    return Panel(title="t", x_label="x", y_label="y", lines=(line,))


def test_ticks_by_hand() -> None:
    assert ratio_ticks([0.36, 7.5]) == (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
    assert ratio_ticks([2.5, 4.0]) == (1.0, 2.0, 5.0)
    assert ratio_ticks([0.05, 0.1]) == (0.05, 0.1, 0.2, 0.5, 1.0)


@given(values=st.lists(st.floats(1e-6, 1e6), min_size=1))
def test_ticks_reach_around_values_and_one(values: list[float]) -> None:
    ticks = ratio_ticks(values)
    assert list(ticks) == sorted(set(ticks))
    assert 1.0 in ticks
    assert ticks[0] <= min(values)
    assert max(values) <= ticks[-1]
    # None is there in vain: the next one inwards would leave a value, or 1, outside.
    if len(ticks) > 1:
        assert ticks[1] > min([1.0, *values])
        assert ticks[-2] < max([1.0, *values])


def test_panels_have_one_axis_and_a_line_at_one() -> None:
    ((first, second),) = alike([[panel(0.3, 0.9), panel(2.0, 12.0)]])
    for each in (first, second):
        ax = plot_lines(each)
        assert ax.get_yscale() == "log"
        assert ax.get_ylim() == (0.2, 20.0)
        line, level = ax.get_lines()
        assert np.asarray(level.get_ydata()).tolist() == [1.0, 1.0]
        assert line.get_marker() == "o"
        assert [text.get_text() for text in ax.get_yticklabels()][:3] == ["0.2", "0.5", "1"]
