"""A sweep's file, read again."""

from pathlib import Path

import pytest

from spmopt.core.errors import InputError
from spmopt.sweeps.stored import read_stored_sweep
from tests.sweeps.test_table import COLUMNS, KEYS, row, written


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    written(path, 1, 2)
    found = read_stored_sweep(path)
    assert found.about["spm"] == "1MB:3MB:1MB"
    assert found.names == tuple(COLUMNS.types)
    assert found.extra == ("energy.mac_pj",)
    assert [COLUMNS.key_about(each) for each in found.rows] == KEYS[:2]
    assert [each["bound"] for each in found.rows] == [row(1)["bound"], row(2)["bound"]]


def test_a_line_cut_off_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(written(path, 1, 2)[:-20])
    assert len(read_stored_sweep(path).rows) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is no sweep's file"),
        ("a,b\n1,2\n", "is no sweep's file"),
        ('# {"format": "spmopt-sweep"}\na,b\n1,2\n', "other columns than a sweep's"),
        ('# {"format": "spmopt-sweep"}\n' + ",".join(COLUMNS.types) + "\n", "has no rows yet"),
        (
            '# {"format": "spmopt-sweep"}\n' + ",".join(COLUMNS.types) + "\n1,2\n",
            "line 3 is no row of a sweep: 2 fields",
        ),
    ],
)
def test_what_is_no_sweep_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        read_stored_sweep(path)


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"x\.csv: cannot be read \(No such file"):
        read_stored_sweep(tmp_path / "x.csv")


@pytest.mark.parametrize(("version", "mapper"), [(1, "panel"), (2, "tiled")])
def test_version_1_calls_a_lowering_otherwise(tmp_path: Path, version: int, mapper: str) -> None:
    path = tmp_path / "rows.csv"
    text = written(path, 1).replace(",panel,", ",tiled,")
    path.write_text(text.replace('"version": 1', f'"version": {version}'))
    (found,) = read_stored_sweep(path).rows
    assert found["mapper"] == mapper
