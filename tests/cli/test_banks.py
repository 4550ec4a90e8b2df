"""Banks on the command line."""

import json
import re
from pathlib import Path

import pytest

from tests.cli.run import Run

TWO = "--bank 256kB:nvsim-sram --bank 1MB:nvsim-stt"


def test_solve_verify_and_explain(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    line = f"solve bert-tiny --batch 1 {TWO} --objective energy --scheduler banks"
    ran = run(f"{line} --time-limit 0.3 -o {file}")
    assert ran.code == 0
    assert re.search(r"^bank 0 .*\(256 kB nvsim-sram\)$", ran.out, re.MULTILINE)
    assert "moved      " in ran.out
    assert run(f"verify {file}").code == 0
    assert run(f"explain {file}").code == 0
    stored = json.loads(file.read_text())
    assert [bank["technology"] for bank in stored["problem"]["machine"]["banks"]] == [
        "nvsim-sram",
        "nvsim-stt",
    ]
    said = run(f"explain {file}").out
    assert all(re.search(rf"^bank {bank}  .*lower", said, re.MULTILINE) for bank in (0, 1))
    assert "leakage of the banks stay as they are" in said


def test_a_comparison_is_of_those_who_know_banks(run: Run) -> None:
    ran = run(f"compare bert-tiny --batch 1 {TWO} --time-limit 0.3 --json")
    assert ran.code == 0
    results = {each["scheduler"]: each for each in ran.record["results"]}
    assert "residency" not in results
    assert results["banks"]["value"] <= min(
        each["value"] for each in results.values() if each["value"] is not None
    )
    assert len(results["banks"]["bank_read_bytes"]) == 2
    assert results["lp-bound"]["bound"] is not None


def test_sweeps_of_banks(run: Run) -> None:
    ran = run(
        "sweep bert-tiny --batch 1 -s belady --jobs 1 --tolerance 0.1 --json "
        "--set bank=1MB:nvsim-sram;256kB:nvsim-sram,1MB:nvsim-stt"
    )
    rows = ran.record["rows"]
    assert [(row["bank"], row["spm_bytes"]) for row in rows] == [
        ("1MB:nvsim-sram", 1_000_000),
        ("256kB:nvsim-sram,1MB:nvsim-stt", 1_256_000),
    ]
    assert all(row["bound"] <= row["value"] for row in rows)


def test_a_stored_problem_gets_banks(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "i.json"
    assert run(f"problem bert-tiny --batch 1 {TWO} -o {file}").code == 0
    ran = run(f"solve {file} --scheduler belady --bandwidth 600GB/s --json")
    assert ran.code == 0
    assert len(ran.record["problem"]["machine"]["banks"]) == 2
    ran = run(f"solve {file} --scheduler belady --bank 2MB:nvsim-sot --json")
    assert [bank["technology"] for bank in ran.record["problem"]["machine"]["banks"]] == [
        "nvsim-sot"
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--bank 2MB", "write SIZE:TECHNOLOGY, as 2MB:nvsim-sram"),
        ("--bank 2MB:nvsim-sram:1:2", "write SIZE:TECHNOLOGY"),
        ("--bank 2MB:nvsim-sram:x", "'x' is not a whole number of ports"),
        ("--bank 2MB:nvsim-sram:0", "ports must be at least 1, is 0"),
        ("--bank 2mb:nvsim-sram", "is not a unit"),
        ("--bank 2MB:nvsim-srm", "did you mean nvsim-sram"),
        ("--bank 2MB:deepnvm-stt", "has no figures for 2 MB"),
        ("--bank 64B:nvsim-sram --bank 2MB:nvsim-stt", "give a larger --bank"),
        ("--bank 2MB:nvsim-sram --spm 3MB", "spm and bank"),
        ("--bank 2MB:nvsim-sram --scheduler residency", "scheduler residency: knows no banks"),
        ("--scheduler banks", "the machine has no banks; give some by --bank"),
    ],
)
def test_what_cannot_be_used_is_said(run: Run, options: str, message: str) -> None:
    ran = run(f"solve bert-tiny --batch 1 {options}")
    assert ran.code == 2
    assert message in " ".join(ran.err.split())


def test_ports_are_a_cause_of_stalls(run: Run) -> None:
    network = "bert-tiny --batch 1 --bank 2MB:nvsim-sram:4 --scheduler belady"
    said = run(f"explain {network}").out
    assert "% bank port" in next(line for line in said.splitlines() if line.startswith("waits for"))
    assert "port of bank 0 busy for" in said


def test_what_banks_rest_on_is_said(run: Run) -> None:
    said = run(f"solve bert-tiny --batch 1 {TWO} --scheduler stream").out.splitlines()[0]
    assert "1 MB nvsim-stt; fit, beyond its points)" in said
    known = "--bank 3MB:deepnvm-sram --bank 3MB:deepnvm-stt"
    said = run(f"solve bert-tiny --batch 1 {known} --scheduler stream").out.splitlines()[0]
    assert "3 MB deepnvm-stt; published)" in said
