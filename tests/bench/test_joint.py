"""What each simplification costs, on the smallest line of the suite."""

from __future__ import annotations

from spmopt.bench.joint import simplifications
from spmopt.bench.small import small_instance


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
