"""``spmopt tune show``: every trial, what banks and fits make of machines, trials that are lost."""

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import optuna
import pytest

from spmopt.cli import Code
from spmopt.core.processes import machine, own_name
from spmopt.search.storage import PROCESS, open_storage
from tests.cli.run import Run
from tests.search.study import MLP, SPACE

CAPPED = """
[space]
spm = ["8MiB", "48MiB"]
technology = "nvsim-sram"
banks = [2, 4096]
"""
PARALLEL = f"tune {MLP} --space s.toml --objective time,cost --sampler brute-force -s belady"
TUNE = f"{PARALLEL} --workers 0"


@pytest.fixture
def run(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "c.toml").write_text(CAPPED)
    return run


def test_every_trial_is_in_the_record(run: Run) -> None:
    storage = "--storage journal:t.log"  # its workers open it, too
    run(f"{PARALLEL} {storage}")
    record = run(f"tune show --json {storage}").record
    trials = record["trials"]
    assert [trial["trial"] for trial in trials] == list(range(9))
    states = [trial["state"] for trial in trials]
    assert {state: states.count(state) for state in states} == {
        state: count for state, count in record["counts"].items() if count
    }
    for trial in trials:
        assert set(trial["parameters"]) == {"spm", "bandwidth"}
        is_solved = trial["state"] == "solved"
        assert (trial["figures"] is not None) == (trial["gap"] is not None) == is_solved
        assert (trial["proof"] is None) == is_solved
        assert trial["error"] is None
    by_number = {trial["trial"]: trial for trial in trials}
    for member in record["front"]:
        assert by_number[member["trial"]].items() <= member.items()
    one = run(f"tune show --top 1 --json {storage}").record
    assert one["top"] == 1
    assert len(one["front"]) == 1
    run(f"{TUNE.replace('time,cost', 'time')} --study one --trials 2")
    assert len(run("tune show --study one --json").record["front"]) == 1


def test_the_front_has_figures_of_constraints_and_totals(run: Run) -> None:
    limits = 'constraints = ["energy_j <= 1", "spm_mb <= 1"]\n'
    weights = f"weights = {{ '{MLP}' = 3 }}\n"
    Path("s.toml").write_text(f"{limits}{weights}{SPACE}energy.mac_pj = 1.0\n")
    found = run(f"{TUNE} --trials 3").out
    assert f"times, energies and bytes are weighted sums over networks ({MLP} x 3)" in found
    head = next(line for line in found.splitlines() if line.startswith("trial"))
    assert head.split()[3:] == ["time", "cost", "energy", "spm_mb", "gap", "seconds"]
    front = run("tune show -o rows.csv --json").record["front"]
    rows = list(csv.DictReader(Path("rows.csv").read_text().splitlines()))
    assert len(rows) == len(front) > 0
    for row, trial in zip(rows, front, strict=True):
        for name, value in trial["figures"].items():
            assert float(row[name]) == value
        for name in ("time_s", "energy_j", "traffic_bytes"):
            assert float(row[name]) == pytest.approx(3 * float(row[f"{MLP}.{name}"]))


def test_a_schedule_that_is_gone_is_made_again(run: Run) -> None:
    run(f"{TUNE} --trials 2")
    number = run("tune show --json").record["front"][0]["trial"]
    (file,) = Path("tune.schedules/s").glob(f"{number}-*.json.gz")
    assert "its schedule was not kept" not in run(f"tune show --trial {number} -o r.json").err
    file.write_bytes(b"damaged")
    again = run(f"tune show --trial {number} -o r.json").err
    assert "its schedule was not kept, or is gone" in again


def test_what_banks_and_fits_make_of_a_machine(run: Run) -> None:
    line = "tune alexnet --space c.toml --objective time,area -s stream --sampler grid --no-prune"
    run(f"{line} --workers 0")
    found = run("tune show --top 4")
    record = run("tune show --top 4 -o rows.csv --json").record
    assert len(record["front"]) == 4
    rows = {
        int(row["trial"]): row for row in csv.DictReader(Path("rows.csv").read_text().splitlines())
    }
    for trial in record["front"]:
        number, parameters = trial["trial"], trial["parameters"]
        rate = trial["dram_bytes_per_s"]
        (line,) = re.findall(rf"^ +{number} .*$", found.out, re.MULTILINE)
        assert (rate < 616_000_000_000) == (parameters["banks"] == 2) == ("banks " in line)
        assert "616 GB/s" in line
        is_beyond = parameters["spm"] > 32 * 2**20
        assert is_beyond == ("nvsim-sram beyond its fit" in line)
        assert trial["basis"] == ("fit, beyond its points" if is_beyond else "fit")
        assert rows[number]["basis"] == trial["basis"]
        assert int(rows[number]["dram_bytes_per_s"]) == rate
    every = [run(f"tune show --trial {number}").out for number in range(4)]
    assert sum("beyond its points" in out for out in every) == 2
    assert sum(bool(re.search(r"bandwidth +616 GB/s, banks ", out)) for out in every) == 2


def test_a_lost_trial_is_told_from_one_that_runs(run: Run) -> None:
    run(f"{TUNE} --trials 1")
    study = optuna.load_study(study_name="s", storage=open_storage("tune.db"))
    here = machine()
    gone = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"],
        capture_output=True,
        text=True,
        check=True,
    )
    for process in (f"{here}:{gone.stdout.strip()}", own_name(), "far:pid:[1]:12"):
        study.ask().set_user_attr(PROCESS, process)
    study.tell(study.ask(), state=optuna.trial.TrialState.FAIL)  # as one that was put back
    failed = study.ask()
    failed.set_user_attr("error", "no schedule found")
    study.tell(failed, state=optuna.trial.TrialState.FAIL)
    counted = "6 trials: 1 solved, 1 failed, 2 running, 1 lost, 1 lost and begun again"
    assert counted in run("tune show").out
    shown = [run(f"tune show --trial {number}").out for number in range(1, 6)]
    assert shown == [
        "trial 1: lost: its process ended before it\n",
        f"trial 2: running: process {os.getpid()} of this machine\n",
        "trial 3: running: process 12 of far\n",
        "trial 4: lost and begun again: its process ended before it\n",
        "trial 5: failed: no schedule found\n",
    ]
    trials = run("tune show --json").record["trials"]
    assert [trial["error"] for trial in trials][1:] == [
        "its process ended before it",
        None,
        None,
        "its process ended before it",
        "no schedule found",
    ]


@pytest.mark.parametrize(
    "content",
    [
        b"a text\n",
        b'{"key": 1}\n',
        b"SQLite format 3\0\x10\0",
    ],
)
def test_a_journal_that_is_none(run: Run, content: bytes) -> None:
    Path("j").write_bytes(content)
    for line in (f"{TUNE} --storage journal:j", "tune show --storage journal:j"):
        found = run(line)
        assert found.code == Code.BAD_INPUT
        assert "--storage journal:j: cannot be read (it is no journal of Optuna)" in found.err
        assert found.err.count("\n") == 1
    assert Path("j").read_bytes() == content


def test_the_usage_is_what_is_typed(run: Run) -> None:
    assert "Usage: spmopt tune COMMAND [OPTIONS] NETWORKS" in run("tune --help").out
    assert "Usage: spmopt tune search [OPTIONS]" in run("tune search --help").out
    assert "Usage: spmopt tune show [OPTIONS]" in run("tune show --help").out
