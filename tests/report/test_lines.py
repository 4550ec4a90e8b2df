"""Lines: what is joined, what is marked, where the axes begin."""

from pathlib import Path

import numpy as np
import pytest

from spmopt.report.plots.lines import Line, Panel, plot_lines, save_lines
from spmopt.report.plots.style import Heading, canvas, common_legend, entitle

FEW = tuple(float(value) for value in range(1, 4))
MANY = tuple(float(value) for value in range(1, 101))


def panel(*lines: Line, cut: bool = False) -> Panel:
    return Panel(title="t", x_label="x", y_label="y", lines=lines, ticks=(1, 100), cut=cut)


def test_few_points_of_a_bound_are_not_joined() -> None:
    few = Line(label="few", x=FEW, y=FEW, is_bound=True)
    many = Line(label="many", x=MANY, y=MANY, is_bound=True)
    dots, line = plot_lines(panel(few, many)).get_lines()
    assert (dots.get_linestyle(), dots.get_marker()) == ("None", "o")
    assert (line.get_linestyle(), line.get_marker()) == ("-", "None")
    assert np.asarray(dots.get_ydata()).tolist() == list(FEW)


def test_schedules_have_marks_whether_few_or_many() -> None:
    few, many = Line(label="a", x=FEW, y=FEW), Line(label="b", x=MANY, y=MANY, rank=1)
    first, second = plot_lines(panel(few, many)).get_lines()
    assert (first.get_marker(), second.get_marker()) == ("o", "s")
    assert first.get_markevery() == 1
    assert second.get_markevery() == (0.04, 0.14)


def test_an_axis_that_does_not_begin_at_nothing_says_so() -> None:
    flat = Line(label="a", x=FEW, y=(90.0, 95.0, 100.0))
    plain = plot_lines(panel(flat))
    assert plain.get_ylim() == pytest.approx((0.0, 105.0))
    assert not plain.texts
    cut = plot_lines(panel(flat, cut=True))
    low, high = cut.get_ylim()
    assert 80 < low < 90
    assert 100 < high < 105
    assert [each.get_text() for each in cut.texts] == ["axis does not begin at 0"]
    steep = plot_lines(panel(Line(label="a", x=FEW, y=(10.0, 50.0, 100.0)), cut=True))
    assert steep.get_ylim()[0] == 0
    assert not steep.texts


def test_title_conditions_and_legend_are_in_the_picture(tmp_path: Path) -> None:
    figure, ((ax,),) = canvas(1, 1, 3.0)
    plot_lines(panel(Line(label="a", x=FEW, y=FEW)), ax)
    entitle(figure, Heading(title="What", conditions="machine, batch 32"))
    common_legend(figure, [ax, ax])
    assert figure.get_suptitle() == "What\nmachine, batch 32"
    assert [each.get_text() for each in figure.legends[0].get_texts()] == ["a"]
    path = tmp_path / "x.png"
    one = panel(Line(label="a", x=FEW, y=FEW))
    save_lines([[one, one]], Heading(title="What", conditions=""), path)
    assert path.read_bytes().startswith(b"\x89PNG")
