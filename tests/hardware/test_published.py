"""Table II of DeepNVM++, at its points and nowhere else."""

from dataclasses import astuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spmopt.core.errors import InputError
from spmopt.hardware.technologies import load_technology
from spmopt.hardware.technology import Basis

# Technology, MB: read, write latency (ns), read, write energy (nJ), leakage (mW), area (mm2).
TABLE_II = {
    ("deepnvm-sram", 3): ("2.91", "1.53", "0.35", "0.32", "6442", "5.53"),
    ("deepnvm-stt", 3): ("2.98", "9.31", "0.81", "0.31", "748", "2.34"),
    ("deepnvm-stt", 7): ("4.58", "10.06", "0.93", "0.43", "1706", "5.12"),
    ("deepnvm-sot", 3): ("3.71", "1.38", "0.49", "0.22", "527", "1.95"),
    ("deepnvm-sot", 10): ("6.69", "2.47", "0.51", "0.40", "1434", "5.64"),
}
NAMES = sorted({name for name, _ in TABLE_II})
SIZES = {name: {size * 10**6 for other, size in TABLE_II if other == name} for name in NAMES}


@pytest.mark.parametrize("key", TABLE_II, ids=str)
def test_table_ii_is_reproduced_exactly(key: tuple[str, int]) -> None:
    name, megabytes = key
    pad = load_technology(name).at(megabytes * 10**6)
    read, write, read_nj, write_nj, leakage, area = map(float, TABLE_II[key])
    picojoules = (float(f"{1000 * read_nj:.0f}"), float(f"{1000 * write_nj:.0f}"))
    assert astuple(pad.point) == (megabytes * 10**6, read, write, *picojoules, leakage, area, "")
    assert pad.basis is Basis.PUBLISHED


@pytest.mark.parametrize("name", NAMES)
def test_there_are_no_other_points(name: str) -> None:
    assert set(load_technology(name).capacities_bytes) == SIZES[name]


@given(st.sampled_from(NAMES), st.integers(1, 2**40))
def test_nothing_is_made_up_between_them(name: str, capacity_bytes: int) -> None:
    if capacity_bytes in SIZES[name]:
        return
    with pytest.raises(InputError, match=r"no figures for .* none are made up") as caught:
        load_technology(name).at(capacity_bytes)
    assert "\n" not in str(caught.value)
    assert "3 MB" in str(caught.value)


def test_a_mebibyte_is_not_a_megabyte() -> None:
    with pytest.raises(InputError, match=r"no figures for 3\.145728 MB, only for 3 MB, 7 MB"):
        load_technology("deepnvm-stt").at(3 * 2**20)


def test_dynamic_energy_of_the_paper_follows() -> None:
    # Section IV-A: 83 % of SRAM's dynamic energy is of reads; STT takes 2.1 times, SOT 1.3 times.
    base = load_technology("deepnvm-sram").at(3 * 10**6)
    ratios = {}
    for name in ("deepnvm-stt", "deepnvm-sot"):
        pad = load_technology(name).at(3 * 10**6)
        reads = 0.83 * pad.read_pj_per_byte / base.read_pj_per_byte
        ratios[name] = reads + 0.17 * pad.write_pj_per_byte / base.write_pj_per_byte
    assert {name: round(ratio, 1) for name, ratio in ratios.items()} == {
        "deepnvm-stt": 2.1,
        "deepnvm-sot": 1.3,
    }


def test_bytes_and_banks_follow_from_the_width_of_an_access() -> None:
    pad = load_technology("deepnvm-stt").at(3 * 10**6)
    assert pad.access_bytes == 32
    assert (pad.read_pj_per_byte, pad.write_pj_per_byte) == (810 / 32, 310 / 32)
    assert pad.leakage_w == 0.748
    assert pad.read_bytes_per_s == pytest.approx(32 / 2.98e-9)
    assert pad.write_bytes_per_s == pytest.approx(32 / 9.31e-9)
