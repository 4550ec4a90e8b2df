import re
from dataclasses import fields, replace
from pathlib import Path

import pytest

from spmopt import machine
from spmopt.core.errors import InputError
from spmopt.core.machine import (
    AREA_FIGURES,
    ENERGY_FIGURES,
    Area,
    Blocks,
    Energy,
    SystolicArray,
    VectorUnit,
)
from spmopt.hardware.machines import RateError, load_machine, names, override
from spmopt.hardware.settings import COMPRESSION, UNTYPED, Setting, from_settings, to_settings

# name: SPM bytes, DRAM bytes/s, operations/s (Tsai, table 5.2; Kim et al., table 3; their files).
PUBLISHED = {
    "ethos-u65": (384 * 1024, 3750 * 10**6, 1024 * 10**9),
    "gap9": (1_600_000, 400 * 10**6, 15_600 * 10**6),
    "tpuv4i": (128 * 2**20, 614 * 10**9, 4 * 128 * 128 * 2 * 1050 * 10**6),
    "a100": (40_000_000, 1555 * 10**9, 19_450 * 10**9),
    "gtx1080ti": (2816 * 1024, 484 * 10**9, 11_340 * 10**9),
    "i9-10980xe": (24_750_000, 94 * 10**9, 2765 * 10**9),
    "large-npu": (8_000_000, 150 * 10**9, 2 * 128 * 128 * 1_050_000_000),
    "rtx2080ti": (5_500_000, 616 * 10**9, 13_450 * 10**9),
    "rx6900xt": (128_000_000, 512 * 10**9, 23_040 * 10**9),
    "small-npu": (1_000_000, 22 * 10**9, 2 * 45 * 45 * 10**9),
}


def test_presets_are_the_published_machines() -> None:
    found = {name: load_machine(name) for name in names()}
    assert {
        name: (m.spm_bytes, m.dram_bytes_per_s, m.operations_per_s) for name, m in found.items()
    } == PUBLISHED
    assert all(m.name == name and m.source for name, m in found.items())


def test_types_of_embedded_machines() -> None:
    assert load_machine("ethos-u65").rate("int16") == 512 * 10**9
    assert load_machine("gap9").rate("uint8") == 2 * 32_200 * 10**6


def test_arrays_of_the_npus() -> None:
    assert load_machine("small-npu").array == SystolicArray(rows=45, columns=45)
    assert load_machine("large-npu").array == SystolicArray(rows=128, columns=128)
    assert load_machine("a100").array is None


def test_default_energy_follows_its_sources() -> None:
    energy = load_machine("rtx2080ti").energy
    mac, word = 3.7 + 0.9, 4
    assert energy.mac_pj == pytest.approx(mac)
    assert energy.dram_pj_per_byte == pytest.approx(200 * mac / word)
    assert energy.spm_read_pj_per_byte == energy.spm_write_pj_per_byte
    assert energy.spm_read_pj_per_byte == pytest.approx(6 * mac / word)
    assert energy.leakage_w == 0


OVERRIDES: dict[str, tuple[Setting, str, object]] = {
    "name": ("mine", "name", "mine"),
    "spm": ("24MB", "spm_bytes", 24_000_000),
    "bandwidth": ("1GB/s", "dram_bytes_per_s", 10**9),
    "throughput": ("1TFLOP/s", "operations_per_s", 10**12),
    "clock": ("1GHz", "clock_hz", 10**9),
    "page": ("64KiB", "page_bytes", 65536),
    "dma_setup": ("200", "dma_setup_cycles", 200),
    "duplex": ("true", "duplex", True),
    "source": ("me", "source", "me"),
}


@pytest.mark.parametrize("key", OVERRIDES)
def test_override_changes_one_field_only(key: str) -> None:
    machine = load_machine("rtx2080ti")
    value, field, expected = OVERRIDES[key]
    changed = override(machine, {key: value})
    assert getattr(changed, field) == expected
    assert changed != machine
    assert from_settings(to_settings(changed) | {key: to_settings(machine)[key]}, "x") == machine


def test_every_key_can_be_overridden() -> None:
    nested: dict[str, Setting] = {
        **{f"energy.{name}": "2.5" for name in ENERGY_FIGURES},
        **{f"area.{name}": 1.5 for name in AREA_FIGURES},
        "energy.source": "me",
        "area.source": "you",
    }
    array: dict[str, Setting] = {"array.rows": "8", "array.columns": 4, "array.dataflow": "ws"}
    others = {"array.reuse", "array.pipelined", "technology", "banks", "bank", "bypass"}
    vector: dict[str, Setting] = {"vector.rate": "1GOP/s", "vector.special": "2"}
    others |= {"vector.lanes", "vector.inline", *(f"blocks.{each.name}" for each in fields(Blocks))}
    others |= {*COMPRESSION}
    assert {*OVERRIDES, *nested, *array, *vector, *others} == set(UNTYPED)
    machine = load_machine("a100", {**nested, **array, **vector})
    assert machine.vector == VectorUnit(rate=10**9, special=2)
    assert machine.energy == Energy(**dict.fromkeys(ENERGY_FIGURES, 2.5), source="me")
    assert machine.area == Area(**dict.fromkeys(AREA_FIGURES, 1.5), source="you")
    assert machine.array == SystolicArray(rows=8, columns=4, dataflow="ws")


def test_sources_say_which_figures_were_set() -> None:
    machine = load_machine("a100", {"energy.mac_pj": 1})
    default = load_machine("a100").energy
    assert machine.energy.source == f"{default.source}; as set: energy.mac_pj"
    again = override(machine, {"energy.dram_pj_per_byte": 2, "energy.mac_pj": 3, "area.mac_mm2": 4})
    assert again.energy.source.endswith("; as set: energy.mac_pj, energy.dram_pj_per_byte")
    assert again.area.source.endswith("; as set: area.mac_mm2")
    assert override(again, {"energy.mac_pj": 1, "energy.source": "me"}).energy.source == "me"


def test_default_area_follows_its_source() -> None:
    area = load_machine("rtx2080ti").area
    assert area.mac_mm2 == pytest.approx((7700 + 4184) * 1e-6)
    assert (area.engine_mm2, area.mm2_per_gbps) == (0, 0)
    assert area.source


@pytest.mark.parametrize("name", PUBLISHED)
def test_settings_are_lossless(name: str) -> None:
    machine = load_machine(name)
    assert from_settings(to_settings(machine), name) == machine


def test_user_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('spm = "1MiB"\nbandwidth = "1GB/s"\nthroughput = "1kFLOP/s"\nclock = "1MHz"\n')
    machine = load_machine(str(path), {"page": "64KiB"})
    assert (machine.name, machine.spm_pages, machine.operations_per_s) == ("mine", 16, 1000)
    default = load_machine("a100")
    assert replace(machine, energy=default.energy, area=default.area) == machine


RATES = "bandwidth = '1B/s'\nthroughput = '1FLOP/s'\nclock = '1Hz'\n"
FILES = {
    "": "spm is missing",
    "spm = ": "not TOML",
    "spm = 1.5": "spm '1.5': has no unit; write for example 24MB",
    "spm = 524288": "spm '524288': has no unit; write for example 24MB",
    "bandwidth = 616": "bandwidth '616': has no unit; write for example 616GB/s",
    "throughput = 1e3": "throughput '1000.0': has no unit; write for example 13.45TFLOP/s",
    "clock = 1545": "clock '1545': has no unit; write for example 1545MHz",
    "page = 4096": "page '4096': has no unit; write for example",
    "spm = true": "must be a whole number, or a quantity",
    "spm = [1]": "spm: must be a text or a number",
    "smp = '1MB'": "did you mean spm",
    "spm = '4KiB'\n" + RATES + "[array]\nrows = 1": "array.columns is",
    "spm = '4KiB'\n" + RATES + "duplex = 'on'": "true or false",
    "spm = '4KiB'\n" + RATES + "dma_setup = -1": "0 or more",
    "spm = '4KiB'\n" + RATES + "[energy]\nmac_pj = inf": "0 or more",
    "spm = '4KiB'\n" + RATES + "source = 3": "a text in quotes",
    "spm = '40B'\n" + RATES: "smaller than one page",
}


@pytest.mark.parametrize("text", FILES)
def test_bad_files_get_one_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=FILES[text]) as caught:
        load_machine(str(path))
    assert "\n" not in str(caught.value)


def test_unknown_names() -> None:
    with pytest.raises(InputError, match="did you mean rtx2080ti"):
        load_machine("rtx2080")
    with pytest.raises(InputError, match="choose one of a100, ethos-u65"):
        load_machine("abacus")
    with pytest.raises(InputError, match=r"none.toml: cannot be read \(No such file"):
        load_machine("none.toml")


@pytest.mark.parametrize(
    ("given", "rate"),
    [
        ({"array.rows": 16}, 2 * 16 * 45 * 10**9),
        ({"array.rows": "16", "array.columns": "32"}, 2 * 16 * 32 * 10**9),
        ({"clock": "500MHz"}, 2 * 45 * 45 * 500 * 10**6),
        ({"clock": "500MHz", "array.columns": 90}, 2 * 45 * 90 * 500 * 10**6),
        ({"array.dataflow": "ws", "spm": "2MB"}, 4_050 * 10**9),
        ({"array.rows": 16, "throughput": "1.44TFLOP/s"}, 1_440 * 10**9),
    ],
)
def test_the_rate_of_an_array_follows_it(given: dict[str, Setting], rate: int) -> None:
    machine = load_machine("small-npu", given)
    assert machine.operations_per_s == rate
    assert override(load_machine("small-npu"), given) == machine


def test_a_rounded_rate_stays_until_array_or_clock_are_others() -> None:
    base = load_machine("small-npu")
    rounded = replace(base, operations_per_s=4_049_999 * 10**6)
    assert override(rounded, {"array.rows": 45, "spm": "2MB"}).operations_per_s == 4_049_999 * 10**6
    assert override(rounded, {"array.rows": 90}).operations_per_s == 2 * 90 * 45 * 10**9
    gpu = load_machine("rtx2080ti", {"array.rows": 8, "array.columns": 8})
    assert gpu.operations_per_s == 2 * 8 * 8 * gpu.clock_hz


@pytest.mark.parametrize(
    ("side", "mhz", "rate", "follows"),
    [
        (32, 700, 1_430 * 10**9, True),  # for 1.4336
        (32, 700, 1_434 * 10**9, True),
        (32, 700, 1_440 * 10**9, False),
        (32, 700, 1_400 * 10**9, True),
        (32, 700, 1_000 * 10**9, False),  # one digit is too few to tell
        (256, 700, 92 * 10**12, True),  # for 91.75
        (256, 700, 91 * 10**12, False),
    ],
)
def test_a_rounded_rate_follows_the_array(side: int, mhz: int, rate: int, follows: bool) -> None:
    array = SystolicArray(rows=side, columns=side)
    clock = mhz * 10**6
    base = load_machine("small-npu")
    base = replace(base, array=array, clock_hz=clock, operations_per_s=rate)
    assert base.has_rate_of_array == follows
    assert override(base, {"array.rows": 8}).operations_per_s == 2 * 8 * side * clock
    if follows:
        assert override(base, {"throughput": rate}) == base
    else:
        with pytest.raises(RateError, match=f"the array of {side} x {side} does"):
            override(base, {"throughput": rate})


def test_defaults_that_the_readme_names() -> None:
    text = (Path(__file__).parents[2] / "spmopt" / "hardware" / "README.md").read_text(
        encoding="utf-8"
    )
    named = re.findall(
        r"^\| (`(?:energy|area)\..*?) \| ([\d.]+) (?:pJ|W|mm2) \|", text, re.MULTILINE
    )
    given = {key: float(value) for keys, value in named for key in re.findall(r"`(.*?)`", keys)}
    own = to_settings(load_machine("rtx2080ti"))
    figures = {key: value for key, value in own.items() if key.startswith(("energy.", "area."))}
    assert given == {key: value for key, value in figures.items() if not key.endswith("source")}


def test_a_wrong_dataflow_is_said_with_its_file(tmp_path: Path) -> None:
    path = tmp_path / "npu.toml"
    path.write_text(
        'spm = "4MiB"\nbandwidth = "68GB/s"\nclock = "1GHz"\npage = "4KiB"\n'
        'array = { rows = 8, columns = 8, dataflow = "xx" }\n'
    )
    said = f"machine {path}: systolic array: dataflow 'xx' is none of 'os', 'ws', 'is'"
    with pytest.raises(InputError, match=re.escape(said)):
        load_machine(str(path))


def test_reuse_of_an_array_is_said_only_where_it_is_on() -> None:
    machine = load_machine("small-npu")
    assert "array.reuse" not in to_settings(machine)
    on = override(machine, {"array.reuse": "true"})
    assert on.array == replace(SystolicArray(rows=45, columns=45), reuse=True)
    assert from_settings(to_settings(on), "again") == on
    assert override(on, {"array.reuse": False}) == machine
    with pytest.raises(InputError, match=r"array.reuse: which bank .* is not modeled"):
        override(on, {"bank": "1MB:nvsim-sram,1MB:nvsim-stt"})


@pytest.mark.parametrize(
    ("size", "page"),
    [
        ("2KiB", 64),
        ("24KiB", 128),
        ("100KiB", 512),
        ("384KiB", 2048),
        ("511KiB", 2048),
        ("512KiB", 4096),
        ("2MiB", 4096),
    ],
)
def test_pages_that_nobody_chose_follow_the_scratchpad(size: str, page: int) -> None:
    for name in ("ethos-u65", "small-npu"):
        assert load_machine(name, {"spm": size}).page_bytes == page
    small = override(load_machine("ethos-u65", {"spm": "4KiB"}), {"spm": size})
    assert small.page_bytes == page


def test_a_page_that_somebody_chose_stays(tmp_path: Path) -> None:
    file = tmp_path / "npu.toml"
    figures = 'bandwidth = "10GB/s"\nclock = "1GHz"\nthroughput = "1TOP/s"\n'
    file.write_text(f'spm = "4MiB"\npage = "4KiB"\n{figures}', encoding="utf-8")
    assert load_machine(str(file), {"spm": "64KiB"}).page_bytes == 4096
    assert load_machine(str(file), {"spm": "64KiB", "page": "1KiB"}).page_bytes == 1024
    chosen = load_machine("small-npu", {"spm": "64KiB", "page": "4KiB"})
    assert chosen.page_bytes == 4096
    assert override(chosen, {"spm": "32KiB"}).page_bytes == 4096
    assert override(chosen, {"clock": "2GHz"}).page_bytes == 4096


def test_pages_of_banks_follow_their_sum() -> None:
    both = ["32KiB:nvsim-sram", "96KiB:nvsim-stt"]
    assert load_machine("small-npu", {"bank": ",".join(both)}).page_bytes == 1024
    assert machine("small-npu", bank=both).page_bytes == 1024
    assert machine("small-npu", bank=both, page="4KiB").page_bytes == 4096
