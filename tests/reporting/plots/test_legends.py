"""Entries of a legend fit beside each other."""

from matplotlib.figure import Figure

from spmopt.reporting.plots.style import draw_legend, legend_columns


def test_as_many_columns_as_are_sure_to_fit() -> None:
    assert [legend_columns(["a"] * count) for count in (0, 1, 3, 6, 8)] == [1, 1, 3, 6, 6]
    long = "of the traffic of the backward pass, large NPU"
    assert legend_columns([long] * 4) == 2
    assert legend_columns([long, long, "a", "b"]) == 3


def test_long_names_are_cut_short() -> None:
    """What a row of a file names may be of any length; a picture says its beginning and end."""
    figure = Figure()
    ax = figure.subplots()
    ax.plot([0, 1], label="a" * 100_000)
    ax.plot([1, 0], label="stream")
    draw_legend(figure, [ax])
    (legend,) = figure.legends
    long, short = (text.get_text() for text in legend.get_texts())
    assert len(long) == 120
    assert "…" in long
    assert short == "stream"
