"""Settings and sizes as people write them, read back where nothing is rounded."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spmopt.core.units import Dimension, parse_quantity
from spmopt.hardware.settings import show_setting
from spmopt.reporting.quantities import show_bandwidth, size


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (16, "16 B"),
        (1024, "1 KiB"),
        (8 * 2**20, "8 MiB"),
        (3 * 2**19, "1.5 MiB"),
        (1100 * 1024, "1100 KiB"),
        (2**30, "1 GiB"),
        (512_000, "512 kB"),
        (5_500_000, "5.5 MB"),
        (24_000_000, "24 MB"),
        (8_388_609, "8.389 MB"),
    ],
)
def test_sizes(value: int, text: str) -> None:
    assert size(value) == text


@settings(deadline=None)
@given(st.integers(1, 9999), st.sampled_from(["B", "kB", "MB", "GB", "KiB", "MiB", "GiB"]))
def test_a_size_that_was_written_is_not_rounded(number: int, unit: str) -> None:
    value = parse_quantity(f"{number}{unit}", Dimension.BYTES, "size")
    assert parse_quantity(size(value), Dimension.BYTES, "size") == value


def test_settings() -> None:
    assert show_setting("bandwidth", 616 * 10**9) == "616 GB/s"
    assert show_setting("clock", 1545 * 10**6) == "1.545 GHz"
    assert show_setting("throughput", 10**13) == "10 TFLOP/s"
    assert show_setting("page", 4096) == "4 KiB"
    assert [show_setting("duplex", each) for each in (True, False)] == ["yes", "no"]
    assert show_setting("technology", "nvsim-sram") == "nvsim-sram"
    assert show_setting("cores", 4) == "4"
    assert show_setting("energy.mac_pj", 0.5) == "0.5"
    assert show_setting("energy.mac_pj", 10**400) == "1.00000e+400"


def test_bandwidth_behind_banks() -> None:
    assert show_bandwidth(616 * 10**9, 616 * 10**9) == "616 GB/s"
    assert show_bandwidth(616 * 10**9, 410 * 10**9) == "616 GB/s, banks 410 GB/s"
