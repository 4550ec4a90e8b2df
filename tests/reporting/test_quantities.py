import re
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spmopt.core.objective import MAKESPAN, TRAFFIC, Objective
from spmopt.metrics import in_unit
from spmopt.reporting.quantities import capacities, percent, shares_text, si, upward, usage
from tests.tiny import plain_machine


@pytest.mark.parametrize(
    ("value", "plain", "filled"),
    [
        (0, "0 B", "0 B"),
        (24_000_000, "24 MB", "24.00 MB"),
        (1, "1 B", "1.000 B"),
        (999_949, "999.9 kB", "999.9 kB"),
        (999_951, "1 MB", "1.000 MB"),
        (0.07884, "78.84 mB", "78.84 mB"),
        (1e-15, "0.001 pB", "0.001000 pB"),
        (2.5e18, "2500 PB", "2500 PB"),
        (-1500, "-1.5 kB", "-1.500 kB"),
    ],
)
def test_si(value: float, plain: str, filled: str) -> None:
    assert si(value, "B") == plain
    assert si(value, "B", fill=True) == filled


@given(st.floats(1e-11, 1e17))
def test_si_is_near_and_short(value: float) -> None:
    found = re.fullmatch(r"([0-9.]+) ([pnµmkMGTP]?)s", si(value, "s"))
    assert found is not None
    number, prefix = found.groups()
    powers = dict(zip("pnµm kMGTP", range(-12, 18, 3), strict=True)) | {"": 0}
    assert float(number) * 10.0 ** powers[prefix] == pytest.approx(value, rel=5.001e-4)
    assert len(number) <= 5


@pytest.mark.parametrize(
    ("part", "plain", "filled"),
    [
        (0, "0 %", "0 %"),
        (0.1337, "+13.4 %", "+13.4 %"),
        (2.5, "+250 %", "+250.0 %"),
        (0.0325, "+3.25 %", "+3.25 %"),
        (0.07, "+7 %", "+7.00 %"),
        (0.3, "+30 %", "+30.0 %"),
        (0.0099, "+0.99 %", "+0.99 %"),
        (0.0001, "+0.01 %", "+0.010 %"),
        (0.000081, "+0.0081 %", "+0.0081 %"),
        (1.1e-7, "+0.000011 %", "< 0.0001 %"),
        (1.1e-6, "+0.00011 %", "+0.00011 %"),
        (1e-12, "< 0.0001 %", "< 0.0001 %"),
        (-0.01, "-1 %", "-1.00 %"),
        (8.99, "+899 %", "+899.0 %"),
        (9, "10 times", "10x"),
        (106.71, "107.7 times", "107.7x"),
        (21641.5, "21,640 times", "21,640x"),
    ],
)
def test_percent(part: float, plain: str, filled: str) -> None:
    assert percent(part) == plain
    assert percent(part, fill=True) == filled


def test_reference_of_a_difference() -> None:
    said = [percent(part, by="over", of="its bound") for part in (0.1337, 106.71)]
    assert said == ["+13.4 % over its bound", "107.7 times its bound"]
    assert percent(0.1337, of="the floor") == "+13.4 %"


def test_shares_are_by_size_without_those_that_show_as_nothing() -> None:
    amounts = {"load": 1, "store": 3, "none": 0, "prefetch": 9996}
    assert shares_text(amounts, 10_000) == "100 % prefetch"
    assert shares_text({"load": 1, "store": 3, "none": 0}, 4) == "75 % store, 25 % load"


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([24_000_000], ["24 MB"]),
        ([393_216], ["384 KiB"]),
        ([1024, 2048], ["1 KiB", "2 KiB"]),
        # Of a grid of sizes one was once shown as 391 KiB, the next one as 869.1 kB.
        ([400_384, 869_130], ["391 KiB", "848.8 KiB"]),
        ([1_000_000, 2_500_000], ["1 MB", "2.5 MB"]),
        ([2_000_000, 2_097_152], ["1.907 MiB", "2 MiB"]),
        ([256, 512], ["256 B", "512 B"]),
    ],
)
def test_capacities_of_a_column_share_a_system(values: list[int], texts: list[str]) -> None:
    assert capacities(values) == texts


def test_the_use_of_a_memory_is_in_the_system_of_its_size() -> None:
    assert usage(1_500_000, 2**21) == "1.431 MiB of 2 MiB"
    assert usage(1_500_000, 2_000_000) == "1.5 MB of 2 MB"


@pytest.mark.parametrize(
    ("objective", "shown"),
    [
        (MAKESPAN, "2 s"),
        (
            Objective(name="mine", unit="cycles", cycle=Fraction(1), dram_in_byte=Fraction(1, 2)),
            "4 cycles",
        ),
        (replace(TRAFFIC, name="traffic, then time", cycle=Fraction(1)), "4"),
        (TRAFFIC, "4 B"),
    ],
)
def test_weighted_sums_are_no_time(objective: Objective, shown: str) -> None:
    machine = plain_machine(4, clock_hz=2)
    assert si(*in_unit(objective, machine, Fraction(4))) == shown


@example(1e-05)
@example(0.07)
@given(st.floats(1e-7, 1e6))
def test_upward_is_never_below(part: float) -> None:
    """A figure behind "at most" is never too small."""
    least = part * (1 - 1e-11)
    assert least <= upward(part) <= part * 1.0011
    number, unit, *_ = percent(part, up=True).split()
    said = float(number.replace(",", ""))
    assert (said / 100 if unit == "%" else said - 1) >= least
    assert said <= float(percent(part).split()[0].replace(",", "")) * 1.2


def test_round_figures_stay_round() -> None:
    assert [upward(each) for each in (1e-05, 0.07, 12.5)] == [1e-05, 0.07, 12.5]
    assert [percent(each, up=True) for each in (0.07, 0.0002)] == ["+7 %", "+0.02 %"]


def test_what_is_rounding_has_no_digits() -> None:
    assert percent(1e-14, of="its bound", by="over") == "< 0.0001 % over its bound"
    assert percent(1e-14, up=True) == "+0.0001 %"
