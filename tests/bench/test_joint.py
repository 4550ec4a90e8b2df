"""What each simplification costs, on the smallest line of the suite."""

from __future__ import annotations

from pathlib import Path

from spmopt.bench.joint import simplifications
from spmopt.bench.small import small_instance
from spmopt.bench.suites.joint import joint
from spmopt.io.document import read_json

RESULTS = Path(__file__).parents[2] / "results"


def test_classes_are_in_order() -> None:
    instance = small_instance("residual", 2048, training=False)
    figures = simplifications(instance, limit_s=20)
    cycles = {name: value for name, value in figures.items() if isinstance(value, int)}
    assert figures["proved"] is True
    assert cycles["paged_bound"] <= cycles["joint"] == cycles["joint_bound"] == 13952
    assert cycles["joint"] <= cycles["fixed"] <= cycles["policy"]
    assert cycles["page"] <= cycles["whole"]
    assert cycles["whole_replay"] <= cycles["whole"]
    assert figures["barrier_cost"] == 14656 / 13952 - 1


def test_the_example_is_a_recorded_line() -> None:
    recorded = read_json(RESULTS / "joint.json")
    assert isinstance(recorded, dict)
    (line,) = (
        row["figures"]
        for row in recorded["rows"]
        if (row["case"]["network"], row["case"]["parameters"]["training"]) == ("lenet", 0)
    )
    about = joint().about
    for figure in ("joint", "fixed", "whole_replay", "whole", "page"):
        assert f"{line[figure]:,}" in about
    for cost in ("command_cost", "barrier_cost", "whole_cost"):
        assert f"{100 * line[cost]:.3g} %" in about
    assert about in (RESULTS / "joint.md").read_text(encoding="utf-8")
