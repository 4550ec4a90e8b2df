"""``spmopt trace``: the file that it writes, and what it refuses."""

import gzip
import json
from pathlib import Path

import pytest

from spmopt.reporting.schedule_view import TIMINGS
from tests.cli.run import Run
from tests.cli.test_failures import refused

PROBLEMS = Path(__file__).parents[2] / "instances"
PROBLEM, NONE = PROBLEMS / "mlp.json", PROBLEMS / "infeasible.json"


pytestmark = pytest.mark.usefixtures("quick")


@pytest.fixture
def stored(run: Run, tmp_path: Path) -> Path:
    """A result file."""
    path = tmp_path / "r.json"
    assert run(f"solve {PROBLEM} -s belady -o {path}").code == 0
    return path


@pytest.mark.parametrize("timing", TIMINGS)
def test_a_result_becomes_a_trace(run: Run, stored: Path, tmp_path: Path, timing: str) -> None:
    path = tmp_path / "trace.json"
    path.write_text("old")
    record = run(f"trace {stored} -o {path} --timing {timing} --json").record
    document = json.loads(path.read_text())
    totals = json.loads(stored.read_text())["totals"]
    cycles = totals["makespan_cycles" if timing == "step" else "replay_cycles"]
    assert document["otherData"]["cycles"] == record["cycles"] == cycles
    assert len(document["traceEvents"]) == record["events"] > 0
    slices = [event for event in document["traceEvents"] if "dur" in event and event["pid"] == 1]
    moved = [event["args"].get("bytes", 0) for event in slices]
    assert sum(moved) == totals["dram_in_bytes"] + totals["dram_out_bytes"]
    assert (record["file"], record["timing"]) == (str(path), timing)
    assert {*tmp_path.iterdir()} == {path, stored}


def test_text_is_a_line(run: Run, stored: Path, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    ran = run(f"trace {stored} -o {path}")
    events = len(json.loads(path.read_text())["traceEvents"])
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.replace("\n", "").startswith(f"{path}: mlp")
    assert f"{events} events" in ran.out
    assert json.loads(path.read_text())["otherData"]["timing"] == "step"


def test_two_schedules_are_one_file_that_gzip_reads(run: Run, stored: Path, tmp_path: Path) -> None:
    other, path = tmp_path / "page.json", tmp_path / "both.json.gz"
    assert run(f"solve {PROBLEM} -s lru -o {other}").code == 0
    record = run(f"trace {stored} {other} -o {path} --json").record
    document = json.loads(gzip.decompress(path.read_bytes()))
    cycles = [json.loads(each.read_text())["totals"]["makespan_cycles"] for each in (stored, other)]
    assert [document["otherData"][mark]["cycles"] for mark in "AB"] == cycles
    assert [record["cycles"], record["second"]["cycles"]] == cycles
    assert record["events"] == len(document["traceEvents"])
    ends = {1: 0.0, 100_001: 0.0}
    for event in document["traceEvents"]:
        if event["ph"] == "X" and event["pid"] in ends:
            assert event["ts"] >= 0
            ends[event["pid"]] = max(ends[event["pid"]], event["ts"] + event["dur"])
    clock = document["otherData"]["A"]["clock_hz"]
    assert [*ends.values()] == pytest.approx([each / clock * 10**6 for each in cycles], rel=1e-3)
    before = path.read_bytes()
    assert run(f"trace {stored} {other} -o {path}").code == 0
    assert path.read_bytes() == before


def test_help_explains_the_timings(run: Run) -> None:
    text = run("trace --help").out
    for timing in TIMINGS:
        assert timing in text


def test_refusals(run: Run, stored: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text(stored.read_text()[:-100])
    for line, expected in (
        ("none.json -o t.json", "none.json: cannot be read (No such file"),
        (f"{broken} -o {tmp_path}/t.json", "not a complete JSON file"),
        (f"{PROBLEM} -o {tmp_path}/t.json", "a problem is for 'spmopt solve'"),
        (f"{stored} -o {tmp_path}", "is a folder"),
        (f"{stored} -o {tmp_path}/t.txt", "let the name end in .json or .gz"),
        (f"{stored} -o /dev/null/t.json", "a folder is needed"),
        (f"{stored} -o {stored}", "would replace the file that is read"),
        (f"{broken} {stored} -o {stored}", "would replace the file that is read"),
        (f"{stored} {broken} -o {tmp_path}/t.json", "not a complete JSON file"),
        (f"{stored} -o {tmp_path}/t.json --timing stpe", "did you mean step?"),
    ):
        assert expected in refused(run(f"trace {line}"))
    assert {*tmp_path.iterdir()} == {broken, stored}


def test_a_bound_is_no_schedule(run: Run, tmp_path: Path) -> None:
    path, trace = tmp_path / "r.json", tmp_path / "t.json"
    assert run(f"solve {PROBLEM} -s fluid -o {path}").code == 0
    said = refused(run(f"trace {path} -o {trace}"))
    assert f"{path}: holds no schedule, but a bound on time, 206 ns, which 'spmopt verify'" in said
    assert (
        "name a result that has one, as 'spmopt solve --scheduler residency -o' writes it" in said
    )
    assert not trace.exists()


def test_what_is_infeasible_says_why(run: Run, tmp_path: Path) -> None:
    path, page = tmp_path / "r.json", tmp_path / "t.html"
    assert run(f"solve {NONE} -s lru -o {path}").code == 3
    (note,) = run(f"solve {NONE} -s lru --json").record["results"][0]["notes"]
    said = refused(run(f"report {path} -o {page}"))
    assert f"{path}: holds no schedule (infeasible: {note})" in said


def test_a_result_must_be_true(run: Run, stored: Path, tmp_path: Path) -> None:
    document = json.loads(stored.read_text())
    document["totals"]["dram_in_bytes"] += 1
    stored.write_text(json.dumps(document))
    trace = tmp_path / "t.json"
    trace.write_text("old")
    line = refused(run(f"trace {stored} -o {trace}"), code=1)
    assert "dram_in_bytes is claimed to be" in line
    assert trace.read_text() == "old"
