"""The command ``sweep``: options, files, interrupts."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spmopt.cli.terminal.interrupt import Interrupted
from spmopt.io.files import write_problem
from spmopt.sweeps import run as run_module
from spmopt.sweeps.rows import row_of
from tests.cli.run import Run
from tests.solving.fakes import bounds_only, install
from tests.tiny import Op, tiny

NETWORK = "bert-tiny --param layers=1 --param sequence=32"
SWEEP = f"sweep {NETWORK} --training --batch 2 --spm 400kB:800kB:200kB -s belady,lp-bound"
LINE = f"{SWEEP} --jobs 1"
Texts = list[list[str]]


def untimed(path: Path) -> Texts:
    """Lines of a table but for the seconds."""
    first, *rest = path.read_text().splitlines()
    lines = list(csv.reader(rest))
    seconds = lines[0].index("solve_s")
    return [[first], *(line[:seconds] + line[seconds + 1 :] for line in lines)]


def test_all_axes(run: Run) -> None:
    line = (
        f"sweep {NETWORK} --bandwidth 100GB/s,616GB/s --clock 1GHz --machine rtx2080ti,a100 "
        "--spm 1MB --set energy.mac_pj=1,2 -s stream --jobs 1 --tolerance 0.1"
    )
    rows = run(f"{line} --json").record["rows"]
    varied = ("machine", "dram_bytes_per_s", "energy.mac_pj")
    assert len(rows) == len({tuple(row[name] for name in varied) for row in rows}) == 2**3
    assert {row["clock_hz"] for row in rows} == {10**9}
    assert all(row["verified"] and row["bound"] <= row["value"] == row["time_s"] for row in rows)
    energy = {tuple(row[name] for name in varied): row["energy_j"] for row in rows}
    for machine, rate, picojoules in energy:
        if picojoules == "1":
            assert energy[machine, rate, "1"] < energy[machine, rate, "2"]


def test_power_and_area_are_those_of_solve(run: Run) -> None:
    machine = f"{NETWORK} --spm 2MB --technology nvsim-stt --banks 16"
    for line in (f"{NETWORK} --spm 2MB", machine):
        row, bound = run(f"sweep {line} -s belady,lp-bound --jobs 1 --json").record["rows"]
        solved = run(f"solve {line} -s belady --json").record
        (result,) = solved["results"]
        assert [row[name] for name in ("time_s", "energy_j", "power_w")] == [
            result[name] for name in ("time_s", "energy_j", "power_w")
        ]
        assert row["power_w"] == pytest.approx(row["energy_j"] / row["time_s"])
        assert row["area_mm2"] == bound["area_mm2"] == solved["problem"]["area"]["total_mm2"]
        assert bound["power_w"] is None
    assert row["area_mm2"] > 1


def test_rows_say_technology_and_basis(run: Run) -> None:
    line = f"sweep {NETWORK} -s stream --jobs 1 --json"
    rows = run(f"{line} --spm 0.5MB,2MB --technology nvsim-stt").record["rows"]
    beyond = "fit, beyond its points"
    found = [(row["technology"], row["basis"]) for row in rows]
    assert found == [("nvsim-stt", beyond), ("nvsim-stt", "fit")]
    rows = run(f"{line} --spm 3MB --technology nvsim-stt,deepnvm-stt").record["rows"]
    found = [(row["technology"], row["basis"]) for row in rows]
    assert found == [("nvsim-stt", "fit"), ("deepnvm-stt", "published")]
    rows = run(f"{line} --set bank=2MB:nvsim-sram,0.5MB:nvsim-stt").record["rows"]
    assert [row["technology"] for row in rows] == ["nvsim-sram + nvsim-stt"]
    assert [row["basis"] for row in rows] == [beyond]
    rows = run(f"{line} --spm 3MB").record["rows"]
    assert [(row["technology"], row["basis"]) for row in rows] == [("", "")]


def test_machines_with_banks_are_checked_first(run: Run) -> None:
    line = f"sweep {NETWORK} --jobs 1 --set bank=256kB:nvsim-sram,1MB:nvsim-stt"
    refused = run(f"{line} -s belady,residency")
    assert (refused.code, refused.out) == (2, "")
    assert "scheduler residency: knows no banks; use banks, lp-bound, or any policy" in refused.err
    assert (
        "joint: no objective time; use timing async, or another scheduler: banks, lp-bound, or any"
        in (run(f"{line} -s joint").err)
    )
    (row,) = run(f"{line} -s belady --json").record["rows"]
    assert (row["spm_bytes"], row["verified"]) == (1_256_000, True)
    assert row["area_mm2"] > 0


def test_batches(run: Run) -> None:
    line = f"sweep {NETWORK} --batch 2:4:x2,1 --spm 1MB -s stream --jobs 1"
    rows = run(f"{line} --json --tolerance 0.5").record["rows"]
    assert [row["batch"] for row in rows] == [2, 4, 1]
    traffic = [row["traffic_bytes"] for row in rows]
    assert traffic[2] < traffic[0] < traffic[1]


def test_table_on_stdout(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, lp_bound=bounds_only)
    ran = run("sweep bert-tiny --spm 1MB -s belady --jobs 1 --objective traffic")
    (row,) = csv.DictReader(ran.out.splitlines())
    assert row["objective"] == "traffic"
    assert float(row["value"]) == float(row["traffic_bytes"])
    assert row["status"] in ("feasible", "optimal")
    assert ran.code == 0


def test_a_stored_problem(run: Run, tmp_path: Path) -> None:
    problem = tiny({"x": (16, "in")}, [Op(reads="x", cycles=2), Op(reads="x", cycles=2)], spm=8)
    path = tmp_path / "i.json"
    write_problem(path, problem)
    rows = run(f"sweep {path} --spm 4B:20B:4B -s residency,lp-bound --jobs 1 --json").record["rows"]
    assert [row["spm_bytes"] for row in rows[::2]] == [4, 8, 12, 16, 20]
    assert [row["time_s"] for row in rows[::2]] == [28, 24, 20, 18, 18]
    assert {row["mapper"] for row in rows} == {"custom"}
    for option in ("--training", "--batch 2", "--mapper ideal", "--clock 2Hz", "--machine a100"):
        ran = run(f"sweep {path} {option} -s belady")
        assert ran.code == 2
        assert "lowered already" in ran.err


def test_an_objective_that_a_scheduler_lacks(run: Run) -> None:
    ran = run(f"sweep {NETWORK} -s joint")
    assert ran.code == 2
    assert ran.err.strip().endswith(
        "scheduler joint: no objective time; use timing async, or another scheduler: "
        "residency:granularity=tensor, residency, fusion, contiguous, lp-bound, "
        "or any policy, as belady"
    )


def interrupt_after(count: int) -> Callable[..., object]:
    """A stand-in for a row that is made, pressed after some of them."""
    calls = 0

    def counted(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > count:
            raise Interrupted
        return row_of(*arguments)

    return counted


def test_interrupted_and_taken_up_again(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, lp_bound=bounds_only)
    whole, part = tmp_path / "whole.csv", tmp_path / "part.csv"
    assert run(f"{LINE} -o {whole}").code == 0
    with monkeypatch.context() as patch:
        patch.setattr(run_module, "row_of", interrupt_after(4))
        ran = run(f"{LINE} -o {part}")
    assert ran.code == 130
    assert ran.err == (
        f"interrupted: 4 of 6 rows are in {part}: the same command goes on from there\n"
    )
    assert len(untimed(part)) == 2 + 4
    ran = run(f"{LINE} -o {part}")
    assert ran.code == 0
    assert f"{part}: 6 rows" in ran.out
    assert untimed(part) == untimed(whole)
    assert sorted(tmp_path.iterdir()) == [part, whole]
    before = part.read_text()
    assert run(f"{LINE} -o {part}").code == 0
    assert part.read_text() == before


def test_a_sweep_that_failed_leaves_nothing(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    line = f"sweep {NETWORK} --spm 1MB -s stream --jobs 1 -o {path}"
    assert run(f"{line} --batch 0").code == 2
    assert list(tmp_path.iterdir()) == []
    assert run(f"{line} --batch 1").code == 0
    assert len(untimed(path)) == 2 + 1


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("resnet51", "no network called 'resnet51'; did you mean resnet50?"),
        ("none.json", "none.json: cannot be read (No such file"),
        ("bert-tiny --spm 3MB:1MB:1MB", "spm '3MB:1MB:1MB': 1MB is less than 3MB"),
        ("bert-tiny --spm 1MB:3MB", "spm '1MB:3MB': write a range as START:STOP:STEP"),
        ("bert-tiny --spm 50B:90B:10B", "smaller than one page"),
        ("bert-tiny --batch two", "batch 'two': not a whole number"),
        ("bert-tiny --jobs 0", "--jobs 0: must be at least 1"),
        ("bert-tiny --tolerance nan", "--tolerance nan: must be a number, 0 or more"),
        ("bert-tiny -s ,", "schedulers: name at least one"),
        ("bert-tiny -o none/s.json", "none/s.json: rows are written as CSV; let the name end"),
        ("bert-tiny -o /dev/null", "/dev/null: is no regular file"),
    ],
)
def test_bad_input_is_one_line(run: Run, line: str, expected: str) -> None:
    ran = run(f"sweep --jobs 1 {line}")
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1
    assert expected in ran.err


def test_schedules_without_barriers_have_bounds(run: Run) -> None:
    line = f"sweep {NETWORK} --batch 2 --spm 64kB,128kB --timing async -s belady,residency"
    ran = run(f"{line} --jobs 1 --json --time-limit 1")
    assert (ran.code, len(ran.record["rows"])) == (0, 4)
    for row in ran.record["rows"]:
        assert row["verified"]
        assert row["bound"] <= row["value"] * (1 + 1e-12)
        assert row["value"] <= row["time_s"]  # never later than with barriers
