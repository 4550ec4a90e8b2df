"""The CSV of MiniMalloc: what its reader takes, what it refuses, and back."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spmopt.core.errors import InputError
from spmopt.core.placement import Buffer, Gap
from spmopt.io.minimalloc import format_buffers, parse_buffers, read_buffers, write_buffers
from tests.formulations.placement.brute_force import draw

FOLDER = Path(__file__).parents[2] / "instances" / "minimalloc"
FULL = "id,lower,upper,size,alignment,hint,gaps,offset\n"


def test_all_columns() -> None:
    (found,) = parse_buffers(FULL + "x,3,9,4,2,6,4-5 6-8@1:3,8\n")
    assert found == Buffer(
        name="x",
        lower=3,
        upper=9,
        size_bytes=4,
        alignment_bytes=2,
        gaps=(Gap(lower=4, upper=5), Gap(lower=6, upper=8, window_bytes=(1, 3))),
        hint_bytes=6,
        fixed_bytes=8,
    )


@pytest.mark.parametrize("header", ["size,{},id,{}", "size,{},buffer,{}", "size,{},buffer_id,{}"])
@pytest.mark.parametrize("lower", ["lower", "start", "begin"])
@pytest.mark.parametrize(("upper", "end"), [("upper", 9), ("end", 10)])
def test_other_names_and_order(header: str, lower: str, upper: str, end: int) -> None:
    (found,) = parse_buffers(header.format(upper, lower) + "\n4,9,x,3\n")
    assert found == Buffer(name="x", lower=3, upper=end, size_bytes=4)


def test_end_is_inclusive_of_gaps_too() -> None:
    (found,) = parse_buffers("id,start,end,size,gaps\nx,0,9,4,2-3\n")
    assert found.gaps == (Gap(lower=2, upper=4),)
    assert found.pieces == ((0, 2, 0, 4), (4, 10, 0, 4))


def test_a_blank_line_ends_the_table_and_other_columns_are_passed_over() -> None:
    text = "id,lower,upper,size,color\r\na, 0 ,+5,3,red\r\n\r\nnot,a,row\r\n"
    assert parse_buffers(text) == (Buffer(name="a", lower=0, upper=5, size_bytes=3),)


@pytest.mark.parametrize("hint", ["-1", "", " "])
def test_a_negative_or_empty_hint_is_none(hint: str) -> None:
    (found,) = parse_buffers(f"id,lower,upper,size,hint\na,0,5,3,{hint}\n")
    assert found.hint_bytes is None


def test_an_empty_cell_is_as_if_not_given() -> None:
    fixed, free = parse_buffers(FULL + "x,3,9,4,2,6,,8\ny,3,9,4,,,,\n")
    assert (fixed.alignment_bytes, fixed.hint_bytes, fixed.fixed_bytes) == (2, 6, 8)
    assert free == Buffer(name="y", lower=3, upper=9, size_bytes=4)


def test_dialects(tmp_path: Path) -> None:
    """A byte order mark, carriage returns, and blanks around names, as spreadsheets write them."""
    path = tmp_path / "sheet.csv"
    path.write_bytes(b"\xef\xbb\xbfid, lower ,upper, size\r\na, 0, 5, 3\r\n")
    assert read_buffers(path) == (Buffer(name="a", lower=0, upper=5, size_bytes=3),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f.csv: not a CSV of buffers: the first line must name id,lower,upper,size"),
        ("{" + "a" * 999, "f.csv: not a CSV of buffers: the first line must name id,lower"),
        ("id,id," + "a" * 999, "two columns of the same meaning in 'id,id,aaa"),
        ("id,lower,upper\n", "no column size"),
        ("id,lower,upper,size\na;0;5;3\n", "f.csv, line 2: 1 field, but 4 columns"),
        ("id,lower,upper,size\na,,5,3\n", "line 2: lower is ''; it must be a whole number"),
        (
            "id,lower,upper,size,offset\na,0,5,3,-1\n",
            "offset is -1; it cannot be negative; leave it",
        ),
        ("id,lower,start,upper,size\n", "two columns of the same meaning"),
        ("id,lower,upper,size\na,0,5\n", "f.csv, line 2: 3 fields, but 4 columns"),
        ("id,lower,upper,size\na,0,5,3\nb,0,x,3\n", "f.csv, line 3: upper is 'x'"),
        ("id,lower,upper,size\na,0,5,1_0\n", "size is '1_0'; it must be a whole number"),
        ("id,lower,upper,size\na,7,5,3\n", "line 2: buffer a: ends at 5, before it begins at 7"),
        (
            "id,lower,upper,size\na,0,5,99999999999999999999\n",
            "size is 99999999999999999999, too large",
        ),
        ("id,lower,upper,size\na,0,5," + "9" * 5000 + "\n", "999..., too large: at most 2**60"),
        ("id,lower,upper,size\na,0,5," + "x" * 5000 + "\n", "xxx...; it must be a whole number"),
        ("id,lower,upper,size,gaps\na,0,5,3,1:2\n", "gap '1:2' is not of the form 3-5"),
        ("id,lower,upper,size,gaps\na,0,5,3,1-9\n", "gap 1-9 is not within 0-5"),
        ("id,lower,upper,size,alignment\na,0,5,3,0\n", "alignment is 0"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        parse_buffers(text, "f.csv")
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 200


@given(st.integers(0, 100_000))
def test_round_trip(seed: int) -> None:
    buffers = draw(seed, windows=True)
    fixed = [buffer.fixed_bytes or 0 for buffer in buffers]
    expected = tuple(
        Buffer(
            name=b.name,
            lower=b.lower,
            upper=b.upper,
            size_bytes=b.size_bytes,
            alignment_bytes=b.alignment_bytes,
            gaps=b.gaps,
            fixed_bytes=offset,
        )
        for b, offset in zip(buffers, fixed, strict=True)
    )
    assert parse_buffers(format_buffers(buffers, fixed)) == expected


def test_columns_that_say_nothing_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "o.csv"
    write_buffers(path, read_buffers(FOLDER / "input.12.csv"), (0, 4, 8, 0, 4))
    assert path.read_text() == (
        "id,lower,upper,size,offset\nb1,0,3,4,0\nb2,3,9,4,4\nb3,0,9,4,8\nb4,9,21,4,0\nb5,0,21,4,4\n"
    )


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.csv")), ids=lambda path: path.stem)
def test_published_files_come_back_as_they_were(path: Path) -> None:
    assert format_buffers(read_buffers(path)) == path.read_text(encoding="utf-8")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_buffers(tmp_path / "none.csv")
    binary = tmp_path / "binary.csv"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not a text file"):
        read_buffers(binary)
