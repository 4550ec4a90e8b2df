"""What benches measure: placements and a peer, searches and their area, classes."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.joint.run import simplifications
from results.place.run import BENCH as PLACE
from results.place.run import (
    drawn,
    lifetimes,
    lines,
    minimize,
    mirrored,
    peer,
    peer_words,
    place,
    published,
)
from results.scale.run import SIZES, growth
from results.shared.bench import TINY, Figures
from results.shared.certified import reach
from results.shared.machines import MachineGrid
from results.tiles.run import QUICK
from results.tune.run import REQUEST, dominated_area, search, setup_of
from spmopt.core.errors import InputError, ScheduleError
from spmopt.core.placement import Buffer
from spmopt.core.timeline import timeline_in_order
from spmopt.search.figures import static_figures
from spmopt.search.tune import Effort
from tests.results.pages import RESULTS
from tests.thorough import nightly

GRID = MachineGrid(TINY, steps=3, bandwidth="300GB/s", mm2_per_gbps=0.01)
COMMAND = "other --in={file} --capacity {capacity} --out={output}"
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


def test_copies_run_backwards() -> None:
    copy = {b.name: (b.lower, b.upper, b.size_bytes) for b in mirrored(buffers(3), 1)}
    assert copy == {"b0": (2, 4, 10), "b1": (1, 3, 11), "b2": (0, 2, 12)}
    assert mirrored(buffers(3), 0) == buffers(3)


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


def test_ratios_are_of_sums() -> None:
    beside = replace(PLACE, lines=lines(COMMAND))
    spent = {"wall_s": 1.0, "solved": True}
    runs = {
        line.name: {p: [{**spent, "cpu_s": 4.0 if "peer" in p else 1.0}] for p in line.parts}
        for line in beside.lines
        if "mirrored" in line.name
    }
    found = beside.figures(runs)
    one = found["place, mirrored and shuffled D"]
    assert (one["cpu_s"], one["peer.cpu_s"], one["ratio"]) == (5.0, 20.0, 0.25)
    (line,) = (each for each in beside.lines if each.name == "place, mirrored and shuffled all")
    assert (found[line.name]["cpu_s"], line.mark(found[line.name])) == (55.0, "pass")


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=6))
def test_area_is_that_of_the_cells_that_some_point_dominates(points: list[tuple[int, int]]) -> None:
    cells = sum(
        any(x <= column and y <= row for x, y in points) for column in range(6) for row in range(5)
    )
    found = dominated_area(np.array(points, float).reshape(-1, 2), np.array([6.0, 5.0]))
    assert found == cells


@nightly
def test_all_machines_dominate_what_the_exact_front_does() -> None:
    """Up to the gaps of the schedules; what is not dominated by bounds cannot be."""
    closely: dict[str, Any] = {"exact": True, "request": replace(REQUEST, tolerance=1e-2)}
    figures = search(GRID, Effort(sampler="grid", trials=9), **closely)
    assert figures["solved"] == 9 - figures["pruned"]
    assert 0 <= figures["volume_gap"] < 1e-2
    assert 0 < figures["outside"] < 1
    assert search(GRID, Effort(sampler="random", trials=1), **closely)["volume_gap"] > 0.02


def test_the_machines_and_costs_are_those_of_the_front() -> None:
    setup = setup_of(GRID, REQUEST)
    options = GRID.options(GRID.graph())
    for option, point in zip(options, setup.space.points(), strict=True):
        candidate = setup.space.candidate(point)
        problem = candidate.problem(setup.networks[0])
        assert problem.operations == option.problem.operations
        assert problem.machine.spm_bytes == option.machine.spm_bytes
        assert problem.machine.dram_bytes_per_s == option.machine.dram_bytes_per_s
        cost = static_figures(("cost",), candidate, setup.space.cost)["cost"]
        assert cost == pytest.approx(option.cost, rel=1e-12)


def test_bounds_of_whole_tensors_and_of_another_order() -> None:
    figures = reach(TINY, "residency:granularity=tensor", "traffic", 1e-4, 10.0)
    assert -1e-9 <= figures["class_gap"] <= 1e-4
    assert figures["class_gap"] <= figures["gap"]
    assert 20 < figures["peak_mb"] <= figures["peak_checked_mb"]
    assert reach(TINY, "tsai", "traffic", 1e-4, 10.0)["gap"] >= 0
    with pytest.raises(ScheduleError, match="lp-bound: no schedule within 10 s"):
        reach(TINY, "lp-bound", "time", 1e-3, 10.0)


def test_growth_is_the_exponent_of_the_line_through_the_sizes() -> None:
    operations = [11_182, 22_357, 44_707, 89_407, 134_107]

    def found(power: float) -> dict[str, Figures]:
        points = zip(SIZES, operations, strict=True)
        return {s.name: {"operations": n, "cpu_s": 1e-3 * n**power} for s, n in points}

    assert "to the power 1.10 (≤ 1.15)" in growth(found(1.1))
    text = growth(found(1.2))
    assert "to the power **1.20** (≤ 1.15)" in text
    assert "11,182 to 134,107 operations" in text
    assert growth({**found(1.2), SIZES[2].name: {"operations": 44_707, "error": "why"}}) == ""
    assert growth(dict([*found(1.2).items()][1:])) == ""


def test_classes_are_in_order() -> None:
    figures = simplifications("residual", "2048", False, 20.0)
    assert figures["proved"] is True
    assert figures["paged_bound"] <= figures["joint"] == figures["joint_bound"] == 13952
    assert figures["joint"] <= figures["fixed"] <= figures["policy"]
    assert figures["page"] <= figures["whole"]
    assert figures["whole_replay"] <= figures["whole"]
    assert figures["barrier_cost"] == 14656 / 13952 - 1


def test_the_example_is_a_recorded_line() -> None:
    page = (RESULTS / "joint" / "README.md").read_text(encoding="utf-8")
    rows = json.loads((RESULTS / "joint" / "rows.json").read_text(encoding="utf-8"))["rows"]
    (line,) = (row["figures"] for row in rows if row["name"].startswith("lenet forward"))
    for figure in ("joint", "fixed", "whole_replay", "whole", "page"):
        assert f"{line[figure]:,}" in page
    for cost in ("command_cost", "barrier_cost", "whole_cost"):
        assert f"{100 * line[cost]:.3g} %" in page


def test_a_layer_is_built_in_its_order() -> None:
    operations = QUICK.problem().operations
    # 3 x 2 x 3 tiles, each with a product for both gradients; these take turns.
    assert [operation.name.split("(")[0] for operation in operations] == ["dX", "dW"] * 18
