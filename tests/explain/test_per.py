"""``spmopt explain --per``: text, JSON, CSV, result files, and what it refuses."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.scheduler import Request
from spmopt.io.files import write_problem
from tests.cli.run import Run
from tests.cli.test_failures import refused
from tests.explain.conftest import NETWORK
from tests.solving.fakes import install
from tests.tiny import Op, tiny

pytestmark = pytest.mark.usefixtures("quick")


def test_text_has_a_row_for_each_pass_of_a_layer(run: Run) -> None:
    ran = run(f"explain {NETWORK} -s belady --per layer")
    assert (ran.code, ran.err) == (0, "")
    words = [line.split()[0] for line in ran.out.splitlines() if line]
    assert words[1:7] == ["time", "stall", "waits", "blocked", "beyond", "roofline"]
    assert words.count("layer0.ffn.1") == 2


@pytest.mark.parametrize("per", ["operation", "layer", "tensor"])
def test_details_add_up_to_the_network(run: Run, tmp_path: Path, per: str) -> None:
    path = tmp_path / "rows.csv"
    record = run(f"explain {NETWORK} -s belady --per {per} --json --csv {path}").record
    result, rows = record["result"], record[f"{per}s"]
    with path.open(newline="") as file:
        table = list(csv.DictReader(file))
    assert [row["name"] for row in table] == [row["name"] for row in rows]
    sums = {"dram_in_bytes": "dram_in_bytes", "dram_out_bytes": "dram_out_bytes"}
    sums |= {} if per == "tensor" else {"cycles": "makespan_cycles"}
    for name, total in sums.items():
        assert sum(int(row[name]) for row in table) == result[total]
    if per == "operation":
        assert all(isinstance(row["flop"], int) for row in rows)
        assert all(row["compute_utilization"] <= 1 for row in rows)


def test_figures_that_are_infinite_are_left_out(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "i.json"
    write_problem(path, tiny({"a": (4, "in")}, [Op(cycles=3), Op(reads="a")], spm=8))
    ran = run(f"explain {path} -s belady --per operation --json --csv {tmp_path / 'rows.csv'}")
    assert [row["flop_per_byte"] for row in ran.record["operations"]] == [None, 0]
    assert run(f"explain {path} -s belady --per operation").code == 0


def test_the_former_command_is_read_with_a_note(run: Run, stored: Path) -> None:
    ran = run(f"analyze {stored} --per layer")
    assert "note: analyze is now explain" in ran.err
    assert ran.out == run(f"explain {stored} --per layer").out


def test_a_result_file_is_explained_as_it_is(run: Run, stored: Path) -> None:
    direct: dict[str, Any] = run(f"explain {NETWORK} -s belady --per layer --json").record
    read: dict[str, Any] = run(f"explain {stored} --per layer --json").record
    assert read["result"]["scheduler"] == "belady"
    for part in ("stalls", "layers", "shadow_prices"):
        assert read[part] == direct[part]


@pytest.mark.parametrize(
    ("option", "name"),
    [
        ("-s residency", "--scheduler"),
        ("--spm 2MB", "--spm"),
        ("--training", "--training"),
        ("--time-limit 3", "--time-limit"),
    ],
)
def test_a_result_file_takes_no_options_of_the_network(
    run: Run, stored: Path, option: str, name: str
) -> None:
    line = refused(run(f"explain {stored} {option}"))
    assert line.startswith(f"error: {name}: ")
    assert "scheduled already" in line


def test_a_result_file_must_be_true(run: Run, stored: Path) -> None:
    document = json.loads(stored.read_text())
    document["totals"]["dram_in_bytes"] += 1
    stored.write_text(json.dumps(document))
    assert "dram_in_bytes is claimed to be" in refused(run(f"explain {stored}"), code=1)


def test_a_result_file_without_a_schedule_is_refused(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    assert run(f"solve {NETWORK} -s lp-bound -o {path}").code == 0
    assert "holds no schedule, but a bound on time, " in refused(run(f"explain {path}"))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"explain {NETWORK} -s lp-bound", "gives a bound, no schedule"),
        (f"explain {NETWORK} -s beladi", "did you mean belady?"),
        (f"explain {NETWORK} --per layers", "did you mean layer?"),
        ("explain none.json", "none.json: cannot be read"),
    ],
)
def test_refusals(run: Run, line: str, expected: str) -> None:
    assert expected in refused(run(line))


def test_no_schedule_within_the_limits(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(problem: Problem, request: Request) -> Result:
        del problem, request
        return Result(residency_plan=None)

    install(monkeypatch, belady=nothing)
    ran = run(f"explain {NETWORK} -s belady")
    assert (ran.code, ran.out) == (4, "")
    assert "no schedule found within the limits" in ran.err
