"""The study of the seconds of curves: a tiny curve, and sentences by hand."""

from itertools import pairwise
from shlex import split

import pytest

from spmopt.core.errors import InputError
from spmopt.experiments.rows import Row
from spmopt.studies import curve_time
from spmopt.studies.paper import SMALL
from spmopt.studies.rows import Rows
from spmopt.sweep.axes import setting_axis
from tests.studies.small import SIZES, case

FIGURES = {
    "processors": 2.0,
    **{
        f"{name} {figure}": value
        for name, more in (("resnet50", 0.0), ("transformer", 1.0))
        for figure, value in (
            ("points", 489.0),
            ("verified", 489.0),
            ("solves", 10.0 + more),
            ("wall_s", 100.0 + more),
            ("cpu_s", 150.0),
            ("tsai gap", 0.2),
            ("fluid gap", 0.0005 + more / 10_000),
        )
    },
}
ROWS = Rows(
    [
        {
            "network": "gnmt",
            "spm_bytes": size,
            "scheduler": scheduler,
            "value": 0.11,
            "bound": 0.1,
            "gap": gap,
            "solve_s": seconds,
        }
        for size, scheduler, gap, seconds in (
            (24_000_000, "tsai", 0.1, 2.0),
            (24_000_000, "fluid", 0.005, 61.0),
            (500_000_000, "tsai", 0.1, 2.0),
            (500_000_000, "fluid", 0.02, None),
        )
    ]
)


def test_sums_and_sentences_by_hand() -> None:
    found = curve_time.find(ROWS, FIGURES)
    curves, points = found.sheets
    assert list(curves.rows[1]) == [
        *("Transformer", "489", "489", "11", "101.0", "150.0", "0.060", "20.0")
    ]
    assert list(curves.rows[2]) == ["all", "978", "978", "21", "201.0", "300.0", "", ""]
    assert list(points.rows[3]) == ["GNMT", "500 MB", "fluid", "0.11", "0.1", "2", "-"]
    first, second, third = found.sentences
    assert first == (
        "978 points of 2 networks take 300 s of CPU time and 201 s of wall time, within the "
        "target of 240 s, with 74.6 % of the processors (25.4 % idle, or at other work)."
    )
    assert second.startswith("21 solutions (ResNet-50 10 and Transformer 11) enclose")
    assert "to within 0.06 %" in second
    assert third.endswith("takes up to 61 s, and encloses the optimum to within 2 %.")
    late = {**FIGURES, "resnet50 wall_s": 200.0}
    assert "not within the target" in curve_time.find(ROWS, late).sentences[0]


def test_a_tiny_curve() -> None:
    sizes = range(SIZES[0], SIZES[-1] + 1, 8 * 4096)
    found = curve_time.measure(case(tuple(sizes)), 1)
    assert found["points"] == found["verified"] == len(sizes)
    # A few solutions for all of it, of one or two orders.
    assert 2 <= found["solves"] < 2 * len(sizes)
    assert 0 <= found["fluid gap"] <= curve_time.TOLERANCE
    assert 0 < found["tsai gap"] < 1
    assert 0 < found["cpu_s"] < 60


def test_a_point_without_a_bound_is_told() -> None:
    lame: Row = {"network": "bert-tiny", "scheduler": "fluid", "spm_bytes": 4096, "gap": None}
    with pytest.raises(InputError, match="bert-tiny, fluid, 4096 bytes: no gap"):
        curve_time.largest_gap([lame], "fluid")
    assert curve_time.largest_gap([{**lame, "gap": 0.25}], "fluid") == 0.25


def test_the_conditions() -> None:
    assert len(curve_time.CAPACITIES) == 489
    assert curve_time.CAPACITIES[-1] == 10**9


def test_the_command_that_writes_the_points_asks_for_the_same() -> None:
    words = split(curve_time.COMMAND)
    assert words[:2] == ["spmopt", "sweep"]
    assert tuple(words[2:5]) == SMALL
    options = dict(pairwise(words[5:]))
    assert setting_axis("spm", options["--spm"], "--spm") == curve_time.CAPACITIES
    assert tuple(options["-s"].split(",")) == curve_time.SCHEDULERS
    assert float(options["--tolerance"]) == curve_time.TOLERANCE
    assert options["--lowering"] == "ideal"
