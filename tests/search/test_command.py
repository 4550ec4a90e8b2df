"""``spmopt tune`` and ``spmopt tune show``: what they print, write and refuse."""

import csv
import json
import re
from pathlib import Path

import optuna
import pytest
from optuna.study import StudyDirection

from spmopt.cli import Code
from spmopt.io.files import read_result
from tests.cli.run import Run
from tests.search.study import MLP, SPACE

LESS, MORE = StudyDirection.MINIMIZE, StudyDirection.MAXIMIZE


TUNE = (
    f"tune {MLP} --space s.toml --objective time,cost --sampler brute-force -s belady --workers 0"
)


def test_search_and_show(run: Run, tmp_path: Path) -> None:
    storage = "--storage sqlite:///tune.db"
    found = run(f"{TUNE} {storage}")
    assert found.code == 0
    assert re.match(r"study s: .*mlp\.json; 9 trials: \d solved", found.out)
    assert found.err == ""
    assert (tmp_path / "tune.db").is_file()
    record = run(f"tune show {storage} --json").record
    assert record["counts"]["solved"] + record["counts"]["excluded"] == 9
    front = record["front"]
    times = [trial["values"]["time_s"] for trial in front]
    costs = [trial["values"]["cost"] for trial in front]
    assert times == sorted(times)
    assert costs == sorted(costs, reverse=True)
    (network,) = front[0]["networks"].values()
    assert network["verified"] is True
    assert network["gap"] >= 0
    assert run(f"tune show {storage}").out == found.out
    again = run(f"{TUNE} {storage} --json")
    assert again.record == record


def test_the_front_as_rows_and_the_schedule_as_a_file(run: Run, tmp_path: Path) -> None:
    run(TUNE)
    assert run("tune show -o front.csv").code == 0
    rows = list(csv.DictReader((tmp_path / "front.csv").open()))
    assert [row["trial"] for row in rows] == [
        str(trial["trial"]) for trial in run("tune show --json").record["front"]
    ]
    number = rows[0]["trial"]
    one = run(f"tune show --trial {number} -o r.json")
    assert one.code == 0
    assert "verified" in one.out
    assert run("verify r.json").code == 0
    kept = read_result(tmp_path / "r.json").result.value
    for file in (tmp_path / "tune.schedules" / "s").iterdir():
        file.unlink()
    assert run(f"tune show --trial {number} -o r.json").code == 0
    assert read_result(tmp_path / "r.json").result.value == kept


def test_the_best_of_one_objective(run: Run, tmp_path: Path) -> None:
    run(f"{TUNE} --no-prune")
    best = run("tune show --top 4 --json -o top.csv").record["front"]
    every = [each["figures"]["time_s"] for each in run("tune show --json").record["trials"]]
    assert len(every) == 9
    assert [trial["values"]["time_s"] for trial in best] == sorted(every)[:4]
    assert len((tmp_path / "top.csv").read_text().splitlines()) == 5
    assert "--top 0: must be at least 1" in run("tune show --top 0").err


def test_an_excluded_trial_shows_its_proof(run: Run) -> None:
    run(TUNE)
    trials = run("tune show --json").record["trials"]
    excluded = [trial for trial in trials if trial["state"] == "excluded"]
    assert excluded
    for trial in excluded:
        number = trial["trial"]
        shown = run(f"tune show --trial {number}").out
        assert shown.startswith(f"trial {number}: excluded by proof\n")
        assert "any schedule has at least time_s" in shown
        assert f"; trial {trial['proof']['by']} has time_s" in shown
    made = run(f"tune show --trial {number} -o r.json")
    assert f"trial {number}: was excluded by proof, and not scheduled; " in made.err
    assert made.err.endswith("mlp.json is scheduled now\n")
    assert run("verify r.json").code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--space none.toml", "space none.toml: cannot be read"),
        ("--space s.toml --objective tim", "did you mean time?"),
        ("--space s.toml --objective ,", "objectives: name at least one"),
        ("--space s.toml --objective area", "area_mm2: the area of the scratchpad is not known"),
        ("--space s.toml --objective time --sampler tp", "no sampler called 'tp'"),
        ("--space s.toml --scheduler residncy --objective time", "did you mean residency?"),
        ("--space s.toml --scheduler bound --objective power", "power_w: has no bound"),
        ("--space p.toml --scheduler bound --objective time", "power_w <= 5: power_w has no bound"),
        ("--space s.toml --objective time,cost,time", "time,cost,time: time is named twice"),
        ("--space s.toml --objective time,time_s", "time_s is named twice; leave one out"),
        ("--space s.toml --objective time --schedule-for money", "no objective of schedules"),
        ("--space s.toml --objective time --trials 0", "--trials 0: must be at least 1"),
        ("--space s.toml --objective time --workers -1", "workers -1: must be at least 0"),
        ("--space s.toml --objective time --seed -1", "--seed -1: must be at least 0"),
        ("--space s.toml --objective time --timeout nan", "--timeout nan: must be 0 or more"),
        ("--space s.toml --objective time --tolerance -1", "--tolerance -1.0: must be a number"),
        ("--space s.toml --objective time --storage no/a.db", "no such folder as no"),
        ("--space s.toml --objective time --storage .", "is a folder; name a file in it"),
        ("--space s.toml --objective time --storage mysql+x://h/d", "cannot be read"),
        ("--space s.toml --objective time --batch 4", "is lowered already"),
        ("--space s.toml --objective time --keep-schedules /dev/null/b", "a folder is needed"),
        ("--space machine.toml --objective time", "a stored problem has its own; leave it out"),
        ("--space clock.toml --objective time", "clock: "),
        ("--space never.toml --objective time", "constraint gbps <= 0.1: nothing in the space"),
        ("--space typo.toml --objective time", "technology: no technology called 'nvsim-sran'"),
        ("--space weight.toml --objective time", "no network with a weight called 'alexnet'"),
    ],
)
def test_what_cannot_be_is_one_line(run: Run, options: str, message: str) -> None:
    Path("machine.toml").write_text('machine = "rtx2080ti"\n[space]\nspm = ["1MB", "2MB"]\n')
    Path("clock.toml").write_text('[space]\nclock = ["1GHz", "2GHz"]\n')
    Path("never.toml").write_text('constraints = ["gbps <= 0.1"]\n' + SPACE)
    names = '["nvsim-sram", "nvsim-sran", "nvsim-stt"]'
    Path("typo.toml").write_text(f"[space]\nspm = '2MB'\ntechnology = {names}\n")
    Path("p.toml").write_text('constraints = ["power <= 5"]\n' + SPACE)
    Path("weight.toml").write_text("weights = { alexnet = 2 }\n" + SPACE)
    found = run(f"tune {MLP} {options}")
    assert found.code == Code.BAD_INPUT
    assert message in found.err
    assert found.err.count("\n") == 1
    assert not Path("tune.db").exists()


def test_show_refuses_what_it_cannot(run: Run) -> None:
    assert "run 'spmopt tune' first" in run("tune show").err
    run(f"{TUNE} --trials 1")
    run(f"{TUNE} --trials 1 --study t")
    assert "holds several; name one of" in run("tune show").err
    assert "no study called 'x'" in run("tune show --study x").err
    assert "has trials 0 to 0" in run("tune show --study t --trial 1").err
    assert "is for --trial" in run("tune show --study t --network a").err
    assert "a schedule is no table" in run("tune show --study t --trial 0 -o a.csv").err
    assert "there is no 'a'" in run("tune show --study t --trial 0 --network a -o r.json").err
    run(f"{TUNE} -s bound --study b --trials 1")
    assert "gives bounds, no schedules" in run("tune show --study b --trial 0 -o r.json").err


@pytest.mark.parametrize("directions", [[LESS], [MORE, MORE]])
def test_a_study_of_another_program_is_refused(run: Run, directions: list[StudyDirection]) -> None:
    optuna.create_study(study_name="f", storage="sqlite:///f.db", directions=directions)
    for line in (TUNE, "tune show"):
        found = run(f"{line} --study f --storage sqlite:///f.db")
        assert found.code == Code.BAD_INPUT
        assert found.err.startswith("error: study f: was not made by this program")
        assert found.err.count("\n") == 1


def test_what_schedules_do_not_minimize_is_said(run: Run) -> None:
    Path("s.toml").write_text(SPACE + "energy.mac_pj = 1.0\n")
    line = f"tune {MLP} --space s.toml -s belady --workers 0 --trials 1 --objective"
    said = (
        "schedules minimize time; energy is theirs, not the least of the machine "
        "(--schedule-for energy minimizes it)\n"
    )
    began = run(f"{line} time,energy --study both")
    assert said in began.out
    assert "energy_j: schedules minimize time, and" in began.err
    assert "schedules minimize" not in run(f"{line} time,energy --study b -s bound").err
    assert "(--schedule-for" not in run(f"{line} time,traffic --study t").out
    assert said in run("tune show --study both").out
    assert run("tune show --study both --json").record["not_minimized"] == ["energy"]
    both = run(f"{line} energy,time,traffic --study three").out
    assert "schedules minimize energy; time and traffic are theirs, not" in both
    assert "schedules minimize" not in run(f"{line} time,cost --study one").out
    assert run("tune show --study one --json").record["not_minimized"] == []


def test_bounds_are_shown_as_bounds(run: Run) -> None:
    line = f"tune {MLP} --space s.toml -s bound --workers 0 --trials 1"
    shown = run(f"{line} --objective time,cost").out
    assert "figures with ≥ are lower bounds, each by itself" in shown
    assert re.search(r"≥ [\d.]+\s[mµn]s", shown)
    one = run("tune show --trial 0").out
    assert re.search(r"time_s +≥ ", one)
    (network,) = [line for line in one.splitlines() if "mlp.json: " in line]
    assert network.count("≥") == 1  # neither energy nor traffic, which nobody asked for
    assert "≥" not in run(f"{TUNE} --trials 1 --study t").out


def test_the_header_says_what_a_study_is_of(run: Run) -> None:
    Path("h.toml").write_text(
        '[space]\nspm = ["2MB", "4MB"]\nbandwidth = "100GB/s"\nbatch = [1, 2]\n'
    )
    line = "tune alexnet squeezenet --training --space h.toml --objective time,spm_mb -s stream"
    run(f"{line} --workers 0 --trials 1")
    lines = run("tune show").out.splitlines()
    assert lines[1].startswith("networks: alexnet")
    assert lines[1].count("(training)") == 2
    assert lines[2].endswith("; bandwidth = 100 GB/s")
    assert lines[3] == "objectives: time_s, spm_mb; schedules for time, by stream"
    assert lines[4] == "times, energies and bytes are sums over networks, for one sample"


def test_an_impossible_trial_says_why_and_no_limit_of_its_own(run: Run) -> None:
    Path("i.toml").write_text('[space]\nspm = ["8B", "1024B"]\npage = "16B"\n')
    line = f"tune {MLP} --space i.toml --objective time -s belady --sampler brute-force"
    assert "1 impossible" in run(f"{line} --workers 0 --trials 2").out
    shown = [run(f"tune show --trial {number}").out for number in (0, 1)]
    assert sum("no such machine: " in out for out in shown) == 1
    assert not any("possible does not hold" in out.replace("  ", " ") for out in shown)


def test_nothing_found_says_why(run: Run) -> None:
    Path("s.toml").write_text('constraints = ["time_s <= 1e-9"]\n' + SPACE)
    found = run(f"{TUNE} --trials 3")
    assert found.code == Code.NOTHING_FOUND
    assert "none of 3 trials holds time_s <= 1e-09; the nearest comes to " in found.err


def test_networks_have_weights_and_technologies_areas(run: Run) -> None:
    Path("n.toml").write_text(
        'machine = "rtx2080ti"\n'
        "weights = { alexnet = 3 }\n"
        'constraints = ["area_mm2 <= 100"]\n'
        '[space]\nspm = ["2MB", "4MB"]\ntechnology = ["nvsim-sram", "nvsim-stt"]\nbatch = [1, 2]\n'
    )
    line = "tune alexnet squeezenet --space n.toml --objective time,energy,area -s stream"
    found = run(f"{line} --workers 0 --trials 3 --sampler nsga3 --no-prune --json")
    assert found.code == 0
    for trial in found.record["front"]:
        networks, batch = trial["networks"], trial["parameters"]["batch"]
        total = 3 * networks["alexnet"]["time_s"] + networks["squeezenet"]["time_s"]
        assert trial["values"]["time_s"] == pytest.approx(total / batch)
        assert trial["machine"]["technology"] == trial["parameters"]["technology"]
        assert 0 < trial["values"]["area_mm2"] <= 100
    assert json.loads(found.out)["setup"]["schedule_for"] == "time"
    asked = run("tune show --study n --trial 0 -o r.json").err
    assert "a trial has a schedule for each; name one of alexnet, squeezenet" in asked
    assert run("tune show --study n --trial 0 --network alexnet -o r.json").code == 0
    assert run("verify r.json").code == 0
