"""Sentences and ratios of rows whose answer is known."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from spmopt.studies.gradients.names import BATCH_SIZES, networks_note
from spmopt.studies.gradients.replacement import relative, sentences
from spmopt.studies.gradients.technique import BASELINE
from spmopt.studies.rows import Rows
from spmopt.sweep.rows import Row

MACHINE = "large-npu"
TECHNIQUES = (BASELINE, "interleaving", "+rearrangement")


def row(technique: str, scheduler: str, cycles: int, traffic: int) -> Row:
    return {
        "machine": MACHINE,
        "network": "res",
        "technique": technique,
        "scheduler": scheduler,
        "forward_cycles": 10,
        "backward_cycles": cycles - 10,
        "traffic_bytes": traffic,
    }


def rows(baseline: Mapping[str, tuple[int, int]]) -> Rows:
    """Baselines by replacement, cycles and bytes; orders save nothing under double buffering."""
    return Rows(
        [
            row(technique, scheduler, *(pair if technique == BASELINE else (100, 1000)))
            for scheduler, pair in baseline.items()
            for technique in TECHNIQUES
        ]
    )


def test_in_terms_of_one_baseline() -> None:
    found = rows({"double-buffer": (100, 1000), "belady": (110, 900), "page": (90, 950)})
    assert relative(found, MACHINE, BASELINE, "double-buffer") == {"res": 1.0}
    assert relative(found, MACHINE, BASELINE, "belady") == {"res": pytest.approx(1.1)}
    assert relative(found, MACHINE, BASELINE, "page", "traffic") == {"res": pytest.approx(0.95)}
    assert relative(found, MACHINE, "interleaving", "page") == {"res": pytest.approx(1.0)}


def test_a_rule_that_moves_less_and_takes_longer_is_explained() -> None:
    found = rows({"double-buffer": (100, 1000), "belady": (110, 900), "page": (90, 950)})
    told = sentences(found, [MACHINE])[1]
    assert "save of the baseline's backward traffic 10.0 % and 5.0 % on the large NPU" in told
    assert "in 1 of 1 cases (res on the large NPU)" in told
    assert "slower than double buffering on the large NPU by 10.0 % on average (res 10.0 %)" in told
    assert "on the large NPU 5.0 % more of the baseline's bytes for 20.0 % less of its time" in told


def test_what_did_not_happen_is_not_explained() -> None:
    found = rows({"double-buffer": (100, 1000), "belady": (95, 950), "page": (90, 900)})
    told = sentences(found, [MACHINE])[1]
    assert "slower" not in told
    assert "may move more" not in told


def test_networks_by_machine() -> None:
    note = networks_note(["small-npu", "large-npu"], ["res", "yolo"])
    assert "res is `resnet50`; yolo is `yolov2-tiny` (small NPU) and `yolov5l` (large NPU)" in note
    assert "yolo is `yolov5l`." in networks_note([MACHINE], ["yolo"])
    assert BATCH_SIZES == "batch 4 (small NPU) and 8 (large NPU)"
