"""A machine with a technology: which fields change, by how much."""

from dataclasses import replace

import pytest

from spmopt.core.machine import Machine, SpmTechnology
from spmopt.hardware.machines import load_machine, override
from spmopt.hardware.scratchpad import with_technology
from spmopt.hardware.technologies import load_technology
from spmopt.tiles.partition import scale

STT = load_technology("deepnvm-stt")


def gpu() -> Machine:
    return load_machine("gtx1080ti", {"spm": "3MB"})


def test_only_the_scratchpad_changes() -> None:
    machine = gpu()
    changed = with_technology(machine, STT)
    assert changed.energy == replace(
        machine.energy,
        spm_read_pj_per_byte=25.3125,
        spm_write_pj_per_byte=9.6875,
        leakage_w=0.748,
    )
    assert changed.memory == SpmTechnology(
        technology="deepnvm-stt",
        source="DeepNVM++, table II, 16 nm",
        basis="published",
        spm_bytes=3_000_000,
        area_mm2=2.34,
        dram_bytes_per_s=machine.dram_bytes_per_s,
    )
    assert replace(changed, energy=machine.energy, memory=None) == machine


def test_the_latest_technology_counts() -> None:
    machine = gpu()
    sram = load_technology("deepnvm-sram")
    twice = with_technology(with_technology(machine, STT, banks=1), sram)
    assert twice == with_technology(machine, sram)


@pytest.mark.parametrize(
    ("banks", "rate"),
    [
        (None, 484 * 10**9),
        (1, 3_437_164_339),  # 32 bytes in 9.31 ns
        (100, 343_716_433_941),
        (141, 484 * 10**9),  # 484 / 3.437 = 140.8
    ],
)
def test_banks_that_write_slowly_hold_the_channel(banks: int | None, rate: int) -> None:
    changed = with_technology(gpu(), STT, banks=banks)
    assert changed.dram_bytes_per_s == rate
    assert changed.memory is not None
    # 32 bytes in 2.98 ns.
    rates = None if banks is None else tuple(int(banks * (32 / ns * 1e9)) for ns in (2.98, 9.31))
    assert changed.memory.rates == rates


def test_reads_hold_it_where_they_are_slower() -> None:
    # SOT: 32 bytes in 3.71 ns to read, in 1.38 ns to write.
    changed = with_technology(gpu(), load_technology("deepnvm-sot"), banks=10)
    assert changed.dram_bytes_per_s == 86_253_369_272


def test_cores_have_a_scratchpad_each() -> None:
    core = with_technology(gpu(), STT, banks=100)
    four = scale(core, 4)
    assert four.memory == SpmTechnology(
        technology="deepnvm-stt",
        source="DeepNVM++, table II, 16 nm",
        basis="published",
        spm_bytes=12_000_000,
        area_mm2=4 * 2.34,
        dram_bytes_per_s=4 * 484 * 10**9,
        banks=400,
        read_bytes_per_s=4 * int(100 * (32 / 2.98 * 1e9)),
        write_bytes_per_s=4 * 343_716_433_941,
    )
    assert four.dram_bytes_per_s == four.memory.write_bytes_per_s


def test_units_follow_the_array_and_the_rate() -> None:
    assert gpu().mac_units == 3584  # CUDA cores
    npu = load_machine("large-npu")
    assert npu.mac_units == 128 * 128
    assert scale(npu, 4).mac_units == 4 * 128 * 128
    assert override(npu, {"array.rows": 256}).mac_units == 256 * 128
    assert override(npu, {"array.rows": 64}).mac_units == 64 * 128
    faster = replace(npu, operations_per_s=2 * npu.operations_per_s)
    assert faster.mac_units == 2 * 128 * 128
    assert override(gpu(), {"throughput": 1}).mac_units == 1
