"""Entries of a legend fit beside each other."""

from spmopt.reporting.plots.style import legend_columns


def test_as_many_columns_as_are_sure_to_fit() -> None:
    assert [legend_columns(["a"] * count) for count in (0, 1, 3, 6, 8)] == [1, 1, 3, 6, 6]
    long = "of the traffic of the backward pass, large NPU"
    assert legend_columns([long] * 4) == 2
    assert legend_columns([long, long, "a", "b"]) == 3
