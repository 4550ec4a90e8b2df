import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from formulations.residency.bound import compiled
from spmopt.api import mapper, scheduling
from spmopt.core.problem import Problem
from spmopt.core.result import Result
from spmopt.core.scheduler import Request
from spmopt.io.files import read_problem, read_result
from spmopt.schedulers.registry import COMPARED, SCHEDULERS
from spmopt.verifier import bound, verify
from tests.cli.run import Run
from tests.solving.fakes import bounds_only, install, keeps_start

NETWORK = "bert-tiny --batch 2 --training --spm 1MB"
PROMISED = {
    "scheduler",
    "makespan_cycles",
    "replay_cycles",
    "time_s",
    "traffic_bytes",
    "energy_j",
    "bound",
    "gap",
    "status",
    "solve_s",
    "cpu_s",
    "verified",
}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, lp_bound=bounds_only, residency=keeps_start, whole=keeps_start)


def test_compare_prints_one_row_a_scheduler_and_words(run: Run) -> None:
    ran = run(f"compare {NETWORK} --fusion none")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0].startswith("bert-tiny training, batch 2 (")
    assert "rtx2080ti: SPM 1 MB, 616 GB/s" in lines[0]
    assert lines[0].endswith("mapper choose; objective time")
    rows = [line.split()[0] for line in lines[4 : 4 + len(COMPARED)]]
    assert rows == list(COMPARED)
    optimum, subject, nearest = lines[-3:]
    assert optimum.startswith("Given order: optimum between ")
    assert subject.startswith("Belady: ")
    assert nearest.startswith("Best heuristic, ")
    assert subject.endswith(" above the optimum.")
    assert nearest.endswith(" above the optimum.")
    assert all(line == line.rstrip() for line in lines)


def test_json_has_what_is_promised(run: Run) -> None:
    ran = run(f"compare {NETWORK} --schedulers belady,lp-bound --objective traffic --json")
    belady, fluid = ran.record["results"]
    assert belady.keys() >= PROMISED
    assert belady["verified"] is True
    assert belady["replay_cycles"] <= belady["makespan_cycles"]
    assert belady["time_s"] == belady["makespan_cycles"] / 1_545_000_000
    assert belady["value"] == belady["traffic_bytes"]
    assert belady["gap"] == pytest.approx(belady["value"] / belady["bound"] - 1)
    assert fluid["bound"] == belady["bound"]
    assert (fluid["makespan_cycles"], fluid["verified"]) == (None, False)
    assert ran.record["problem"]["machine"]["spm_bytes"] == 1_000_000


def test_solve_writes_what_verify_accepts(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    solved = run(f"solve {NETWORK} --scheduler belady --objective energy -o {path}")
    assert solved.code == 0
    assert "yes (every rule, and by replay)" in solved.out
    stored = read_result(path)
    assert stored.result.schedule is not None
    assert stored.result.certificate is not None
    report = verify(stored.problem, stored.result.schedule, stored.result.totals)
    assert report.legal
    assert bound(stored.problem, stored.result.certificate) == stored.result.bound
    assert set(stored.versions) == {"spmopt", "python"}
    checked = run(f"verify {path}")
    assert checked.code == 0
    assert "belady: verified" in checked.out
    assert run(f"verify {path} --json").record["verified"] is True


def test_compare_writes_a_file_each(run: Run, tmp_path: Path) -> None:
    run(f"compare {NETWORK} --schedulers stream,belady,fluid -o {tmp_path}")
    assert {path.name for path in tmp_path.iterdir()} == {
        "stream.json",
        "belady.json",
        "lp-bound.json",
    }
    for path in tmp_path.iterdir():
        assert run(f"verify {path}").code == 0


def test_problem_can_be_written_solved_and_changed(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "i.json"
    written = run(f"problem {NETWORK} -o {path}")
    assert written.code == 0
    assert "bert-tiny training, batch 2" in written.out
    direct = run(f"solve {NETWORK} --scheduler belady --json").record["results"][0]
    stored = run(f"solve {path} --scheduler belady --json").record["results"][0]
    timing = ("solve_s", "cpu_s")
    assert {k: v for k, v in direct.items() if k not in timing} == {
        k: v for k, v in stored.items() if k not in timing
    }
    changed = run(f"solve {path} --scheduler belady --spm 2MB --no-duplex --json").record
    assert changed["problem"]["machine"]["spm_bytes"] == 2_000_000
    assert read_problem(path).machine.spm_bytes == 1_000_000


@pytest.mark.parametrize(
    ("option", "field", "value"),
    [
        ("--spm 2MiB", "spm_bytes", 2 * 2**20),
        ("--bandwidth 1GB/s", "dram_bytes_per_s", 10**9),
        ("--throughput 1TFLOP/s", "operations_per_s", 10**12),
        ("--clock 1GHz", "clock_hz", 10**9),
        ("--page 64KiB", "page_bytes", 65536),
        ("--dma-setup 100", "dma_setup_cycles", 100),
        ("--duplex", "duplex", True),
        ("--set name=mine", "name", "mine"),
        ("--machine a100 --set spm=3MB", "spm_bytes", 3_000_000),
    ],
)
def test_machine_options(run: Run, tmp_path: Path, option: str, field: str, value: object) -> None:
    ran = run(f"problem bert-tiny {option} -o {tmp_path / 'i.json'} --json")
    assert ran.code == 0
    assert ran.record["machine"][field] == value


def test_network_options(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "i.json"
    plain = run(f"problem bert-tiny -o {path} --json").record
    assert plain["name"] == "bert-tiny, batch 32"
    options = "--training --optimizer adam --batch 3 --param layers=1 --mapper ideal"
    changed = run(f"problem bert-tiny {options} -o {path} --json").record
    assert changed["name"] == "bert-tiny training, batch 3, adam, layers=1"
    assert (plain["mapper"], changed["mapper"]) == ("choose", "ideal")
    assert changed["operations"] > plain["operations"]


def test_a_network_that_is_not_folded_says_so(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "i.json"
    one, other = (
        run(f"problem resnet18 --batch 2 {option} -o {path} --json").record
        for option in ("--fold", "--no-fold")
    )
    assert (one["mapper"], other["mapper"]) == ("choose", "choose-unfolded")
    assert other["operations"] == one["operations"] + 20  # normalizations
    line = f"sweep resnet18 --batch 2 --spm 1MB -s stream --no-fold -o {tmp_path / 's.csv'}"
    assert run(line).code == 0
    assert ",choose-unfolded," in (tmp_path / "s.csv").read_text()
    assert "mapper differs" in run(line.replace("--no-fold", "--fold")).err


def test_lists(run: Run) -> None:
    networks = run("networks --json").record["networks"]
    assert {"resnet50", "gnmt"} <= {entry["name"] for entry in networks}
    assert all(entry["name"] in run("networks").out for entry in networks)
    machines = run("machines --json").record["machines"]
    assert {entry["name"] for entry in machines} == {
        *("a100", "ethos-u65", "gap9", "gtx1080ti", "i9-10980xe", "large-npu", "rtx2080ti"),
        *("rx6900xt", "small-npu", "tpuv4i"),
    }
    assert "13.45 TFLOP/s" in run("machines").out


def test_machines_say_what_their_scratchpads_are_of(run: Run, tmp_path: Path) -> None:
    rest = 'bandwidth = "64GB/s"\nthroughput = "2TFLOP/s"\nclock = "1GHz"\nsource = "made up"\n'
    (tmp_path / "b.toml").write_text(f'bank = ["1MB:nvsim-sram", "4MB:nvsim-stt:8"]\n{rest}')
    (tmp_path / "t.toml").write_text(f'spm = "3MB"\ntechnology = "deepnvm-sot"\nbanks = 16\n{rest}')
    line = f"machines {tmp_path}/b.toml {tmp_path}/t.toml a100"
    areas = run(f"{line} --json").record["areas_mm2"]
    rows = [re.split(r"\s{2,}", text) for text in run(line).out.splitlines()]
    place, area = rows[0].index("technology"), rows[0].index("area")
    assert [row[place] for row in rows[1:]] == [
        "1 MB nvsim-sram + 4 MB nvsim-stt",
        "deepnvm-sot in 16 banks",
        "-",
    ]
    assert [row[area] for row in rows[1:]] == [f"{areas[0]:.4g} mm2", f"{areas[1]:.4g} mm2", "-"]
    for name, known in zip("bt", areas, strict=False):
        solved = run(f"solve bert-tiny --machine {tmp_path}/{name}.toml -s stream --json").record
        assert solved["problem"]["area"]["total_mm2"] == known
    assert areas[2] is None
    assert "did you mean a100" in run("machines a10").err


def test_every_choice_of_every_option_is_explained(run: Run) -> None:
    out, records = run("schedulers").out, run("schedulers --json").record["schedulers"]
    assert [record["name"] for record in records] == list(SCHEDULERS)
    explained = [re.split(r"\s{3,}", line) for line in out.split("\n\n")[1].splitlines()]
    for entry in SCHEDULERS.values():
        assert f"{entry.summary} [{entry.source}]" in out
        for option, choices in entry.options.items():
            default, *others = choices
            meanings = {f"{option}={choice}": choices[choice] for choice in others}
            meanings[f"{option}={default}"] = f"{choices[default]} (default)"
            for name, meaning in meanings.items():
                assert any(
                    row[0] == name and entry.name in row[1].split(", ") and row[2] == meaning
                    for row in explained
                )
    assert "Traceback" not in run("sweep --help").out
    assert "spmopt schedulers" in run("sweep --help").out


def test_version_and_help(run: Run) -> None:
    assert run("--version").out == "spmopt 0.2.0\n"
    commands = ("", "solve", "compare", "verify", "problem", "networks", "machines", "schedulers")
    for command in commands:
        ran = run(f"{command} --help")
        assert (ran.code, ran.err) == (0, "")
        assert "Usage: spmopt" in ran.out


def test_time_limit_tolerance_and_threads_arrive(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    got: list[Request] = []

    def look(problem: Problem, request: Request) -> Result:
        got.append(request)
        return keeps_start(problem, request)

    install(monkeypatch, residency=look)
    run(
        f"solve {NETWORK} -s residency --time-limit 7 --tolerance 0.5 --threads 3 --objective "
        "energy"
    )
    assert (got[0].time_limit_s, got[0].tolerance, got[0].threads) == (7.0, 0.5, 3)
    assert got[0].objective.name == "energy"


def test_it_says_that_bounds_take_long(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "failure", lambda: "NumPy does its work")
    ran = run("solve instances/mlp.json -s belady")
    assert (ran.code, ran.err) == (0, "warning: NumPy does its work\n")


def test_a_search_for_an_order_takes_a_part_of_the_time_limit(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = list[float]()

    def noting(function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: object, **options: Any) -> object:
            limits.append(options["time_limit"])
            return function(*arguments, **options)

        return called

    monkeypatch.setattr(mapper, "lower", noting(mapper.lower))
    monkeypatch.setattr(scheduling, "solve", noting(scheduling.solve))
    for order in ("listed", "searched"):
        run(f"solve {NETWORK} --fusion none --order {order} --time-limit 8 -s belady --quiet")
    assert limits[:3] == [2, 8, 2]
    assert 4 <= limits[3] < 8
