"""Networks, settings and fetches of the studies of gradients, on small layers."""

from __future__ import annotations

import pytest

from results.shared import gradients
from results.shared.gradients import (
    LARGE,
    NETWORKS,
    REPLACEMENTS,
    SMALL,
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


@pytest.mark.parametrize("replacement", REPLACEMENTS)
def test_a_forward_pass_moves_each_matrix_once_if_it_can(replacement: str) -> None:
    hardware = load_machine(SMALL)
    cycles, traffic, read, *_ = forward_pass(LAYER, hardware, 1, replacement, 4).tolist()
    assert COMPULSORY <= traffic < 2 * COMPULSORY
    assert traffic - read == 4 * 300 * 500
    assert cycles * hardware.dram_bytes_per_s >= traffic * hardware.clock_hz


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
