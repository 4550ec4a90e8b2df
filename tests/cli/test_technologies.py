"""The command that lists memory technologies."""

from pathlib import Path

import pytest

from spmopt.cli import Code
from spmopt.hardware.technologies import load_technology, names
from tests.cli.run import Run


def test_all_are_listed(run: Run) -> None:
    lines = run("technologies").out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == names()
    assert "3 MB, 7 MB" in next(line for line in lines if line.startswith("deepnvm-stt"))
    records = run("technologies --json").record["technologies"]
    assert [record["name"] for record in records] == names()
    assert records[2]["capacities_bytes"] == [3_000_000, 7_000_000]


def test_figures_at_a_capacity(run: Run) -> None:
    lines = run("technologies --capacity 3MB").out.splitlines()
    row = next(line for line in lines if line.startswith("deepnvm-stt"))
    for cell in ("2.98 ns", "9.31 ns", "810 pJ", "310 pJ", "748 mW", "2.34 mm2", "3.437 GB/s"):
        assert f" {cell} " in row
    assert row.endswith("published   DeepNVM++, table II, 16 nm")
    record = run("technologies nvsim-stt --capacity 3MB --json").record
    (found,) = record["technologies"]
    pad = load_technology("nvsim-stt").at(3_000_000)
    assert record["capacity_bytes"] == 3_000_000
    assert found["scratchpad"]["basis"] == "fit"
    assert found["scratchpad"]["leakage_w"] == pad.leakage_w
    assert found["scratchpad"]["write_energy_pj"] == pad.point.write_energy_pj


def test_what_is_not_known_is_left_empty_or_refused(run: Run) -> None:
    lines = run("technologies --capacity 8MB").out.splitlines()
    row = next(line for line in lines if line.startswith("deepnvm-sot"))
    assert row.split()[1:10] == ["-"] * 9
    assert "no figures" in row
    found = run("technologies --capacity 8MB --json").record["technologies"]
    assert [each["name"] for each in found if each["scratchpad"] is None] == [
        name for name in names() if not name.startswith(("nvsim", "scaled"))
    ]
    refused = run("technologies deepnvm-sot --capacity 8MB")
    assert refused.code == Code.BAD_INPUT
    assert "no figures for 8 MB, only for 3 MB, 10 MB" in refused.err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("deepnvm-stt --capacity 3B", "no figures for 3e-06 MB"),
        ("--capacity -3MB", "--capacity: needs a value"),
        ("--capacity 3W", "'W' is not a unit of this quantity; write for example 3MB or 3MiB"),
        ("sram", "no technology called 'sram'; choose one of deepnvm-sot, deepnvm-sram"),
    ],
)
def test_bad_input_is_one_line(run: Run, words: str, complaint: str) -> None:
    ran = run(f"technologies {words}")
    assert ran.code == Code.BAD_INPUT
    assert complaint in ran.err
    assert ran.err.startswith("error: ")
    assert len(ran.err.splitlines()) == 1


def test_a_file_of_ones_own(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('cell = "RRAM"\nbetween = "fit"\n')
    ran = run(f"technologies {path}")
    assert ran.code == Code.BAD_INPUT
    assert ran.err == f"error: technology {path}: access is missing; add it\n"
