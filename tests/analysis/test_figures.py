"""Figures of a training step, and causes of stalls, by hand."""

from collections.abc import Sequence
from typing import Any

import pytest

from spmopt.analysis import Analysis, Cause
from spmopt.core.schedule import Schedule
from tests.analysis.small import streamed, training_step
from tests.assemble.small import legal_schedule
from tests.tiny import Op, tiny


def test_operations_of_a_streamed_step() -> None:
    groups = streamed(training_step()).by_operation()
    assert groups.names[4:] == ("relu.d0", "conv.d1", "conv.d0")
    assert groups.labels[0] == "Conv"
    assert groups.dram_in_bytes.tolist() == [12, 8, 16, 8, 16, 16, 12]
    assert groups.dram_out_bytes.tolist() == [8, 8, 8, 8, 8, 4, 8]
    assert groups.cycles.tolist() == [20, 16, 24, 16, 24, 20, 30]
    assert groups.stall_cycles.tolist() == [12, 15, 23, 15, 23, 12, 0]
    assert groups.stall_cause == ["stream in"] * 6 + ["none"]
    # Two a multiply-accumulate, else 4 a cycle.
    assert groups.flop.tolist() == [32, 4, 4, 4, 4, 32, 32]
    assert groups.bandwidth_bytes_per_s[[0, 6]] == pytest.approx([1, 20 / 30])
    assert groups.active_time[6] == pytest.approx(20 / 30)
    assert groups.compute_utilization[[0, 1, 6]] == pytest.approx([32 / 80, 4 / 64, 32 / 120])
    assert groups.flop_per_byte[[0, 1]] == pytest.approx([32 / 20, 4 / 16])
    assert groups.roofline.tolist() == ["memory"] * 6 + ["compute"]


def test_layers_join_an_operation_with_its_gradients_by_pass() -> None:
    groups = streamed(training_step()).by_layer()
    assert list(zip(groups.names, groups.labels, groups.steps.tolist(), strict=True)) == [
        ("conv", "forward", 1),
        ("relu", "forward", 1),
        ("add", "forward", 1),
        ("loss", "backward", 1),
        ("relu", "backward", 1),
        ("conv", "backward", 2),
    ]
    assert groups.operand_bytes.tolist() == [20, 16, 24, 16, 24, 32]  # g1 once
    assert groups.cycles.tolist() == [20, 16, 24, 16, 24, 50]
    assert groups.flop_per_byte[5] == 64 / 40  # bytes that cross the boundary twice count twice
    assert groups.roofline.tolist() == ["memory"] * 6  # the engine waits in all of them


def test_tensors() -> None:
    tensors = streamed(training_step()).by_tensor()
    x = {name: values.tolist()[0] for name, values in tensors.items()}
    assert (x["name"], x["kind"], x["size_bytes"]) == ("x", "input", 8)
    assert (x["uses"], x["dram_in_bytes"], x["dram_out_bytes"]) == (3, 24, 0)
    assert (x["flop"], x["reuse_frequency"]) == (32 + 4 + 32, 68 / 8)
    assert (x["reusable_bytes"], x["captured_bytes"], x["resident"]) == (16, 0, 0)


def test_resident_part_is_a_mean_over_time() -> None:
    problem, schedule = _planned(
        [("a", 0, 1, 4), ("a", 1, 2, 8)],
        [Op(reads="a", cycles=30), Op(cycles=10), Op(reads="a", cycles=10)],
    )
    assert Analysis.of(problem, schedule).by_tensor()["resident"][0] == (4 * 30 + 8 * 10) / (8 * 50)


@pytest.mark.parametrize(
    ("rows", "operations", "machine", "expected"),
    [
        # 8 bytes for the next step against 4 streamed.
        ([("a", 0, 2, 8)], [Op(reads="b"), Op(reads="a")], {}, [Cause.PREFETCH, Cause.NONE]),
        ([("a", 0, 1, 8)], [Op(reads="a b"), Op()], {}, [Cause.LOAD, Cause.NONE]),
        ([], [Op(reads="b", cycles=3), Op(reads="b", cycles=4)], {}, [Cause.STREAM_IN, Cause.NONE]),
        ([], [Op(reads="b", writes="c"), Op()], {}, [Cause.STREAM_OUT, Cause.NONE]),
        # Loaded before the computation: 8 + 1 cycles, although 8 could be hidden.
        (
            [("a", 0, 1, 8)],
            [Op(reads="a", cycles=1, required_resident="a")],
            {},
            [Cause.REQUIRED_RESIDENT],
        ),
        # The DMA channel takes longer still.
        (
            [("a", 0, 1, 8)],
            [Op(reads="a d", cycles=1, required_resident="a")],
            {},
            [Cause.STREAM_IN],
        ),
        # Out takes 12 cycles, in 16: what matters is the busier channel.
        ([], [Op(reads="d", writes="c")], {}, [Cause.STREAM_IN]),
        ([("a", 0, 1, 8)], [Op(reads="a b", writes="c")], {}, [Cause.STREAM_OUT]),
        ([("a", 0, 1, 8)], [Op(reads="a d", writes="c")], {"duplex": True}, [Cause.STREAM_IN]),
        ([], [Op(reads="b", writes="c")], {"duplex": True}, [Cause.STREAM_OUT]),
    ],
)
def test_causes(
    rows: list[tuple[str, int, int, int]],
    operations: list[Op],
    machine: dict[str, Any],
    expected: list[Cause],
) -> None:
    problem, schedule = _planned(rows, operations, **machine)
    assert Analysis.of(problem, schedule).by_operation().stall_cause == [
        each.words for each in expected
    ]


def test_a_store_is_a_cause() -> None:
    problem, schedule = _planned(
        [("c", 0, 2, 12)], [Op(writes="c"), Op(reads="b")], stores=[(1, "c", 12)]
    )
    assert Analysis.of(problem, schedule).by_operation().stall_cause == ["none", "store"]


def _planned(
    rows: list[tuple[str, int, int, int]],
    operations: list[Op],
    stores: Sequence[tuple[int, str, int]] = (),
    **machine: Any,
) -> tuple[Any, Schedule]:
    """A legal schedule with these residency rows (tensor, begin, end, bytes) and stores."""
    tensors = {"a": (8, "in"), "b": (4, "in"), "c": (12, "keep"), "d": (16, "in")}
    if not any("c" in op.writes for op in operations):
        tensors["c"] = (12, "")
    problem = tiny(tensors, operations, spm=32, **machine)
    return problem, legal_schedule(problem, rows, stores)
