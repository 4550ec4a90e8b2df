"""Forward passes and the free second read, of small layers."""

from __future__ import annotations

import numpy as np
import pytest

from spmopt.hardware.machines import load_machine
from spmopt.studies.gradients.one_pass import (
    Cost,
    forward_pass,
    of_row,
    second_read_free,
    total,
    without_second_read,
)
from spmopt.studies.gradients.setting import Setting, alike
from spmopt.studies.gradients.technique import BASELINE, LAST, REPLACEMENTS, cases
from spmopt.tiles.case import Case
from spmopt.tiles.layer import Layer
from spmopt.tiles.order import ORDERS
from spmopt.tiles.partition import scaled
from spmopt.tiles.passes import backward
from spmopt.tiles.run import run
from tests.tiles.cases import grid, machine

LAYER = Layer(name="fc", m=300, k=200, n=500)
SMALL = load_machine("small-npu")
COMPULSORY = 4 * (300 * 200 + 200 * 500 + 300 * 500)


@pytest.mark.parametrize("replacement", REPLACEMENTS)
def test_a_forward_pass_moves_each_matrix_once_if_it_can(replacement: str) -> None:
    cost = forward_pass(LAYER, SMALL, 1, replacement, 4)
    assert COMPULSORY <= cost.traffic_bytes < 2 * COMPULSORY
    assert cost.traffic_bytes - cost.read_bytes == 4 * 300 * 500
    assert cost.cycles * SMALL.dram_bytes_per_s >= cost.traffic_bytes * SMALL.clock_hz


def test_groups_and_bytes_multiply() -> None:
    grouped = Layer(name="fc", m=300, k=200, n=500, groups=3)
    plain = forward_pass(LAYER, SMALL, 1, "double-buffer", 4)
    assert forward_pass(grouped, SMALL, 1, "double-buffer", 4) == plain.times(3)
    assert plain.times(3) == total([plain, plain, plain])
    byte = forward_pass(LAYER, SMALL, 1, "double-buffer", 1)
    assert 4 * byte.read_bytes <= plain.read_bytes


def test_four_cores_share_the_batch() -> None:
    four = forward_pass(LAYER, scaled(SMALL, 4), 4, "belady", 4)
    assert COMPULSORY <= four.traffic_bytes < 2 * COMPULSORY
    assert four.cycles < forward_pass(LAYER, SMALL, 1, "belady", 4).cycles


def test_without_a_second_read_dw_has_no_dy() -> None:
    cells = grid((4, 4, 4), (2, 2, 2))
    plain = backward(cells, machine(1024), ORDERS["sequential"].through(cells))
    free = without_second_read(plain)
    for before, after in zip(plain.operations, free.operations, strict=True):
        read = [free.tensor_names[tensor] for tensor in after.reads]
        assert any(name.startswith("dY") for name in read) == (before.kind == "dX")
        lost = 1 if before.kind == "dW" else 0
        assert len(after.modes[0].operands) == len(before.modes[0].operands) - lost
        assert after.writes == before.writes


def test_a_free_second_read_saves_just_reads_of_dy() -> None:
    row = run(Case(layer=LAYER, machine=SMALL))
    plain, free = of_row(row), second_read_free(row.ran)
    assert free.dy_bytes < plain.dy_bytes
    assert free.traffic_bytes <= plain.traffic_bytes - (plain.dy_bytes - free.dy_bytes)
    assert free.cycles < plain.cycles
    # dX still reads all of dY.
    assert free.dy_bytes >= 4 * 300 * 500


def test_layers_of_a_size_are_counted_apart_by_dx() -> None:
    names = ("a", "b", "c", "d")
    some = [Layer(name=name, m=1, k=2, n=3 if name != "c" else 4) for name in names]
    found = alike(some, frozenset("a"))
    assert [(one.layer.name, one.count, one.number, one.input_gradient) for one in found] == [
        ("a", 1, 1, False),
        ("b", 2, 2, True),
        ("c", 1, 3, True),
    ]


def test_techniques_as_cases() -> None:
    first, other = alike([LAYER, Layer(name="next", m=3, k=4, n=5)], frozenset({"fc"}))
    plain = Setting(name="plain", machine="large-npu")
    four = Setting(name="four", machine="large-npu", cores=4, reuse="none")
    (case,) = cases(LAST, first, plain)
    assert (case.order, case.partition, case.input_gradient) == ("sequential", "none", False)
    (case,) = cases(LAST, other, plain)
    assert (case.order, case.partition, case.input_gradient) == ("algorithm-1", "best", True)
    (case,) = cases(BASELINE, other, four)
    assert (case.order, case.partition, case.cores) == ("sequential", "m/4", 4)
    assert case.replacement == "double-buffer:reuse=none"
    ideal = cases("+rearrangement, ideal", other, four)
    assert [one.order for one in ideal] == ["interleaved", "dx-major", "dw-major"]


def test_square_tiles_fill_half() -> None:
    for setting in (Setting(name="x", machine="small-npu"), Setting(name="y", machine="large-npu")):
        side, half = setting.square().m, setting.hardware().spm_bytes // 2
        unit = {"small-npu": 45, "large-npu": 128}[setting.machine]
        assert side % unit == 0
        assert 3 * 4 * side**2 <= half < 3 * 4 * (side + unit) ** 2


def test_costs_add_up() -> None:
    one, two = (Cost(cycles=n, traffic_bytes=2 * n, read_bytes=3 * n, dy_bytes=n) for n in (1, 2))
    assert one + two == total([two, one]) == one.times(3)
    assert total([]).cycles == 0
    assert np.isclose(two.dy_bytes / two.read_bytes, 1 / 3)
