"""What benches measure: placements and a peer, searches and their area, classes."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.place.run import (
    drawn,
    lifetimes,
    minimize,
    peer,
    peer_words,
    place,
    published,
)
from results.shared.bench import TINY, Figures
from results.shared.certified import reach
from results.tune.run import dominated_area
from spmopt.core.errors import InputError, ScheduleError
from spmopt.core.placement import Buffer
from spmopt.core.timeline import timeline_in_order
from tests.results.pages import RESULTS

STACK = """
import sys, time
while time.process_time() < 0.05:  # more than a tick of the coarsest clock
    pass
source, capacity, output, wrong = *sys.argv[1:4], len(sys.argv) > 4
header, *rows = open(source).read().split()
top = 0
with open(output, "w") as out:
    print(header + ",offset", file=out)
    for row in rows:
        print(f"{row},{top}", file=out)
        top += 0 if wrong else int(row.split(",")[3])
"""


def buffers(count: int = 4) -> Sequence[Buffer]:
    return [Buffer(name=f"b{k}", lower=k, upper=k + 2, size_bytes=10 + k) for k in range(count)]


def stacked(tmp_path: Path, *more: str) -> str:
    """Command of a program that puts all buffers on top of each other; with ``more``, at 0."""
    script = tmp_path / "stack.py"
    script.write_text(STACK)
    return " ".join([sys.executable, str(script), "{file}", "{capacity}", "{output}", *more])


def test_a_published_problem_and_its_copy() -> None:
    for seed in (0, 1):
        figures = place(lambda: published("J"), seed)
        assert (figures["buffers"], figures["solved"]) == (409, True)
        assert 0 < figures["cpu_s"] < 20


def test_least_height_of_little_time() -> None:
    figures = minimize(lambda: published("J"), 0.2)
    assert figures["bound_bytes"] == 989184
    assert figures["gap"] == pytest.approx(figures["height_bytes"] / 989184 - 1)


def test_lifetimes_are_from_first_write_to_last_use() -> None:
    problem, own = TINY.problem(), lifetimes(TINY)
    steps = timeline_in_order(problem)
    names = {tensor.name: k for k, tensor in enumerate(problem.tensors)}
    assert len(own) == sum(not tensor.in_dram for tensor in problem.tensors)
    for buffer in own:
        k = names[buffer.name]
        assert buffer.size_bytes == problem.tensors[k].size_bytes
        assert buffer.lower == steps.step[steps.first_access[k]]
        assert buffer.upper == steps.step[steps.last_access[k]] + 1
    assert drawn("uniform", 1, 50) == drawn("uniform", 1, 50) != drawn("uniform", 2, 50)


def test_a_peer_is_measured_and_checked(tmp_path: Path) -> None:
    def taken(command: str, capacity: int = 1000) -> Figures:
        return peer(buffers, 0, command, capacity)

    figures = taken(stacked(tmp_path))
    assert figures["solved"] is True
    assert 0.03 < figures["cpu_s"] < 10
    with pytest.raises(ScheduleError, match="overlap"):
        taken(stacked(tmp_path, "wrong"))
    with pytest.raises(ScheduleError, match="past the capacity"):
        taken(stacked(tmp_path), 40)
    assert taken(f"{sys.executable} -c pass {{file}} {{capacity}} {{output}}")["solved"] is False
    with pytest.raises(InputError, match="none-such cannot be run"):
        taken("none-such {file} {capacity} {output}")
    with pytest.raises(InputError, match="it stands for what is given"):
        peer_words("other {file} {capacity}")


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=6))
def test_area_is_that_of_the_cells_that_some_point_dominates(points: list[tuple[int, int]]) -> None:
    cells = sum(
        any(x <= column and y <= row for x, y in points) for column in range(6) for row in range(5)
    )
    found = dominated_area(np.array(points, float).reshape(-1, 2), np.array([6.0, 5.0]))
    assert found == cells


def test_bounds_of_whole_tensors_and_of_another_order() -> None:
    figures = reach(TINY, "residency:granularity=tensor", "traffic", 1e-4, 10.0)
    assert -1e-9 <= figures["class_gap"] <= 1e-4
    assert figures["class_gap"] <= figures["gap"]
    assert 20 < figures["peak_mb"] <= figures["peak_checked_mb"]
    assert reach(TINY, "tsai", "traffic", 1e-4, 10.0)["gap"] >= 0
    with pytest.raises(ScheduleError, match="lp-bound: no schedule within 10 s"):
        reach(TINY, "lp-bound", "time", 1e-3, 10.0)


def test_the_example_is_a_recorded_line() -> None:
    page = (RESULTS / "joint" / "README.md").read_text(encoding="utf-8")
    rows = json.loads((RESULTS / "joint" / "rows.json").read_text(encoding="utf-8"))["rows"]
    (line,) = (row["figures"] for row in rows if row["name"].startswith("lenet forward"))
    for figure in ("joint", "fixed", "whole_replay", "whole", "page"):
        assert f"{line[figure]:,}" in page
    for cost in ("command_cost", "barrier_cost", "whole_cost"):
        assert f"{100 * line[cost]:.3g} %" in page
