import pytest
from hypothesis import given
from hypothesis import strategies as st

from spmopt.core.errors import InputError
from spmopt.core.units import Dimension, parse_measure, parse_quantity

MEASURES = (Dimension.NANOSECONDS, Dimension.SQUARE_MILLIMETERS)


@pytest.mark.parametrize(
    ("text", "dimension", "expected"),
    [
        ("24MB", Dimension.BYTES, 24_000_000),
        ("24 MiB", Dimension.BYTES, 25_165_824),
        ("24.75MB", Dimension.BYTES, 24_750_000),
        ("4KiB", Dimension.BYTES, 4096),
        ("4kB", Dimension.BYTES, 4000),
        ("8bit", Dimension.BYTES, 1),
        (5, Dimension.BYTES, 5),
        ("616GB/s", Dimension.BYTES_PER_S, 616_000_000_000),
        ("80Gbit/s", Dimension.BYTES_PER_S, 10_000_000_000),
        ("13.45TFLOP/s", Dimension.OPERATIONS_PER_S, 13_450_000_000_000),
        ("13.45TFLOPS", Dimension.OPERATIONS_PER_S, 13_450_000_000_000),
        ("1TMAC/s", Dimension.OPERATIONS_PER_S, 2_000_000_000_000),
        ("1545MHz", Dimension.HERTZ, 1_545_000_000),
        ("1.545e9Hz", Dimension.HERTZ, 1_545_000_000),
    ],
)
def test_reads_exactly(text: str | int, dimension: Dimension, expected: int) -> None:
    assert parse_quantity(text, dimension, "--x") == expected


@given(st.integers(1, 10**15), st.sampled_from([("kB", 1000), ("KiB", 1024), ("B", 1)]))
def test_whole_numbers_lose_nothing(number: int, unit: tuple[str, int]) -> None:
    assert parse_quantity(f"{number}{unit[0]}", Dimension.BYTES, "--x") == number * unit[1]


@pytest.mark.parametrize(
    ("text", "dimension", "complaint"),
    [
        ("0", Dimension.BYTES, "greater than 0"),
        ("-24MB", Dimension.BYTES, "greater than 0"),
        ("24furlong", Dimension.BYTES, "'furlong' is not a unit"),
        ("24Mb", Dimension.BYTES, "'Mb' is not a unit"),
        ("24MBs", Dimension.BYTES, "'MBs' is not a unit"),
        ("24mb", Dimension.BYTES, "'mb' is not a unit"),
        ("24MB/s", Dimension.BYTES, "'MB/s' is not a unit"),
        ("24MB", Dimension.BYTES_PER_S, "write for example 616GB/s"),
        ("24MB//", Dimension.BYTES, "not a unit"),
        ("lots", Dimension.BYTES, "not a number with a unit"),
        ("", Dimension.BYTES, "not a number with a unit"),
        ("nan", Dimension.BYTES, "not a number with a unit"),
        ("25", Dimension.BYTES, "'25': has no unit; write for example 24MB"),
        ("25", Dimension.BYTES_PER_S, "'25': has no unit; write for example 616GB/s"),
        ("1.5", Dimension.HERTZ, "has no unit; .* 1.545GHz"),
        ("0.3B/s", Dimension.BYTES_PER_S, "not a whole number of bytes per second; round it"),
        ("1e99999999999MB", Dimension.BYTES, "out of range"),
        ("1e-9999999999MB", Dimension.BYTES, "out of range"),
        ("9e18", Dimension.BYTES, "out of range"),
        ("2.91", Dimension.NANOSECONDS, "has no unit; write for example 2.91ns"),
        ("2.91pJ", Dimension.NANOSECONDS, "'pJ' is not a unit"),
        ("5m2", Dimension.SQUARE_MILLIMETERS, "'m2' is not a unit"),
        ("-1ns", Dimension.NANOSECONDS, "greater than 0"),
        ("24mB", Dimension.BYTES, "'mB' is not a unit"),
    ],
)
def test_refuses_in_one_line(text: str, dimension: Dimension, complaint: str) -> None:
    parse = parse_measure if dimension in MEASURES else parse_quantity
    with pytest.raises(InputError, match=complaint) as caught:
        parse(text, dimension, "--spm")
    assert str(caught.value).startswith("--spm")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "dimension", "expected"),
    [
        ("2.91ns", Dimension.NANOSECONDS, 2.91),
        ("500 ps", Dimension.NANOSECONDS, 0.5),
        ("0.35nJ", Dimension.PICOJOULES, 350.0),
        ("250fJ", Dimension.PICOJOULES, 0.25),
        ("6.442W", Dimension.MILLIWATTS, 6442.0),
        ("5uW", Dimension.MILLIWATTS, 0.005),
        ("5.53mm2", Dimension.SQUARE_MILLIMETERS, 5.53),
        ("55300um2", Dimension.SQUARE_MILLIMETERS, 0.0553),
    ],
)
def test_small_units_need_not_be_whole(text: str, dimension: Dimension, expected: float) -> None:
    assert parse_measure(text, dimension, "--x") == expected
