"""The measures and the suite of placements, and a peer beside them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from spmopt.bench.lines import Line, line, total
from spmopt.bench.placement import FILE, RANDOM, lifetimes, mirrored, peer, peer_words, read
from spmopt.bench.runner import select
from spmopt.bench.suite import Case, Figures
from spmopt.bench.suites.placement import CAPACITY, place, with_peer
from spmopt.bench.worker import build, measure, measure_named
from spmopt.core.errors import InputError, ScheduleError
from spmopt.core.placement import Buffer
from spmopt.core.timeline import listed_timeline
from tests.bench.small import CASE
from tests.cli.run import Run, runner

PUBLISHED = Case(network="J", spm=str(CAPACITY), machine=FILE)
COMMAND = "other --in={file} --capacity {capacity} --out={output}"
STACK = """
import sys
source, capacity, output, wrong = *sys.argv[1:4], len(sys.argv) > 4
header, *rows = open(source).read().split()
top = 0
with open(output, "w") as out:
    print(header + ",offset", file=out)
    for row in rows:
        print(f"{row},{top}", file=out)
        top += 0 if wrong else int(row.split(",")[3])
"""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


def buffers(count: int) -> Sequence[Buffer]:
    return [Buffer(name=f"b{k}", lower=k, upper=k + 2, size_bytes=10 + k) for k in range(count)]


def stacked(tmp_path: Path, *more: str) -> str:
    """Command of a program that puts all buffers on top of each other; with ``more``, at 0."""
    script = tmp_path / "stack.py"
    script.write_text(STACK)
    return " ".join([sys.executable, str(script), "{file}", "{capacity}", "{output}", *more])


def test_a_published_instance_and_its_copy() -> None:
    for seed in (0, 1):
        options = {"capacity": CAPACITY, "limit_s": 60.0, "seed": seed}
        job = {"case": asdict(PUBLISHED), "measure": "place", "options": options}
        figures = measure(job)
        assert (figures["buffers"], figures["solved"]) == (409, True)
        cpu_s = figures["cpu_s"]
        assert isinstance(cpu_s, float)
        assert 0 < cpu_s < 20


def test_copies_run_backwards() -> None:
    own = buffers(3)
    assert mirrored(own, 0) == tuple(own)
    copy = {b.name: (b.lower, b.upper, b.size_bytes) for b in mirrored(own, 1)}
    assert copy == {"b0": (2, 4, 10), "b1": (1, 3, 11), "b2": (0, 2, 12)}


def test_least_height_of_little_time() -> None:
    figures = measure_named("minimize")(read(PUBLISHED), limit_s=0.2)
    assert figures["bound_bytes"] == 989184
    height, gap = figures["height_bytes"], figures["gap"]
    assert isinstance(height, int)
    assert gap == pytest.approx(height / 989184 - 1)


def test_lifetimes_are_from_first_write_to_last_use() -> None:
    instance = build(CASE)
    steps = listed_timeline(instance)
    own = lifetimes(instance)
    names = {tensor.name: k for k, tensor in enumerate(instance.tensors)}
    assert len(own) == sum(not tensor.in_dram for tensor in instance.tensors)
    for buffer in own:
        k = names[buffer.name]
        assert buffer.size_bytes == instance.tensors[k].size_bytes
        assert buffer.lower == steps.step[steps.first_access[k]]
        assert buffer.upper == steps.step[steps.last_access[k]] + 1


def test_random_lifetimes_are_the_same_each_time() -> None:
    for way in ("uniform", "exponential"):
        case = Case(network=way, spm="0", machine=RANDOM, parameters={"buffers": 50, "seed": 1})
        assert read(case) == read(case)
        assert read(case) != read(replace(case, parameters={"buffers": 50, "seed": 2}))


def test_a_peer_is_measured_and_checked(tmp_path: Path) -> None:
    def taken(command: str, capacity: int = 1000) -> Figures:
        return peer(buffers(4), command=command, capacity=capacity, limit_s=60.0)

    figures = taken(stacked(tmp_path))
    cpu_s = figures["cpu_s"]
    assert figures["solved"] is True
    assert isinstance(cpu_s, float)
    assert 0.005 < cpu_s < 10
    with pytest.raises(ScheduleError, match="overlap"):
        taken(stacked(tmp_path, "wrong"))
    with pytest.raises(ScheduleError, match="past the capacity"):
        taken(stacked(tmp_path), 40)
    silent = f"{sys.executable} -c pass {{file}} {{capacity}} {{output}}"
    assert taken(silent)["solved"] is False
    with pytest.raises(InputError, match="none-such cannot be run"):
        taken("none-such {file} {capacity} {output}")


def test_a_peer_stands_beside_every_placement_under_a_capacity() -> None:
    suite, beside = place(), with_peer(place(), COMMAND)
    for own, row in zip(suite.rows, beside.rows, strict=True):
        more = {label for label in row.parts if label.startswith("peer")}
        wanted = set() if own.cells[0].startswith("min") else set(own.parts)
        assert len(more) == len(wanted)
        assert row.parts.keys() - more == own.parts.keys()
    ratios = {
        row.name: target.value
        for row in beside.rows
        for target in row.targets
        if target.figure == "ratio"
    }
    assert ratios["place all"] == ratios["place, mirrored and shuffled all"] == 0.25
    assert ratios["place D"] == 1.5
    with pytest.raises(InputError, match="it stands for what is given"):
        peer_words("other {file} {capacity}")


def test_ratios_are_of_sums() -> None:
    suite = with_peer(place(), COMMAND)
    lines: dict[str, Line] = {}
    for row in select(suite, "mirrored"):
        if row.sums:
            lines[row.name] = total(suite, row, lines)
            continue
        runs = {label: [_figures(4.0 if "peer" in label else 1.0)] for label in row.parts}
        lines[row.name] = line(suite, row, runs)
    one = lines["place, mirrored and shuffled D"].figures
    assert (one["cpu_s"], one["peer.cpu_s"], one["ratio"]) == (5.0, 20.0, 0.25)
    all_ = lines["place, mirrored and shuffled all"]
    assert (all_.figures["cpu_s"], all_.figures["ratio"], all_.mark) == (55.0, 0.25, "pass")
    assert [row.cells for row in select(suite, "place all")] == []


def test_the_command_names_the_peer(run: Run) -> None:
    ran = run("bench page --peer x")
    assert "--peer: only suite place has one, not page" in ran.err
    ran = run("bench place --peer other")
    assert "--peer: no {file} in 'other'" in ran.err
    ran = run("bench place --runs 1 --only none")
    assert "no line of suite place has these words" in ran.err


def _figures(cpu_s: float) -> dict[str, Any]:
    return {"cpu_s": cpu_s, "wall_s": 1.0, "solved": True}
