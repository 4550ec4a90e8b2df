"""Machines that name the technology of their scratchpad."""

from dataclasses import replace
from pathlib import Path

import pytest

from spmopt.core.errors import InputError
from spmopt.core.machine import Machine
from spmopt.hardware.machines import load_machine, override
from spmopt.hardware.scratchpad import with_technology
from spmopt.hardware.settings import Setting, from_settings, to_settings
from spmopt.hardware.technologies import load_technology

FILE = """
spm = "3MB"
bandwidth = "100GB/s"
throughput = "1TFLOP/s"
clock = "1GHz"
technology = "{}"
"""
OWN = """cell = "SRAM"
source = "me"
access = "64B"
between = "nothing"
[[point]]
capacity = "3MB"
read_latency = "1ns"
write_latency = "2ns"
read_energy = "64pJ"
write_energy = "128pJ"
leakage = "1W"
area = "3mm2"
"""


def gpu(**settings: Setting) -> Machine:
    return load_machine("gtx1080ti", {"spm": "3MB", **settings})


def test_a_setting_names_it() -> None:
    machine = gpu(technology="deepnvm-stt", banks="100")
    assert machine == with_technology(gpu(), load_technology("deepnvm-stt"), banks=100)
    assert machine.memory is not None
    assert (machine.memory.area_mm2, machine.memory.banks) == (2.34, 100)
    assert machine.dram_bytes_per_s < machine.memory.dram_bytes_per_s == 484 * 10**9


@pytest.mark.parametrize("banks", [{}, {"banks": 7}])
def test_settings_are_lossless(banks: dict[str, Setting]) -> None:
    machine = gpu(technology="deepnvm-stt", **banks)
    assert from_settings(to_settings(machine), "x") == machine


def test_figures_are_of_the_final_capacity() -> None:
    machine = load_machine("gtx1080ti", {"technology": "nvsim-stt", "spm": "1MiB", "banks": 9})
    larger = override(machine, {"spm": "32MiB"})
    assert larger == load_machine(
        "gtx1080ti", {"technology": "nvsim-stt", "spm": "32MiB", "banks": 9}
    )
    assert larger.energy.leakage_w > 2 * machine.energy.leakage_w
    wider = override(machine, {"bandwidth": "1GB/s"})
    assert wider.dram_bytes_per_s == 10**9
    assert override(wider, {"bandwidth": "484GB/s"}) == machine


def test_a_file_names_it_by_name_or_by_a_path_from_itself(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(OWN)
    for name in ("nvsim-sram", "own.toml"):
        (tmp_path / "machine.toml").write_text(FILE.format(name))
        machine = load_machine(str(tmp_path / "machine.toml"))
        assert machine.memory is not None
        assert machine.memory.technology.endswith(name)
        assert override(machine, {"clock": "2GHz"}).memory == machine.memory
    own = load_machine(str(tmp_path / "machine.toml"))
    assert own.memory is not None
    assert (own.energy.spm_write_pj_per_byte, own.memory.area_mm2) == (2, 3)
    replaced = override(own, {"technology": "deepnvm-sot"})
    assert replaced.memory is not None
    assert replaced.memory.area_mm2 == 1.95


def test_another_size_needs_its_own_figures() -> None:
    machine = gpu(technology="deepnvm-stt")
    with pytest.raises(InputError, match="but the figures of its technology deepnvm-stt are of"):
        replace(machine, spm_bytes=7_000_000)


WRONG: list[tuple[dict[str, Setting], str]] = [
    ({"technology": "deepnvm-stt", "spm": "4MB"}, "deepnvm-stt: has no figures for 4 MB, only for"),
    ({"technology": "deepnvm-stn"}, "no technology called 'deepnvm-stn'; did you mean deepnvm-st"),
    ({"technology": "none.toml"}, r"technology none.toml: cannot be read \(No such file"),
    ({"technology": 3}, "machine option: technology = 3: must be a text in quotes"),
    ({"technology": "deepnvm-stt", "banks": 0}, "banks must be at least 1, is 0"),
    ({"technology": "deepnvm-stt", "banks": "x"}, "banks = 'x': must be a whole number"),
    ({"banks": 2}, "banks = 2: of which technology"),
    (
        {"technology": "deepnvm-stt", "energy.leakage_w": 1},
        "energy.leakage_w: technology deepnvm-stt says it; leave one out",
    ),
]


@pytest.mark.parametrize(("settings", "complaint"), WRONG)
def test_errors_are_one_line(settings: dict[str, Setting], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint) as caught:
        gpu(**settings)
    assert "\n" not in str(caught.value)


def test_a_file_gives_a_figure_or_a_technology(tmp_path: Path) -> None:
    path = tmp_path / "machine.toml"
    path.write_text(FILE.format("nvsim-stt") + "[energy]\nspm_read_pj_per_byte = 2\n")
    with pytest.raises(InputError, match=r"machine\.toml: energy\.spm_read.*nvsim-stt says it"):
        load_machine(str(path))
