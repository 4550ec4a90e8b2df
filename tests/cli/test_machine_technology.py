"""The options that name the technology of a machine's scratchpad, on every command of a machine."""

from pathlib import Path

import pytest

from spmopt.hardware.machines import load_machine
from spmopt.io.files import read_problem, read_result
from tests.cli.run import Run
from tests.cli.test_failures import refused

NETWORK = "bert-tiny --batch 1 --machine gtx1080ti --spm 3MB"
STT = f"{NETWORK} --technology deepnvm-stt"


def test_solve_shows_technology_energy_and_area(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    ran = run(f"solve {STT} --banks 100 -s belady -o {path}")
    head, _, *lines = ran.out.splitlines()
    assert "SPM 3 MB of deepnvm-stt in 100 banks (DeepNVM++, table II, 16 nm; published)" in head
    assert "343.7 GB/s (by its banks; DRAM 484 GB/s)" in head
    rows = {line[:12].strip(): line[12:].strip() for line in lines}
    assert rows["energy"].count(" %") == 5
    assert rows["energy"].endswith("on average; default energies where the machine states none)")
    assert rows["area"].startswith("44.93 mm2 (SPM 2.34, engine 42.59; EDP ")
    expected = load_machine("gtx1080ti", {"spm": "3MB", "technology": "deepnvm-stt", "banks": 100})
    assert read_result(path).problem.machine == expected
    assert run(f"verify {path}").code == 0


def test_json_has_the_parts(run: Run) -> None:
    record = run(f"compare {STT} -s belady,stream --json").record
    assert record["problem"]["machine"]["memory"]["basis"] == "published"
    area = record["problem"]["area"]
    assert area["spm_mm2"] == 2.34
    assert area["total_mm2"] == area["spm_mm2"] + area["engine_mm2"] + area["interface_mm2"]
    for result in record["results"]:
        parts = ("dram_j", "spm_read_j", "spm_write_j", "mac_j", "leakage_j")
        assert sum(result[part] for part in parts) == pytest.approx(result["energy_j"])
        assert result["leakage_j"] == pytest.approx(0.748 * result["time_s"])
        assert result["power_w"] == pytest.approx(result["energy_j"] / result["time_s"])
        assert result["edp_js"] == pytest.approx(result["energy_j"] * result["time_s"])
        assert result["edap_js_mm2"] == pytest.approx(result["edp_js"] * area["total_mm2"])


def test_a_stored_problem_takes_another_technology_but_no_banks(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "i.json"
    assert run(f"problem {NETWORK} -o {path}").code == 0
    ran = run(f"solve {path} --technology deepnvm-sot -s belady --json")
    assert ran.record["problem"]["machine"]["memory"]["technology"] == "deepnvm-sot"
    said = refused(run(f"solve {path} --technology deepnvm-sot --banks 2 -s belady"))
    assert "banks: " in said
    assert "is lowered already, its cycles are fixed" in said


@pytest.mark.parametrize("option", ["--spm 7MB", "--technology nvsim-stt"])
def test_cycles_of_banks_are_not_taken_for_those_of_others(
    run: Run, tmp_path: Path, option: str
) -> None:
    path = tmp_path / "i.json"
    assert run(f"problem {STT} --banks 10 -o {path}").code == 0
    memory = read_problem(path).machine.memory
    assert memory is not None
    assert memory.banks == 10
    said = refused(run(f"solve {path} {option} -s belady"))
    assert "its cycles are those of 10 banks of deepnvm-stt" in said
    assert run(f"solve {path} --bandwidth 100GB/s -s belady").code == 0


def test_a_sweep_takes_figures_of_each_capacity(run: Run) -> None:
    line = (
        "sweep bert-tiny --param layers=1 --param sequence=32 --machine gtx1080ti "
        "--spm 2MB:4MB:2MB --technology nvsim-stt,nvsim-sram --banks 64,128 -s stream --jobs 1 "
        "--objective energy --tolerance 0.1 --json"
    )
    rows = run(line).record["rows"]
    keys = [(row["technology"], row["banks"], row["spm_bytes"]) for row in rows]
    assert len(set(keys)) == 8
    energy = dict(zip(keys, [row["energy_j"] for row in rows], strict=True))
    for name in ("nvsim-stt", "nvsim-sram"):
        assert energy[name, "64", 4_000_000] > energy[name, "64", 2_000_000]
    assert all(row["bound"] <= row["value"] == row["energy_j"] for row in rows)


def test_bad_input_is_one_line(run: Run) -> None:
    said = refused(run("solve bert-tiny --machine gtx1080ti --banks 3"))
    assert "banks = 3: of which technology? name one as well" in said
