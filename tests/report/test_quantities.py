import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spmopt.report.quantities import percent, si


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
        (2.5e18, "2500 PB", "2500. PB"),
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
    ("part", "text"),
    [
        (0, "0 %"),
        (0.1337, "+13.4 %"),
        (2.5, "+250.0 %"),
        (0.0325, "+3.25 %"),
        (0.0099, "+0.99 %"),
        (0.000081, "+0.0081 %"),
        (1e-12, "+1.0e-10 %"),
        (-0.01, "-1.00 %"),
    ],
)
def test_percent(part: float, text: str) -> None:
    assert percent(part) == text
