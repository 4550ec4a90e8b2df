import pytest

from spmopt.core.errors import InputError
from spmopt.core.units import Dimension, parse_quantity
from spmopt.sweeps.axes import axis, count, setting_axis


def size(text: str, what: str) -> int:
    return parse_quantity(text, Dimension.BYTES, what)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("24MB", (24_000_000,)),
        ("1MB:2MB:500kB", (1_000_000, 1_500_000, 2_000_000)),
        ("1MB:1MB:600kB", (1_000_000,)),
        ("1MiB:8MiB:x2", (2**20, 2**21, 2**22, 2**23)),
        ("2MB, 1MB ,2MB,1MB:3MB:1MB", (2_000_000, 1_000_000, 3_000_000)),
    ],
)
def test_sizes(text: str, expected: tuple[int, ...]) -> None:
    assert axis(text, "--spm", size) == expected


def test_489_capacities() -> None:
    values = axis("24MB:1000MB:2MB", "--spm", size)
    assert (len(values), values[0], values[-1]) == (489, 24 * 10**6, 10**9)


def test_batches_double() -> None:
    assert axis("8:256:x2,3", "--batch", count) == (8, 16, 32, 64, 128, 256, 3)


def test_settings_are_read_by_what_they_are() -> None:
    assert setting_axis("bandwidth", "616GB/s,1555GB/s", "x") == (616 * 10**9, 1555 * 10**9)
    assert setting_axis("dma_setup", "0:100:50", "x") == (0, 50, 100)
    assert setting_axis("energy.mac_pj", "1.5, 4.6,1.5", "x") == ("1.5", "4.6")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("24MB:1000MB", "write a range as START:STOP:STEP"),
        ("24MB:1000MB:", "write a range as START:STOP:STEP"),
        ("24MB:1MB:1MB", "1MB is less than 24MB; write the smaller one first"),
        ("24MB:1000MB:1B", "more than 100000 values"),
        ("24MB:25MB:0MB", "must be greater than 0"),
        ("24MB:25MB:x1", "begins at 1 or more, by x2 or more"),
        ("24MB:25MB:xx", "begins at 1 or more, by x2 or more"),
        (
            "24MB:64MB:7MB",
            "steps of 7MB from 24MB do not end at 64MB; let the range end at 59MB or 66MB",
        ),
        ("8B:20B:x2", "steps of x2 from 8B do not end at 20B; let the range end at 16B or 32B"),
        ("8:20:x2", "'8': has no unit"),
        ("24MB,,25MB", "empty value between commas"),
        ("24parsec", "'parsec' is not a unit"),
        ("", "empty value"),
    ],
)
def test_bad_ranges(text: str, expected: str) -> None:
    with pytest.raises(InputError) as raised:
        axis(text, "--spm", size)
    assert expected in str(raised.value)
    assert "--spm" in str(raised.value)


def test_a_range_of_counts_has_an_example_of_counts() -> None:
    with pytest.raises(InputError, match="START:STOP:STEP, as 8:32:8"):
        axis("8:16", "--batch", count)


@pytest.mark.parametrize("text", ["1.5", "-1", "two", "0:4:0", "0:4:x2"])
def test_bad_counts(text: str) -> None:
    with pytest.raises(InputError):
        axis(text, "--batch", count)
