"""``spmopt explain``: text, JSON, CSV, result files, and what it refuses."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from rich.console import Console

from spmopt.analysis.obstacles import Obstacle
from spmopt.io.files import write_problem
from tests.cli.run import Run
from tests.cli.test_failures import refused
from tests.reporting.terminal import Terminal
from tests.solving.fakes import bounds_only, install
from tests.tiny import Op, tiny

NETWORK = "bert-tiny --batch 2 --training --spm 1MB"
KINDS = [f"{obstacle.words}_cycles" for obstacle in Obstacle]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, fluid=bounds_only)


@pytest.fixture
def stored(run: Run, tmp_path: Path) -> Path:
    """A result file, with the dual values of the relaxation."""
    path = tmp_path / "r.json"
    assert run(f"solve {NETWORK} -s belady -o {path}").code == 0
    return path


def test_text(run: Run, stored: Path) -> None:
    ran = run(f"explain {stored} --top 3")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert "scheduler belady" in lines[0]
    assert lines[2].startswith("time ")
    assert any(line.startswith("Largest stalls: 3 of ") for line in lines)
    assert sum(line.startswith("step ") for line in lines) == 1
    assert "\nShadow dual values (bound " in ran.out
    assert "\nSPM        each extra kB lowers the bound by at most " in ran.out
    assert "\nDRAM       each extra GB/s lowers the bound by at most " in ran.out
    assert "\nSPM dual value by step:\n" in ran.out
    assert lines[-1].startswith("With d extra bytes of SPM (whole pages of 4 KiB)")


@pytest.mark.parametrize("width", [80, 60])
def test_a_terminal_folds_what_a_pipe_gets_in_full(
    run: Run, stored: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    piped = run(f"explain {stored}").out
    assert max(map(len, piped.splitlines())) > 100
    terminal = Terminal()
    console = Console(file=terminal, width=width, color_system=None)
    monkeypatch.setattr("spmopt.cli.terminal.output.results", lambda: console)
    assert run(f"explain {stored}").code == 0
    text = terminal.getvalue()
    assert max(map(len, text.splitlines())) <= width
    assert "A wider terminal has room for: size, operation" in text


def test_sums_are_those_of_the_analysis(run: Run, stored: Path) -> None:
    record = run(f"explain {stored} --json").record
    analysis = run(f"analyze {stored} --json").record
    total = record["stall_cycles"]
    assert total == analysis["network"]["cycles"] - analysis["network"]["compute_cycles"]
    assert sum(record["stall_cycles_by_obstacle"].values()) == total
    by_cause = record["stall_cycles_by_cause"]
    assert sum(by_cause.values()) == total
    clock = record["problem"]["machine"]["clock_hz"]
    for cause, seconds in analysis["stall_s_by_cause"].items():
        assert by_cause[cause] / clock == pytest.approx(seconds)
    assert len(record["stalls"]) == 5
    sizes = [stall["stall_cycles"] for stall in record["stalls"]]
    assert sizes == sorted(sizes, reverse=True)
    for stall in record["stalls"]:
        parts = stall["transfers"]
        assert sum(part["stall_cycles"] for part in parts) == stall["stall_cycles"]
        for part in parts:
            assert sum(part[kind] for kind in KINDS) == part["stall_cycles"]
            assert (part["full_step"] is None) == (part["held_by"] == [])
            assert (part["busy_step"] is None) == (part["busy_with"] == [])
    worth = record["shadow_prices"]
    assert worth["bound"] == record["result"]["bound"]
    parts = [stretch["per_spm_kb"] for stretch in worth["spm_stretches"]]
    assert sum(parts) == pytest.approx(worth["per_spm_kb"], rel=2e-3)
    assert worth["per_gb_per_s"] > 0


def test_rows_of_every_transfer(run: Run, stored: Path, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    record = run(f"explain {stored} --json --top 1000 --csv {path}").record
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert sum(int(row["stall_cycles"]) for row in rows) == record["stall_cycles"]
    for obstacle in Obstacle:
        total = sum(int(row[f"{obstacle.words}_cycles"]) for row in rows)
        assert total == record["stall_cycles_by_obstacle"][obstacle.words]
    assert len(record["stalls"]) == record["stalled_steps"] == len({row["step"] for row in rows})
    assert len(rows) == sum(len(stall["transfers"]) for stall in record["stalls"])


def test_one_step_in_full(run: Run, stored: Path, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    (largest,) = run(f"explain {stored} --top 1 --json").record["stalls"]
    ran = run(f"explain {stored} --step {largest['step']} --csv {path}")
    assert ran.code == 0
    assert "largest" not in ran.out
    shown = [line.split() for line in ran.out.splitlines()]
    for part in largest["transfers"]:
        named = [str(largest["step"]), largest["operation"]]
        said = [*part["transfer"].split(), part["tensor"]]
        lines = [row for row in shown if row[:2] == named and row[4 : 4 + len(said)] == said]
        assert len(lines) == sum(part[kind] > 0 for kind in KINDS)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {int(row["step"]) for row in rows} == {largest["step"]}
    assert len(rows) == len(largest["transfers"])


@pytest.mark.usefixtures("quick")
def test_by_hand(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "i.json"
    tensors = {"a": (8, "in"), "b": (8, "in")}
    operations = [Op(reads="a", cycles=4), Op(reads="b", cycles=3), Op(reads="a")]
    write_problem(path, tiny(tensors, operations, spm=8))
    out = run(f"explain {path} -s stream").out
    text = " ".join(out.split())
    # 4, 5 and 8 cycles of 24; a could be kept from step 0, all 8 bytes of it.
    assert "time 24 s stall 17 s (70.8 %) in 3 of 3 steps" in text
    assert "waits for 100 % stream in" in text
    assert "2 op2 8.000 s stream in a 8 B avoidable fits earlier, or keep it since step 0" in text
    busy = "channel busy in step 0: stream in a (8 s)"
    assert f"1 op1 5.000 s stream in b 8 B channel {busy}" in text
    assert "dependency needed by the first step" in text
    assert "avoidable: each transfer by itself" in text
    assert "blocked by 47.1 % avoidable, 29.4 % channel, 23.5 % dependency" in text


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("step", "shown"), [(1, False), (2, True)])
def test_what_is_avoidable_is_explained_where_it_is_shown(
    run: Run, tmp_path: Path, step: int, shown: bool
) -> None:
    path = tmp_path / "i.json"
    operations = [Op(reads="a", cycles=4), Op(reads="b", cycles=3), Op(reads="a")]
    write_problem(path, tiny({"a": (8, "in"), "b": (8, "in")}, operations, spm=8))
    out = " ".join(run(f"explain {path} -s stream --step {step}").out.split())
    assert "% avoidable" in out
    assert ("avoidable: each transfer by itself" in out) == shown


@pytest.mark.usefixtures("quick")
def test_a_holder_is_there_until_a_step_that_exists(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "i.json"
    operations = [
        Op(cycles=10),
        Op(reads="a b", required_resident="b"),
        Op(reads="b", required_resident="b"),
    ]
    write_problem(path, tiny({"a": (8, "in"), "b": (4, "in")}, operations, spm=8))
    ran = run(f"explain {path} -s stream --step 1")
    assert "4 B free in step 1, held by b (4 B until step 2)" in " ".join(ran.out.split())
    record = run(f"explain {path} -s stream --step 1 --json").record
    held = [part["held_by"] for part in record["stalls"][0]["transfers"] if part["held_by"]]
    assert held[0] == [{"name": "b", "size_bytes": 4, "until_step": 2}]


@pytest.mark.usefixtures("quick")
def test_a_tensor_larger_than_the_scratchpad_is_called_that(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "i.json"
    write_problem(path, tiny({"a": (16, "in")}, [Op(cycles=99), Op(reads="a")], spm=8))
    text = " ".join(run(f"explain {path} -s stream").out.split())
    assert "capacity larger than the SPM of 8 B" in text
    assert "free in step" not in text


@pytest.mark.usefixtures("quick")
def test_a_step_that_moves_nothing_may_be_too_short(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "i.json"
    write_problem(path, tiny({"a": (8, "in")}, [Op(cycles=2), Op(reads="a")], spm=8))
    text = " ".join(run(f"explain {path} -s stream").out.split())
    assert "channel step 0 moves nothing, but is too short (2 s)" in text


@pytest.mark.usefixtures("quick")
def test_more_transfers_are_called_so(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "i.json"
    tensors = dict.fromkeys("abcdef", (8, "in"))
    write_problem(path, tiny(tensors, [Op(reads="a b c d e"), Op(reads="f")], spm=8))
    text = " ".join(run(f"explain {path} -s stream").out.split())
    assert "0 op0 16.00 s 2 more" in text
    assert "and 2 more (16 s)" in text


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("command", ["explain", "analyze"])
def test_times_of_a_replayed_schedule_are_those_of_steps(
    run: Run, tmp_path: Path, command: str
) -> None:
    path = tmp_path / "i.json"
    write_problem(path, tiny({"a": (8, "in")}, [Op(reads="a", cycles=4)], spm=8))
    said = "valued by the replay, which has no barriers between steps"
    assert said in run(f"{command} {path} -s stream --objective replay").out
    assert said not in run(f"{command} {path} -s stream").out


@pytest.mark.usefixtures("quick")
def test_nothing_to_explain(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "i.json"
    write_problem(path, tiny({"a": (8, "in")}, [Op(cycles=4)], spm=8))
    ran = run(f"explain {path} -s stream")
    assert ran.code == 0
    assert "stall      0 s (0 %) in 0 of 1 steps" in ran.out
    record = run(f"explain {path} -s stream --json").record
    assert (record["stalls"], record["stall_cycles"]) == ([], 0)


def test_without_duals_nothing_is_worth_anything(run: Run, stored: Path) -> None:
    document = json.loads(stored.read_text())
    document.update(certificate=None, bound=None)
    stored.write_text(json.dumps(document))
    assert run(f"explain {stored} --json").record["shadow_prices"] is None
    assert "Shadow prices: none" in run(f"explain {stored}").out


def test_other_objectives_have_their_own_unit(run: Run) -> None:
    ran = run(f"explain {NETWORK} -s belady --objective traffic --json")
    worth = ran.record["shadow_prices"]
    assert (worth["unit"], worth["per_gb_per_s"]) == ("bytes", 0)
    assert worth["per_spm_kb"] > 0


@pytest.mark.parametrize("objective", ["traffic", "energy"])
def test_without_a_dual_of_time_nothing_is_said_of_the_pace(run: Run, objective: str) -> None:
    ran = run(f"explain {NETWORK} -s belady --objective {objective}")
    assert "SPM        each extra kB lowers" in ran.out
    assert "DRAM       each" not in ran.out


def test_infeasible_is_explained_in_fields(run: Run, tmp_path: Path) -> None:
    path, result = tmp_path / "i.json", tmp_path / "r.json"
    write_problem(path, tiny({"a": (8, "in")}, [Op(reads="a", required_resident="a")], spm=4))
    assert run(f"solve {path} -s belady -o {result}").code == 3
    for source in (f"{path} -s belady", f"{result}"):
        ran = run(f"explain {source} --json")
        assert ran.code == 3
        assert ran.record["status"] == "infeasible"
        assert ran.record["conflict"]["missing_bytes"] == 4
        assert "a (8 bytes) alone does not fit" in refused(run(f"explain {source}"), code=3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--top 0", "--top 0: must be at least 1"),
        ("--step 1000", "--step 1000: there are steps 0 to "),
        ("--step -1", "--step -1: there are steps 0 to "),
        ("-s residency", "--scheduler: "),
        ("--csv /dev/null/rows.csv", "a folder is needed"),
    ],
)
def test_what_is_refused(run: Run, stored: Path, options: str, message: str) -> None:
    assert message in refused(run(f"explain {stored} {options}"))


@pytest.mark.parametrize("command", ["explain", "analyze"])
def test_rows_do_not_replace_what_is_read(
    run: Run, stored: Path, tmp_path: Path, command: str
) -> None:
    before = stored.read_bytes()
    link = tmp_path / "link.csv"
    link.symlink_to(stored)
    for csv_path in (stored, link):
        error = refused(run(f"{command} {stored} --csv {csv_path}"))
        assert f"--csv {csv_path}: would replace the file that is read" in error
    assert stored.read_bytes() == before
