"""Areas of machines and energy of schedules, each worked out by hand."""

from dataclasses import astuple, replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spmopt.core.machine import Area, Energy, Machine, SystolicArray
from spmopt.core.objective import energy_objective
from spmopt.core.result import Totals
from spmopt.hardware.energy import AreaReport, area_report, energy_report
from spmopt.hardware.machines import load_machine
from spmopt.hardware.scratchpad import with_technology
from spmopt.hardware.technologies import load_technology
from spmopt.metrics import metrics
from spmopt.verifier import verify
from tests.hardware.toys import toy
from tests.verifier.hand_made import two_layers

MACHINE = Machine(
    name="m",
    spm_bytes=3_000_000,
    dram_bytes_per_s=10 * 10**9,
    clock_hz=10**9,
    operations_per_s=8 * 10**9,
    area=Area(engine_mm2=5, mac_mm2=0.25, mm2_per_gbps=0.1),
)
NOTHING = Totals(
    makespan_cycles=0,
    replay_cycles=0,
    dram_in_bytes=0,
    dram_out_bytes=0,
    spm_read_bytes=0,
    spm_write_bytes=0,
    macs=0,
    compute_cycles=0,
    dma_cycles=0,
    peak_spm_bytes=0,
)


def test_area_by_hand() -> None:
    # 8 operations a cycle are 4 units; 10 GB/s.
    assert area_report(MACHINE) == AreaReport(spm_mm2=None, engine_mm2=6, interface_mm2=1)
    assert area_report(MACHINE).total_mm2 is None
    machine = with_technology(MACHINE, load_technology("deepnvm-sot"))
    assert area_report(machine).total_mm2 == pytest.approx(1.95 + 6 + 1)
    array = replace(machine, array=SystolicArray(rows=8, columns=4))
    assert area_report(array).engine_mm2 == 5 + 32 * 0.25


def test_the_interface_is_that_of_the_dram_whatever_the_banks() -> None:
    slow = with_technology(MACHINE, load_technology("deepnvm-stt"), banks=1)
    assert slow.dram_bytes_per_s < MACHINE.dram_bytes_per_s
    assert area_report(slow).interface_mm2 == area_report(MACHINE).interface_mm2


def test_energy_of_two_layers_by_hand() -> None:
    case = two_layers()
    spent = Energy(dram_pj_per_byte=100, mac_pj=4)
    area = Area(engine_mm2=2, mm2_per_gbps=10**9)
    base = replace(case.problem.machine, energy=spent, area=area)
    machine = with_technology(base, toy(base.spm_bytes))
    totals = verify(replace(case.problem, machine=machine), case.schedule).totals
    assert totals is not None
    report = energy_report(totals, machine)
    # 16 bytes in, 8 out; the mappings read 6 and write 10 bytes and do 4 MACs; 15 cycles of 1 s.
    pico = 1e-12
    assert report.dram_j == pytest.approx(24 * 100 * pico)
    assert report.spm_read_j == pytest.approx((6 + 8) * 1.5 * pico)
    assert report.spm_write_j == pytest.approx((10 + 16) * 3 * pico)
    assert report.mac_j == pytest.approx(4 * 4 * pico)
    assert report.leakage_j == 15 * 0.25
    assert report.energy_j == float(Fraction(2515, 10**12) + Fraction(15, 4))
    assert (report.time_s, report.power_w) == (15, report.energy_j / 15)
    # SPM 1, engine 2, and 2 bytes a second of DRAM.
    assert astuple(report.area) == (1, 2, 2)
    assert report.edp_js == report.energy_j * 15
    assert report.edap_js_mm2 == report.edp_js * 5
    assert metrics(machine, totals).energy == report


def test_a_schedule_that_takes_no_time_has_no_power() -> None:
    report = energy_report(NOTHING, MACHINE)
    assert (report.power_w, report.edp_js, report.edap_js_mm2) == (0, 0, None)


COUNTS = st.integers(0, 2**50)
PJ = st.floats(0, 1e4, allow_subnormal=False)


@given(st.tuples(*[COUNTS] * 6), st.tuples(*[PJ] * 5))
def test_the_parts_are_the_objective(counts: tuple[int, ...], figures: tuple[float, ...]) -> None:
    names = (
        *("makespan_cycles", "dram_in_bytes", "dram_out_bytes"),
        *("spm_read_bytes", "spm_write_bytes", "macs"),
    )
    counted: dict[str, Any] = dict(zip(names, counts, strict=True))
    totals = replace(NOTHING, **counted, bank_read_bytes=(), bank_write_bytes=())
    dram, read, write, mac, leakage = figures
    energy = Energy(
        dram_pj_per_byte=dram,
        spm_read_pj_per_byte=read,
        spm_write_pj_per_byte=write,
        mac_pj=mac,
        leakage_w=leakage,
    )
    machine = replace(MACHINE, energy=energy)
    report = energy_report(totals, machine)
    parts = (
        report.dram_j,
        report.spm_read_j,
        report.spm_write_j,
        report.mac_j,
        report.leakage_j,
    )
    assert min(parts) >= 0
    assert sum(parts) == pytest.approx(float(totals.value(energy_objective(machine))), rel=1e-12)
    assert sum(parts) == pytest.approx(report.energy_j, rel=1e-12)


def test_a_published_ratio_follows() -> None:
    # DeepNVM++, section IV: leakage of SRAM at 3 MB over that of STT, of SOT, in the same time.
    totals = replace(NOTHING, makespan_cycles=10**9)
    leaks = [
        energy_report(totals, with_technology(MACHINE, load_technology(f"deepnvm-{cell}")))
        for cell in ("sram", "stt", "sot")
    ]
    assert [report.leakage_j for report in leaks] == [6.442, 0.748, 0.527]
    default = load_machine("gtx1080ti")
    assert energy_report(totals, default).leakage_j == 0
