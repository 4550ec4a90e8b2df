"""Accesses one by one by hand, and the paper's own figures from its table."""

from dataclasses import replace

import pytest

from spmopt.core.result import Totals
from spmopt.hardware.machines import load_machine
from spmopt.hardware.scratchpad import with_technology
from spmopt.hardware.technologies import load_technology
from spmopt.studies.memory.assumptions import Assumptions
from spmopt.studies.memory.spent import Spent, one_by_one, scheduled

MB = 10**6
PLAIN = Assumptions()
READS = 0.817
"""Part of reads in the accesses that makes 83 % of SRAM's dynamic energy, as in the paper."""


def totals() -> Totals:
    """1 ms on the GTX 1080 Ti."""
    return Totals(
        makespan_cycles=1_582_000,
        replay_cycles=1_582_000,
        dram_in_bytes=320,
        dram_out_bytes=640,
        spm_read_bytes=3200,
        spm_write_bytes=1280,
        macs=1000,
        compute_cycles=1,
        dma_cycles=1,
        peak_spm_bytes=1,
    )


def schedule(role: str, size: int = 3 * MB) -> Spent:
    technology = load_technology(PLAIN.technology(role))
    machine = replace(load_machine(PLAIN.machine), spm_bytes=size)
    return scheduled(with_technology(machine, technology), totals(), technology.at(size))


def serial(role: str, size: int = 3 * MB, accesses: int = 10**6) -> Spent:
    pad = load_technology(PLAIN.technology(role)).at(size)
    reads = round(READS * accesses)
    accessed = 32 * reads, 32 * (accesses - reads)
    return one_by_one(pad, accessed, schedule(role, size), PLAIN)


def test_a_schedule_by_hand() -> None:
    spent = schedule("stt")
    assert spent.time_s == pytest.approx(1e-3)
    assert spent.dram_s == 0.0
    assert (spent.read_bytes, spent.write_bytes, spent.dram_bytes) == (3840, 1600, 960)
    assert spent.spm_read_j == pytest.approx(120 * 0.81e-9)
    assert spent.spm_write_j == pytest.approx(50 * 0.31e-9)
    assert spent.leakage_j == pytest.approx(0.748e-3)
    assert spent.dram_j == pytest.approx(960 * 230e-12)
    assert spent.mac_j == pytest.approx(1000 * 4.6e-12)
    assert spent.area_mm2 == 2.34


def test_one_by_one_by_hand() -> None:
    pad = load_technology("deepnvm-stt").at(3 * MB)
    assumed = replace(PLAIN, clock_hz=10**9, dram_cycles=50)
    spent = one_by_one(pad, (640, 96), schedule("stt"), assumed)
    # 20 reads of 3 cycles, 3 writes of 10, 30 transactions of the DRAM, at 1 ns.
    assert spent.time_s == pytest.approx(90e-9)
    assert spent.dram_s == pytest.approx(1500e-9)
    assert spent.spm_read_j == pytest.approx(20 * 0.81e-9)
    assert spent.spm_write_j == pytest.approx(3 * 0.31e-9)
    assert spent.leakage_j == pytest.approx(0.748 * 90e-9)
    assert (spent.dram_j, spent.mac_j) == (schedule("stt").dram_j, schedule("stt").mac_j)


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
    base, rival = serial("sram"), serial(role, size * MB)
    moved = [each.spm_read_j + each.spm_write_j for each in (base, rival)]
    assert base.spm_read_j / moved[0] == pytest.approx(0.83, abs=0.005)
    assert moved[1] / moved[0] == pytest.approx(dynamic, rel=0.04)
    assert base.leakage_j / rival.leakage_j == pytest.approx(leakage, rel=0.04)
    sums = [part + each.leakage_j for part, each in zip(moved, (base, rival), strict=True)]
    assert sums[0] / sums[1] == pytest.approx(energy, rel=0.04)
