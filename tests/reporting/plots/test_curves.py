"""Curves drawn: lines by scheduler, bands where something is certified, axes with units."""

import numpy as np
from matplotlib.collections import LineCollection

from spmopt.reporting.plots.curves import plot_curves
from tests.reporting.curves.rows import curves, relaxed, schedule

SIZES = (4096, 8192, 65536)
FEW = curves(
    *(schedule("residency", 2e-3, 1e-3, spm_bytes=size) for size in SIZES[:2]),
    *(schedule("lru", 3e-3, 1e-3, spm_bytes=size) for size in SIZES[:2]),
    *(relaxed(2e-3, 1e-3, spm_bytes=size) for size in SIZES),
)


def test_few_bounds_are_bars_and_circles() -> None:
    ax = plot_curves(FEW.views[0])
    circles, *lines = ax.get_lines()
    assert (circles.get_linestyle(), circles.get_label()) == ("None", "bound")
    assert np.asarray(circles.get_xdata()).tolist() == list(SIZES)
    assert [line.get_label() for line in lines] == ["residency", "lru"]
    assert np.asarray(lines[1].get_ydata()).tolist() == [3e-3, 3e-3]
    (bars,) = [each for each in ax.collections if isinstance(each, LineCollection)]
    ends = [np.asarray(path.vertices).tolist() for path in bars.get_paths()]
    assert ends == [[[size, 1e-3], [size, 2e-3]] for size in SIZES[:2]]


def test_many_bounds_are_thin_bars() -> None:
    rows = [schedule("residency", 2.0, 1.0, spm_bytes=16 * size) for size in range(1, 40)]
    ax = plot_curves(curves(*rows).views[0])
    (bars,) = ax.collections
    assert isinstance(bars, LineCollection)
    assert len(bars.get_paths()) == 39
    assert [line.get_label() for line in ax.get_lines()] == ["bound", "residency"]


def test_axes_bear_units() -> None:
    ax = plot_curves(FEW.views[0])
    assert ax.get_xscale() == "log"
    assert 0 < ax.get_ylim()[0] < 1e-3
    assert plot_curves(FEW.view(y="gap")).get_ylim()[0] == 0
    ax.figure.canvas.draw()
    assert [each.get_text() for each in ax.get_xticklabels()] == ["4 KiB", "8 KiB", "64 KiB"]
    assert "2 ms" in [each.get_text() for each in ax.get_yticklabels()]
    gap = plot_curves(FEW.view(y="gap"))
    gap.figure.canvas.draw()
    assert "100 %" in [each.get_text() for each in gap.get_yticklabels()]


def test_ticks_of_a_logarithmic_axis_are_all_in_one_notation() -> None:
    rows = [schedule("lru", size * 1e-5, 1e-6, spm_bytes=size) for size in SIZES]
    ax = plot_curves(curves(*rows).views[0])
    assert ax.get_yscale() == "log"
    ax.figure.canvas.draw()
    assert {"200 ms", "500 ms"} <= {each.get_text() for each in ax.get_yticklabels()}
    assert not ax.yaxis.get_minorticklocs().size


def test_capacities_on_a_linear_axis_are_powers_of_two() -> None:
    rows = [schedule("lru", 2.0, 1.0, spm_bytes=size) for size in (2**18, 2**19, 2**20)]
    ax = plot_curves(curves(*rows).views[0])
    assert ax.get_xscale() == "linear"
    ax.figure.canvas.draw()
    labels = [each.get_text() for each in ax.get_xticklabels()]
    assert {"256 KiB", "512 KiB", "1 MiB"} <= {*labels}


def test_places_without_numbers_are_named_and_not_joined() -> None:
    rows = [schedule("residency", 1.0, 0.5, network=f"$n^{place}$") for place in range(9)]
    ax = plot_curves(curves(*rows).views[0])
    assert ax.get_lines()[1].get_linestyle() == "None"
    assert [each.get_text() for each in ax.get_xticklabels()][:2] == ["$n^0$", "$n^1$"]
    ax.figure.canvas.draw()


def test_schedulers_beyond_the_colors_differ_in_dashes() -> None:
    rows = [schedule(f"s{place}", 1.0, 0.5, spm_bytes=size) for place in range(9) for size in SIZES]
    _, *lines = plot_curves(curves(*rows).views[0]).get_lines()
    looks = {(line.get_color(), line.get_marker(), line.get_linestyle()) for line in lines}
    assert len(looks) == 9
