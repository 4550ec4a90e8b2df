"""Networks, settings and fetches of the studies of gradients, on small layers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from results.gradient_partitions.run import predicted
from results.shared import gradients
from results.shared.gradients import (
    BASELINE,
    IDEAL,
    LARGE,
    LAST,
    NETWORKS,
    REPLACEMENTS,
    SMALL,
    Counted,
    NpuSetting,
    counted,
    forward_pass,
    free,
    of_row,
    without_second_read,
)
from spmopt.frontends import zoo
from spmopt.graph.statistics import parameters
from spmopt.hardware.machines import load_machine
from spmopt.tiles.case import LayerCase
from spmopt.tiles.fetches import backward
from spmopt.tiles.layer import Layer
from spmopt.tiles.order import ORDERS
from spmopt.tiles.partition import scale
from spmopt.tiles.run import run
from tests.tiles.cases import grid, machine

LAYER = Layer(name="fc", m=300, k=200, n=500)
COMPULSORY = 4 * (300 * 200 + 200 * 500 + 300 * 500)


def test_the_table_holds_the_papers_figures_and_ours() -> None:
    lines = [line for line in (gradients.__doc__ or "").splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]
    networks = {name: short for own in NETWORKS.values() for short, name in own.items()}
    assert {row[3] for row in rows} == {*networks}
    for abbreviation, paper, here, name, why in rows:
        assert networks[name] == abbreviation
        count = parameters(zoo.network(name, batch=1)) / 1e6
        assert f"{count:.1f}" == here
        agrees = abs(count / int(paper) - 1) < 0.03
        assert agrees or "published" in why or "says" in why or "MLPerf" in why


def test_each_machine_has_the_nine_networks_of_the_table() -> None:
    names = {"rcnn", "goo", "ncf", "res", "dlrm", "mob", "yolo", "bert", "T5"}
    for name in (SMALL, LARGE):
        assert {*NETWORKS[name]} == names
    small = counted("yolov2-tiny", 4)[0]
    assert small.layer.m == 4 * 416 * 416


def test_topologies_of_scalesim() -> None:
    """As their files say: rows of a sample times the batch, one filter for depth-wise layers."""
    plain = NpuSetting(name="plain", machine=LARGE)
    dlrm = plain.layers("dlrm")
    assert {each.layer.m for each in dlrm} == {8 * 1024}
    assert [each.input_gradient for each in dlrm] == [False] + [True] * (len(dlrm) - 1)
    assert (dlrm[0].layer.k, dlrm[0].layer.n) == (16, 4)
    wide = [each.layer for each in plain.layers("mob") if each.layer.n == 1]
    assert wide[0].sizes == (8 * 110 * 110, 9 * 32, 1)
    assert wide[0].groups == 1
    ncf = plain.layers("ncf")
    assert [(each.layer.sizes, each.count) for each in ncf[:2]] == [
        ((8, 138000, 8), 1),  # of a user: the first layer
        ((8, 138000, 8), 1),  # of an item
    ]
    published = NpuSetting(name="published", machine=LARGE, published=True)
    assert {each.layer.m for each in published.layers("dlrm")} == {8}
    assert published.layers("bert") == plain.layers("bert")


def test_readings_change_layers_and_machines() -> None:
    matrices = NpuSetting(name="im2col", im2col=True).layers("res")
    assert all(each.layer.window is None for each in matrices)
    assert any(each.layer.window for each in NpuSetting(name="plain").layers("res"))
    array = NpuSetting(name="folds", pipelined=True).hardware().array
    assert array is not None
    assert array.pipelined
    rows = NpuSetting(name="rows", dw="kji")
    square = Counted(layer=LAYER)
    assert [case.order for case in rows.cases(BASELINE, square)] == ["sequential:dw=kji"]
    assert [case.order for case in rows.cases("+rearrangement", square)] == ["interleaved:dw=kji"]
    long = Counted(layer=Layer(name="fc", m=3000, k=200, n=500))
    assert [case.order for case in rows.cases("+rearrangement", long)] == ["dx-major"]


@pytest.mark.parametrize("replacement", REPLACEMENTS)
def test_a_forward_pass_moves_each_matrix_once_if_it_can(replacement: str) -> None:
    hardware = load_machine(SMALL)
    cycles, traffic, read, *_ = forward_pass(LAYER, hardware, 1, replacement, 4).tolist()
    assert COMPULSORY <= traffic < 2 * COMPULSORY
    assert traffic - read == 4 * 300 * 500
    assert cycles * hardware.dram_bytes_per_s >= traffic * hardware.clock_hz


def test_groups_and_cores_of_a_forward_pass() -> None:
    hardware, grouped = load_machine(SMALL), Layer(name="fc", m=300, k=200, n=500, groups=3)
    plain = forward_pass(LAYER, hardware, 1, "double-buffer", 4)
    assert (forward_pass(grouped, hardware, 1, "double-buffer", 4) == 3 * plain).all()
    four = forward_pass(LAYER, scale(hardware, 4), 4, "belady", 4)
    assert COMPULSORY <= four[1] < 2 * COMPULSORY
    assert four[0] < forward_pass(LAYER, hardware, 1, "belady", 4)[0]


def test_without_a_second_read_dw_has_no_dy() -> None:
    cells = grid((4, 4, 4), (2, 2, 2))
    plain = backward(cells, machine(1024), ORDERS["sequential"].through(cells))
    less = without_second_read(plain)
    for before, after in zip(plain.operations, less.operations, strict=True):
        read = [less.tensor_names[tensor] for tensor in after.reads]
        assert any(name.startswith("dY") for name in read) == (before.kind == "dX")
        lost = 1 if before.kind == "dW" else 0
        assert len(after.mappings[0].operands) == len(before.mappings[0].operands) - lost
        assert after.writes == before.writes


def test_a_free_second_read_saves_just_reads_of_dy() -> None:
    row = run(LayerCase(layer=LAYER, machine=load_machine(SMALL)))
    plain, less = of_row(row), free(row)
    assert less[3] < plain[3]
    assert less[1] <= plain[1] - (plain[3] - less[3])
    assert less[0] < plain[0]
    assert less[3] >= 4 * 300 * 500  # dX still reads all of dY
    assert less[4:].tolist() == plain[4:].tolist()


def test_techniques_as_cases() -> None:
    first = Counted(layer=LAYER, count=1, number=1, input_gradient=False)
    other = Counted(layer=LAYER, count=1, number=2, input_gradient=True)
    plain, four = NpuSetting(name="plain"), NpuSetting(name="four", cores=4, reuse="none")
    (case,) = plain.cases(LAST, first)
    assert (case.order, case.partition, case.input_gradient) == ("sequential", "none", False)
    (case,) = plain.cases(LAST, other)
    assert (case.order, case.partition, case.input_gradient) == ("algorithm-1", "best", True)
    (case,) = four.cases(BASELINE, other)
    assert (case.order, case.partition, case.cores) == ("sequential", "m/4", 4)
    assert case.replacement == "double-buffer:reuse=none"
    assert [c.order for c in four.cases(IDEAL, other)] == ["interleaved", "dx-major", "dw-major"]


def sizes(best: list[int], axes: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> pd.DataFrame:
    """Rows whose best cut costs 10, the others 15, the baseline 20."""
    costs = np.full((len(best), 3), 15)
    costs[np.arange(len(best)), best] = 10
    table = pd.DataFrame(
        np.hstack([axes, costs]), columns=[*"mkn", *(f"{a}_cycles" for a in "mkn")]
    )
    return table.assign(baseline_cycles=20, layers=1)


def test_what_can_be_told_apart_is_predicted() -> None:
    best = [k % 3 for k in range(60)]
    axes = np.random.default_rng(0).integers(1, 50, (60, 3))
    axes[np.arange(60), best] += 10_000
    found = predicted(sizes(best, axes), False, False, 3, repetitions=50)
    assert (found["accuracy"], found["spread"]) == (1.0, 0.0)
    assert found["ideal"] == found["predicted"] == pytest.approx(0.5)


def test_what_sizes_do_not_tell_is_guessed_unless_they_are_known() -> None:
    rng = np.random.default_rng(1)
    best = rng.integers(0, 3, 300).tolist()
    table = sizes(best, rng.integers(1, 10_000, (300, 3)))
    found = predicted(table, False, False, 1, repetitions=50)
    assert found["accuracy"] == pytest.approx(1 / 3, abs=0.06)
    assert found["predicted"] == pytest.approx(0.5 + (1 - found["accuracy"]) * 0.25)
    again = predicted(table.assign(layers=8), True, False, 1, repetitions=5)
    assert again["accuracy"] > 0.9  # equal layers are among the known


def test_logarithms_tell_apart_what_dimensions_do_not() -> None:
    rng = np.random.default_rng(3)
    best = [k % 2 for k in range(80)]
    axes = np.stack((np.where(best, 1, 30), rng.integers(1, 100_000, 80), np.full(80, 7)), axis=1)
    near, far = (
        predicted(sizes(best, axes), False, log, 1, repetitions=50) for log in (False, True)
    )
    assert far["accuracy"] > near["accuracy"] + 0.2
