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
from tests.explain.conftest import NETWORK
from tests.reporting.terminal import Terminal
from tests.tiny import Op, tiny

KINDS = [f"{obstacle.words}_cycles" for obstacle in Obstacle]


def test_text(run: Run, stored: Path) -> None:
    ran = run(f"explain {stored} --top 3")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert "scheduler belady" in lines[0]
    assert lines[2].startswith("time ")
    assert any(line.startswith("Largest stalls: 3 of ") for line in lines)
    assert sum(line.startswith("step ") for line in lines) == 1
    assert "\nShadow prices (bound " in ran.out
    assert "\nSPM        each extra kB lowers the bound by at most " in ran.out
    assert "\nDRAM       1 GB/s more lowers the bound by at most " in ran.out
    assert lines[-2].startswith("With d extra bytes of SPM (whole pages of 4 KiB)")
    assert lines[-1].startswith("All of it in this order, of operations with the mappings")


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
    steps = run(f"explain {stored} --per operation --json").record["operations"]
    total = record["stall_cycles"]
    assert total == sum(step["cycles"] - step["compute_cycles"] for step in steps)
    assert sum(record["stall_cycles_by_obstacle"].values()) == total
    by_cause = record["stall_cycles_by_cause"]
    assert sum(by_cause.values()) == total
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
    assert (worth["priced_steps"] > 0) == (worth["per_spm_kb"] > 0)
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


A, AB = {"a": (8, "in")}, {"a": (8, "in"), "b": (8, "in")}
ABA = [Op(reads="a", cycles=4), Op(reads="b", cycles=3), Op(reads="a")]
HELD = [Op(cycles=10), *(Op(reads=r, required_resident="b") for r in ("a b", "b"))]
MANY = dict.fromkeys("abcdef", (8, "in")), [Op(reads="a b c d e"), Op(reads="f")]
LARGE = {"a": (16, "in")}, [Op(cycles=99), Op(reads="a")]
ALONE = "avoidable: each transfer by itself"
# Of three steps 4, 5 and 8 cycles of 24; a could be kept from step 0, all 8 bytes of it.
BY_HAND: dict[str, tuple[dict[str, tuple[int, str]], list[Op], str]] = {
    "time 24 s stall 17 s (70.8 %) in 3 of 3 steps": (AB, ABA, ""),
    "waits for 100 % stream in": (AB, ABA, ""),
    "2 op2 8.000 s stream in a 8 B avoidable fits earlier, or keep it since": (AB, ABA, ""),
    "1 op1 5.000 s stream in b 8 B channel channel busy in step 0: stream in a": (AB, ABA, ""),
    "dependency needed by the first step": (AB, ABA, ""),
    "blocked by 47.1 % avoidable, 29.4 % channel, 23.5 % dependency": (AB, ABA, ""),
    ALONE: (AB, ABA, "--step 2"),
    "4 B free in step 1, held by b (4 B until step 2)": ({**A, "b": (4, "in")}, HELD, "--step 1"),
    "capacity larger than the SPM of 8 B": (*LARGE, ""),
    "step 0 moves nothing, but is too short (2 s)": (A, [Op(cycles=2), Op(reads="a")], ""),
    "0 op0 16.00 s 2 more": (*MANY, ""),
    "and 2 more (16 s)": (*MANY, ""),
    "stall 0 s (0 %) in 0 of 1 steps": (A, [Op(cycles=4)], ""),
}
"""What is said of tensors and operations, by the text that is expected."""


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("shown", BY_HAND)
def test_by_hand(run: Run, tmp_path: Path, shown: str) -> None:
    tensors, operations, options = BY_HAND[shown]
    path = tmp_path / "i.json"
    write_problem(path, tiny(tensors, operations, spm=8))
    assert shown in " ".join(run(f"explain {path} -s stream {options}").out.split())


@pytest.mark.usefixtures("quick")
def test_times_of_a_replayed_schedule_are_those_of_steps(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "i.json"
    write_problem(path, tiny({"a": (8, "in")}, [Op(reads="a", cycles=4)], spm=8))
    said = "valued by async time, which has no barriers between steps"
    assert said in run(f"explain {path} -s stream --timing async").out
    assert said not in run(f"explain {path} -s stream").out


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
    ran = run(f"explain {NETWORK} --mapper tiled -s belady --objective {objective}")
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
        ("--csv /dev/null/rows.csv", "a folder is needed"),
    ],
)
def test_what_is_refused(run: Run, stored: Path, options: str, message: str) -> None:
    assert message in refused(run(f"explain {stored} {options}"))


def test_rows_do_not_replace_what_is_read(run: Run, stored: Path, tmp_path: Path) -> None:
    before = stored.read_bytes()
    link = tmp_path / "link.csv"
    link.symlink_to(stored)
    for csv_path in (stored, link):
        error = refused(run(f"explain {stored} --csv {csv_path}"))
        assert f"--csv {csv_path}: would replace the file that is read" in error
    assert stored.read_bytes() == before
