"""Machines whose settings name the banks of their scratchpad."""

from dataclasses import replace
from pathlib import Path

import pytest

from spmopt.core.errors import InputError
from spmopt.core.machine import Bank, Machine
from spmopt.hardware.machines import load_machine, override
from spmopt.hardware.scratchpad import BankOf, with_banks
from spmopt.hardware.settings import Setting, from_settings, to_settings
from spmopt.hardware.technologies import load_technology
from tests.hardware.test_machine_technology import OWN

FILE = """
bandwidth = "100GB/s"
throughput = "1TFLOP/s"
clock = "1GHz"
"""
TWO = 'bank = ["1MB:nvsim-sram", "4MB:nvsim-stt:64"]\n'


def two(base: Machine) -> Machine:
    """What ``TWO`` says."""
    sram, stt = load_technology("nvsim-sram"), load_technology("nvsim-stt")
    wanted = [
        BankOf(spm_bytes=10**6, technology=sram),
        BankOf(spm_bytes=4 * 10**6, technology=stt, ports=64),
    ]
    return with_banks(base, wanted)


def read(tmp_path: Path, text: str, **overrides: Setting) -> Machine:
    path = tmp_path / "m.toml"
    path.write_text(text)
    return load_machine(str(path), overrides)


def test_a_file_names_banks(tmp_path: Path) -> None:
    machine = read(tmp_path, TWO + FILE)
    plain = read(tmp_path, 'spm = "1MB"\n' + FILE)
    assert machine == two(plain)
    assert machine.spm_bytes == 5_000_000
    assert read(tmp_path, 'bank = "1MB:nvsim-sram, 4MB:nvsim-stt:64"\n' + FILE) == machine


@pytest.mark.parametrize("ports", ["", ":1", ":7", ":64", ":123457"])
def test_settings_are_lossless(ports: str) -> None:
    text = f"1000kB:nvsim-sram{ports},3MB:deepnvm-stt,2500001:nvsim-sot{ports}"
    machine = load_machine("gtx1080ti", {"bank": text})
    settings = to_settings(machine)
    assert settings["bank"] == (
        f"1000000:nvsim-sram{ports},3000000:deepnvm-stt,2500001:nvsim-sot{ports}"
    )
    assert "spm" not in settings
    assert from_settings(settings, "x") == machine


def test_leakage_beside_banks_is_of_all_else(tmp_path: Path) -> None:
    machine = read(tmp_path, TWO + FILE + "[energy]\nleakage_w = 2.0\n")
    plain = read(tmp_path, TWO + FILE)
    assert machine.leakage_w == pytest.approx(plain.leakage_w + 2)
    assert from_settings(to_settings(machine), "x") == machine
    another = override(machine, {"bank": "1MB:nvsim-sram"})
    assert another.leakage_w == pytest.approx(2 + another.banks[0].leakage_w)
    alone = load_machine("gtx1080ti", {"energy.leakage_w": 2.0})
    assert override(alone, {"bank": "1MB:nvsim-sram"}).energy.leakage_w == 0


def test_banks_take_the_place_of_a_technology() -> None:
    base = load_machine("gtx1080ti")
    named = override(base, {"technology": "nvsim-stt", "banks": 4})
    assert override(named, {"bank": "1MB:nvsim-sram,4MB:nvsim-stt:64"}) == two(base)


def test_a_technology_is_a_path_from_the_file(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(OWN)
    machine = read(tmp_path, 'bank = ["1MB:nvsim-sram", "3MB:own.toml:2"]\n' + FILE)
    assert machine.banks[1].technology == str(tmp_path / "own.toml")
    assert machine.banks[1].write_bytes_per_s == 2 * 64 * 10**9 // 2
    assert from_settings(to_settings(machine), "x") == machine


def test_other_settings_keep_banks_with_figures_of_their_own() -> None:
    bank = Bank(spm_bytes=2_816 * 1024, read_pj_per_byte=3.0)
    base = two(load_machine("gtx1080ti"))
    machine = replace(base, spm_bytes=bank.spm_bytes, banks=(bank,))
    assert override(machine, {"clock": "1GHz"}).banks == (bank,)
    for one in (bank, replace(bank, technology="nvsim-sram")):
        with pytest.raises(InputError, match="has figures of its own, which no setting says"):
            to_settings(replace(machine, banks=(one,)))


WRONG = [
    ('bank = ["1MB"]\n', r"m\.toml: bank '1MB': write SIZE:TECHNOLOGY"),
    ("bank = []\n", "write SIZE:TECHNOLOGY"),
    ("bank = [1, 2]\n", "bank: must be a list of texts"),
    ('bank = ["1MB:nvsim-sran"]\n', "did you mean nvsim-sram"),
    ('bank = ["1MB:nvsim-sram:x"]\n', "'x' is not a whole number of ports"),
    ('bank = ["4000000:nvsim-sram"]\n', "bank '4000000:nvsim-sram': 4000000 has no unit; write"),
    ('bank = ["50B:nvsim-sram"]\n', "smaller than one page"),
    ('bank = ["1MB:nvsim-sram", ""]\n', "bank '': write SIZE:TECHNOLOGY"),
    (TWO + 'spm = "1MB"\n', "spm: banks make up the scratchpad; leave one of them out"),
    (TWO + 'technology = "nvsim-stt"\n', "technology: banks make up the scratchpad"),
    (TWO + "banks = 3\n", "banks: banks make up the scratchpad"),
    (TWO + "energy.spm_read_pj_per_byte = 1\n", "energy.spm_read_pj_per_byte: the banks say it"),
]


@pytest.mark.parametrize(("text", "complaint"), WRONG)
def test_errors_are_one_line(text: str, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=complaint) as caught:
        read(tmp_path, text + FILE)
    assert "\n" not in str(caught.value)


def test_a_size_beside_banks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="banks make up the scratchpad; give --bank instead"):
        read(tmp_path, TWO + FILE, spm="2MB")
    with pytest.raises(InputError, match="spm: banks make up the scratchpad"):
        load_machine("gtx1080ti", {"bank": "1MB:nvsim-sram", "spm": "2MB"})
