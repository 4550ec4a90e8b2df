"""Accesses of kernels in blocks, walked one by one, and by hand; the paper's own figures."""

from itertools import product

import pandas as pd
import pytest

from results.memory_scaling_16nm.curves import ANCHOR, SIZES, counted, derived
from results.shared import memory
from results.shared.common import MB
from results.shared.memory import (
    Assumptions,
    accesses,
    one_by_one,
)
from spmopt.graph.build import GraphBuilder
from spmopt.graph.training import training_graph
from spmopt.hardware.technologies import load_technology
from tests.graph.networks import convolution, mlp
from tests.thorough import nightly

WORD = 4
READS = 0.817
"""Part of reads in the accesses that makes 83 % of SRAM's dynamic energy, as in the paper."""


def walked(m: int, k: int, n: int, tile: int) -> int:
    """Bytes that all blocks of a product read."""
    read = 0
    for row, column in product(range(0, m, tile), range(0, n, tile)):
        rows, columns = min(tile, m - row), min(tile, n - column)
        read += WORD * (rows * k + k * columns)
    return read


@pytest.mark.parametrize("tile", [1, 2, 3, 5, 16, 100])
def test_blocks_of_layers(tile: int) -> None:
    read, written = accesses(mlp(), tile)
    labels, bias, hidden, scores = 8 * 8, WORD * (16 + 3), WORD * 8 * 16, WORD * 8 * 3
    once = bias + hidden + scores + labels  # ReLU reads the hidden layer, the loss the scores
    assert read == walked(8, 4, 16, tile) + walked(8, 16, 3, tile) + once
    assert written == hidden + hidden + scores + WORD  # the loss is one number


@pytest.mark.parametrize("tile", [1, 7, 64, 1000])
def test_a_convolution_reads_its_windows(tile: int) -> None:
    plain, wide = (accesses(convolution(), size) for size in (tile, 10**6))
    assert plain[1] == wide[1]
    conv, layer = (2 * 8 * 8, 3 * 9, 4), (2, 64, 5)
    extra = sum(walked(*size, tile) - walked(*size, 10**6) for size in (conv, layer))
    assert plain[0] - wide[0] == extra


def test_views_move_nothing_and_training_more() -> None:
    b = GraphBuilder("view")
    flat = b.add("Flatten", [b.input("x", (2, 3, 4))])
    assert accesses(b.finish([b.add("Relu", [flat])]), 8) == (96, 96)
    step = training_graph(mlp())
    assert all(a > b for a, b in zip(accesses(step, 8), accesses(mlp(), 8), strict=True))


def test_one_by_one_by_hand() -> None:
    pad = load_technology("deepnvm-stt").at(3 * MB)
    assumed = Assumptions(clock_hz=10**9, dram_cycles=50)
    spent = one_by_one(pad, (640, 96), 960, assumed)
    # 20 reads of 3 cycles, 3 writes of 10, 30 transactions of the DRAM, at 1 ns.
    assert spent["time_s"] == pytest.approx(90e-9)
    assert spent["dram_s"] == pytest.approx(1500e-9)
    assert spent["spm_read_j"] == pytest.approx(20 * 0.81e-9)
    assert spent["spm_write_j"] == pytest.approx(3 * 0.31e-9)
    assert spent["leakage_j"] == pytest.approx(0.748 * 90e-9)


@pytest.mark.parametrize(
    ("role", "size", "dynamic", "leakage", "energy"),
    [
        ("stt", 3, 2.1, 5.9, 5.1),
        ("sot", 3, 1.3, 10.0, 8.6),
        ("stt", 7, 2.5, 2.1, 2.0),
        ("sot", 10, 1.4, 2.3, 2.3),
    ],
)
def test_the_paper_counts_so(
    role: str, size: int, dynamic: float, leakage: float, energy: float
) -> None:
    """With its share of reads the paper's means follow from its table II."""

    def serial(role: str, size: int) -> pd.Series:
        pad = load_technology(getattr(Assumptions(), role)).at(size)
        reads = round(READS * 10**6)
        spent = one_by_one(pad, (32 * reads, 32 * (10**6 - reads)), 960, Assumptions())
        return pd.Series(spent)[["spm_read_j", "spm_write_j", "leakage_j"]]

    base, rival = serial("sram", 3 * MB), serial(role, size * MB)
    assert base.spm_read_j / base.iloc[:2].sum() == pytest.approx(0.83, abs=0.005)
    assert rival.iloc[:2].sum() / base.iloc[:2].sum() == pytest.approx(dynamic, rel=0.04)
    assert base.leakage_j / rival.leakage_j == pytest.approx(leakage, rel=0.04)
    assert base.sum() / rival.sum() == pytest.approx(energy, rel=0.04)


def test_assumptions_are_read() -> None:
    given = {"tile": "64", "clock_hz": "1GHz", "policy": "belady", "stt": "mine.toml"}
    found = Assumptions().given(given)
    assert found == Assumptions(tile=64, clock_hz=10**9, policy="belady", stt="mine.toml")


@nightly
def test_scaled_sram_follows_from_what_the_paper_prints() -> None:
    """The preset is what the derivation finds, and that gives the figures that it was made of."""
    found = derived(ANCHOR)
    shipped = {role: load_technology(f"scaled-{role}") for role in found}
    assert {role: each.points for role, each in found.items()} == {
        role: each.points for role, each in shipped.items()
    }
    rows = counted(shipped)
    by_size = rows[rows.role == "sot"].set_index([*memory.WORKLOAD, "spm_bytes"])
    base = rows[rows.role == "sram"].set_index([*memory.WORKLOAD, "spm_bytes"])
    stage = ["spm_bytes", "training"]

    def most(column: str) -> float:
        ratios = by_size[column] / base[column]
        return float(1 / ratios.groupby(level=stage).mean().min())

    assert most("energy") == pytest.approx(36.4, abs=0.05)
    assert most("time_s") == pytest.approx(2.6, abs=0.05)  # in whole cycles
    area = [
        shipped["sot"].at(n).point.area_mm2 / shipped["sram"].at(n).point.area_mm2 for n in SIZES
    ]
    assert sum(area) / len(area) == pytest.approx(0.35, abs=0.001)
    last, even = SIZES[-1], 7 * MB
    assert shipped["sram"].at(last).point.write_latency_ns == pytest.approx(
        shipped["stt"].at(last).point.write_latency_ns, rel=1e-3
    )
    reads = [shipped[role].at(even).point.read_energy_pj for role in ("sram", "sot")]
    assert reads[0] == pytest.approx(reads[1], rel=1e-3)
    one, other = (shipped["sram"].at(n).point for n in (3 * MB, 20 * MB))
    grown = other.read_energy_pj / one.read_energy_pj
    assert other.write_energy_pj / one.write_energy_pj == pytest.approx(grown, rel=1e-3)
