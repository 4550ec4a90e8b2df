"""Machines whose scratchpad has banks of technologies."""

from dataclasses import replace

import pytest

from spmopt.core.errors import InputError
from spmopt.core.machine import Energy
from spmopt.core.objective import energy_objective
from spmopt.hardware.energy import area_report
from spmopt.hardware.machines import load_machine, override
from spmopt.hardware.scratchpad import BankOf, with_banks, with_technology
from spmopt.hardware.technologies import load_technology

SRAM, STT = load_technology("nvsim-sram"), load_technology("deepnvm-stt")
TWO = [BankOf(spm_bytes=2 * 10**6, technology=SRAM), BankOf(spm_bytes=3 * 10**6, technology=STT)]


def test_each_bank_has_the_figures_of_its_own_size() -> None:
    base = load_machine("gtx1080ti")
    machine = with_banks(base, TWO)
    pad = SRAM.at(2 * 10**6)
    assert [bank.spm_bytes for bank in machine.banks] == [2 * 10**6, 3 * 10**6]
    assert machine.banks[0].read_pj_per_byte == pad.read_pj_per_byte
    assert machine.banks[1].write_pj_per_byte == 9.6875
    assert machine.leakage_w == pytest.approx(pad.leakage_w + 0.748)
    assert machine.energy == replace(
        base.energy, spm_read_pj_per_byte=0.0, spm_write_pj_per_byte=0.0, leakage_w=0.0
    )
    assert not any(bank.has_rates for bank in machine.banks)
    weights = energy_objective(machine)
    assert float(weights.cycle) == pytest.approx(machine.leakage_w / machine.clock_hz)
    assert machine.banks[1].technology == "deepnvm-stt"
    assert machine.banks[1].source == "DeepNVM++, table II, 16 nm; published"
    assert area_report(machine).spm_mm2 == pytest.approx(pad.point.area_mm2 + 2.34)


def test_what_is_left_of_a_page_is_not_used() -> None:
    machine = with_banks(load_machine("gtx1080ti"), TWO)
    assert machine.bank_pages == (488, 732)
    assert machine.spm_pages == 1220 == machine.spm_bytes // 4096


def test_ports_are_rates_side_by_side() -> None:
    wanted = BankOf(spm_bytes=3 * 10**6, technology=STT, ports=10)
    (bank,) = with_banks(load_machine("gtx1080ti"), [wanted]).banks
    assert bank.read_bytes_per_s == int(10 * 32 / 2.98e-9)
    assert bank.write_bytes_per_s == int(10 * 32 / 9.31e-9)
    with pytest.raises(InputError, match="ports must be at least 1, is 0"):
        BankOf(spm_bytes=1, technology=STT, ports=0)


def test_banks_take_the_place_of_another_scratchpad() -> None:
    base = load_machine("gtx1080ti", {"spm": "3MB"})
    assert with_banks(with_technology(base, STT, banks=4), TWO) == with_banks(base, TWO)
    assert with_technology(replace(with_banks(base, TWO), spm_bytes=3 * 10**6, banks=()), STT) == (
        with_technology(base, STT)
    )


def test_options_keep_banks() -> None:
    machine = with_banks(load_machine("gtx1080ti"), TWO)
    faster = override(machine, {"bandwidth": "600GB/s"})
    assert faster == replace(machine, dram_bytes_per_s=600 * 10**9)
    with pytest.raises(InputError, match="banks make up the scratchpad; give --bank instead"):
        override(machine, {"spm": "3MB"})


def test_banks_have_energies_of_their_own() -> None:
    machine = with_banks(load_machine("gtx1080ti"), TWO)
    with pytest.raises(InputError, match="its banks have energies to read and write"):
        replace(machine, energy=Energy(spm_read_pj_per_byte=1.0))
    with pytest.raises(InputError, match="9 banks, at most 8"):
        with_banks(machine, [TWO[0]] * 9)
