"""``spmopt allocate``: files in and out, exit codes, and that a limit is not a proof."""

from __future__ import annotations

from pathlib import Path

import pytest

from spmopt.api.allocation import BufferPlacement
from spmopt.core.placement import Placed, Placement, require_placement
from spmopt.core.result import Status
from spmopt.io.minimalloc import read_buffers
from tests.cli.run import Run
from tests.cli.test_failures import refused
from tests.cli.test_help import shown

FOLDER = Path(__file__).parents[2] / "instances" / "minimalloc"
SMALL = FOLDER / "input.12.csv"
HARD = FOLDER / "B.1048576.csv"


def placed(source: Path, output: Path, capacity: int) -> int:
    """Check what was written; the height."""
    offsets = [buffer.fixed_bytes or 0 for buffer in read_buffers(output)]
    buffers = read_buffers(source)
    placement = Placement.of(buffers, offsets)
    require_placement(buffers, placement, capacity)
    return placement.height_bytes


def test_least_height(run: Run, tmp_path: Path) -> None:
    output = tmp_path / "o.csv"
    ran = run(f"allocate {SMALL} --minimize -o {output} --json")
    assert ran.code == 0
    assert placed(SMALL, output, 12) == 12
    assert ran.record == {
        "buffers": 5,
        "fixed": 0,
        "status": "optimal",
        "height_bytes": 12,
        "bound_bytes": 12,
        "gap": 0.0,
        "method": "search, order TWA",
        "conflict": None,
    }


def test_a_capacity(run: Run, tmp_path: Path) -> None:
    source, output = FOLDER / "J.1048576.csv", tmp_path / "o.csv"
    ran = run(f"allocate {source} --capacity 1MiB -o {output}")
    assert ran.code == 0
    height = placed(source, output, 1048576)
    assert f"409 buffers in {height} bytes (at most " in ran.out
    assert "over the least, 989184 needed)" in ran.out


def test_what_was_placed_stays_where_it_is(run: Run, tmp_path: Path) -> None:
    first, second = tmp_path / "1.csv", tmp_path / "2.csv"
    assert run(f"allocate {SMALL} --minimize -o {first}").code == 0
    ran = run(f"allocate {first} --capacity 12B -o {second}")
    assert ran.code == 0
    assert first.read_text() == second.read_text()
    assert ran.err == (
        f"warning: {first}: all offsets are fixed; to place anew, remove the column offset\n"
    )


def test_fixed_offsets_are_no_least_height(run: Run, tmp_path: Path) -> None:
    source, output = tmp_path / "i.csv", tmp_path / "o.csv"
    source.write_text("id,lower,upper,size,offset\na,0,5,3,7\nb,0,5,3,\n")
    ran = run(f"allocate {source} --minimize -o {output}")
    known = "the least with fixed offsets as they are, 10 needed"
    assert ran.out.startswith(f"2 buffers, 1 of them fixed, in 10 bytes ({known}): ")
    assert ran.err == ""
    assert output.read_text().splitlines()[1:] == ["a,0,5,3,7", "b,0,5,3,0"]
    ran = run(f"allocate {output} --minimize -o {tmp_path}/p.csv")
    assert ran.out.startswith(f"2 buffers, all fixed by the file, in 10 bytes ({known}): ")
    assert run(f"allocate {output} --minimize -o {tmp_path}/p.csv --json").record["fixed"] == 2


def test_high_hints_are_named_as_the_cause(run: Run, tmp_path: Path) -> None:
    source, output = tmp_path / "i.csv", tmp_path / "o.csv"
    source.write_text("id,lower,upper,size,hint\na,0,5,4,100\n")
    ran = run(f"allocate {source} --capacity 200B -o {output}")
    assert "1 buffer where the hints have them in 104 bytes (at most 26 times the least" in ran.out
    assert "4 needed; --minimize looks for less): " in ran.out
    ran = run(f"allocate {source} --capacity 200B --minimize -o {output}")
    assert ran.out.startswith("1 buffer in 4 bytes (the least, 4 needed): ")


def test_columns_are_explained(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    text = shown(run, "place")
    for column in ("id", "lower, upper", "size", "alignment", "offset", "hint", "gaps"):
        assert f"• {column}: " in text


def test_too_little_is_infeasible_and_says_why(run: Run, tmp_path: Path) -> None:
    output = tmp_path / "o.csv"
    ran = run(f"allocate {SMALL} --capacity 0.011kB -o {output}")
    assert ran.code == 3
    assert "the 3 buffers that live then need 12 bytes, available are 11, missing are 1" in ran.err
    assert ran.err.count("\n") == 1
    assert not output.exists()


def test_a_time_limit_is_not_infeasible(run: Run, tmp_path: Path) -> None:
    output = tmp_path / "o.csv"
    ran = run(f"allocate {HARD} --capacity 1MiB --time-limit 0.000001 -o {output}")
    assert ran.code == 4
    assert "no placement found within the limits" in ran.out
    assert not output.exists()
    ran = run(f"allocate {HARD} --minimize --time-limit 0.000001 -o {output} --json")
    assert ran.code == 0
    assert ran.record["status"] == "feasible"
    assert ran.record["bound_bytes"] == 1048576
    assert placed(HARD, output, ran.record["height_bytes"]) == ran.record["height_bytes"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "give --capacity SIZE, or --minimize"),
        ("--capacity -1", "capacity '-1': must be greater than 0; write for example 24MB"),
        ("--capacity 1parsec", "capacity '1parsec': 'parsec' is not a unit of this quantity"),
        ("--minimize --time-limit 0", "--time-limit 0.0: must be more than 0 seconds"),
        ("--minimize --time-limit nan", "--time-limit nan: must be more than 0 seconds"),
    ],
)
def test_what_is_refused(run: Run, tmp_path: Path, arguments: str, message: str) -> None:
    assert message in refused(run(f"allocate {SMALL} {arguments} -o {tmp_path}/o.csv"))
    assert list(tmp_path.iterdir()) == []


def test_without_a_result_it_is_said_why() -> None:
    none = Placed(status=Status.UNKNOWN, placement=None, bound_bytes=7)
    for interrupted, why in ((False, "within the limits"), (True, "until the interruption")):
        found = BufferPlacement((), none, stopped=interrupted)
        assert found.sentence() == f"no placement found {why}; none is lower than 7 bytes"


def test_files_in_the_wrong_place(run: Run, tmp_path: Path) -> None:
    none = tmp_path / "none.csv"
    assert "cannot be read" in refused(run(f"allocate {none} --minimize -o {tmp_path}/o.csv"))
    assert "is a folder" in refused(run(f"allocate {SMALL} --minimize -o {tmp_path}"))
