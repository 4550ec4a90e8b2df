"""The file of a sweep: added to, taken up again, refused."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from spmopt.core.errors import InputError
from spmopt.core.objective import MAKESPAN
from spmopt.core.result import Result, Status
from spmopt.experiments.rows import Row
from spmopt.experiments.store import RowTable
from spmopt.hardware.machines import load_machine
from spmopt.sweeps.cases import Network, SweepCase
from spmopt.sweeps.rows import SweepColumns, about, row_of

COLUMNS = SweepColumns(["energy.mac_pj"])
SWEEP = {"networks": ["resnet50"], "spm": "1MB:3MB:1MB"}
CASE = SweepCase(
    network=Network(
        name="resnet50", training=True, parameters=(("a", 1), ("b", 2)), mapper="panel"
    ),
    machine=load_machine("rtx2080ti"),
    capacities=(10**6, 2 * 10**6, 3 * 10**6),
    extra=(("energy.mac_pj", "1.5"),),
)


def row(megabytes: int) -> Row:
    result = Result(
        scheduler="lp-bound",
        objective=MAKESPAN,
        status=Status.UNKNOWN,
        solve_s=0.5,
        value=Fraction(1545, 1),
        bound=Fraction(1500, 1),
        notes=('of "some", or\nnone',),
    )
    return row_of(CASE, megabytes * 10**6, result, "listed", "time")


KEYS = [COLUMNS.key_about(about(CASE, size, "lp-bound")) for size in CASE.capacities]


def written(path: Path, *megabytes: int) -> str:
    table = RowTable(path, COLUMNS, SWEEP)
    table.add(row(size) for size in megabytes)
    table.close()
    return path.read_text()


def test_a_row_says_what_it_is_about() -> None:
    found = row(2)
    assert (found["network"], found["batch"], found["parameters"]) == ("resnet50", 32, "a=1 b=2")
    assert (found["spm_bytes"], found["energy.mac_pj"]) == (2_000_000, "1.5")
    assert found["value"] == 1e-6  # 1545 cycles at 1545 MHz
    assert found["gap"] == pytest.approx(0.03)
    assert found["time_s"] is found["verified"] is None
    assert found["note"] == 'of "some", or none'
    kept = {name: found[name] for name in COLUMNS.types}
    assert COLUMNS.row(COLUMNS.texts(found)) == {**kept, "optimizer": ""}
    assert set(found) - set(kept) == {"power_w", "area_mm2", "technology", "basis"}
    more = SweepColumns(["energy.mac_pj"], on_chip=True)
    assert more.row(more.texts(found)) == {**found, "optimizer": ""}


def test_rows_are_on_disk_at_once_and_sorted_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    table = RowTable(path, COLUMNS, SWEEP)
    for megabytes in (3, 1):
        table.add([row(megabytes)])
        assert len(path.read_text().splitlines()) == 2 + len(table)
    table.add([row(3)])
    assert len(table) == 2
    table.add([row(2)])
    assert [found["spm_bytes"] for found in table.rows] == [3_000_000, 1_000_000, 2_000_000]
    table.close(KEYS)
    sizes = [line.split(",")[7] for line in path.read_text().splitlines()[2:]]
    assert sizes == ["1000000", "2000000", "3000000"]
    assert json.loads(path.read_text().splitlines()[0].removeprefix("# "))["spm"] == SWEEP["spm"]


@pytest.mark.parametrize("cut", [0, 1, 5, 40, 200])
def test_goes_on_wherever_it_was_cut_off(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "s.csv"
    whole = written(path, 1, 2, 3)
    path.write_text(whole[: len(whole) - cut])
    table = RowTable(path, COLUMNS, SWEEP)
    assert len(table) == 3 if cut == 0 else len(table) < 3
    assert [key in table for key in KEYS] == [True] * len(table) + [False] * (3 - len(table))
    table.add(row(size) for size in (1, 2, 3))
    assert sorted(path.read_text().splitlines()) == sorted(whole.splitlines())
    table.close(KEYS)
    assert path.read_text() == whole


@pytest.mark.parametrize("length", [0, 1, 30, 200])
def test_cut_off_in_its_first_lines(tmp_path: Path, length: int) -> None:
    path = tmp_path / "s.csv"
    whole = written(path, 1)
    path.write_text(whole[:length])
    assert written(path, 1) == whole


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a,b\n1,2\n", "is not a sweep's file"),
        ("no line", "is not a sweep's file"),
        ("# []\n", "is not a sweep's file"),
        ('# {"format": "other"}\n', "is not a sweep's file"),
        ("\ud800", "is not a sweep's file"),
    ],
)
def test_other_files_are_refused_and_left_alone(
    tmp_path: Path, content: str, expected: str
) -> None:
    path = tmp_path / "s.csv"
    path.write_text(content, errors="replace")
    before = path.read_bytes()
    with pytest.raises(InputError, match=expected):
        RowTable(path, COLUMNS, SWEEP)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (",2000000,", ",2e6,", "line 4 is no row of a sweep: spm_bytes is '2e6'"),
        ("resnet50,true,32,,a=1 b=2,panel,rtx2080ti,2000000", "resnet50", "line 4 .* fields, not"),
        ("resnet50,true,32,,a=1 b=2,panel,rtx2080ti,2", "resnet50,yes,,,,,,2", "training is 'yes'"),
    ],
)
def test_lines_that_are_no_rows(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = tmp_path / "s.csv"
    path.write_text(written(path, 1, 2, 3).replace(old, new))
    with pytest.raises(InputError, match=said):
        RowTable(path, COLUMNS, SWEEP)


def test_not_text(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not text"):
        RowTable(path, COLUMNS, SWEEP)
