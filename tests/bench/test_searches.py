"""The measure of a sampled search, and the area that it compares."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spmopt.bench.fronts import Space
from spmopt.bench.searches import dominated_area, setup_of
from spmopt.bench.suite import Case, Figures, Options
from spmopt.bench.suites import find
from spmopt.bench.worker import measure
from spmopt.frontends import zoo
from spmopt.graph.training import training_graph
from spmopt.search.space.figures import static_figures

CASE = Case(network="bert-tiny", spm="600kB", parameters={"batch": 2, "sequence": 8, "layers": 1})
SPACE: Options = {
    "steps": 3,
    "bandwidth": "300GB/s",
    "technology": "nvsim-sram",
    "mm2_per_gbps": 0.01,
}


def searched(**options: float | str) -> Figures:
    given_options: Options = {
        **SPACE,
        **{"tolerance": 1e-2, "limit_s": 20.0, "seed": 0, "workers": 1, "exact": True},
        **options,
    }
    return measure({"case": asdict(CASE), "measure": "search", "options": given_options})


def number(figures: Figures, name: str) -> float:
    value = figures[name]
    assert isinstance(value, int | float)
    return value


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=6))
def test_area_is_that_of_the_cells_that_some_point_dominates(points: list[tuple[int, int]]) -> None:
    cells = sum(
        any(x <= column and y <= row for x, y in points) for column in range(6) for row in range(5)
    )
    found = dominated_area(np.array(points, float).reshape(-1, 2), np.array([6.0, 5.0]))
    assert found == cells


def test_all_machines_dominate_what_the_exact_front_does() -> None:
    """Up to the gaps of the schedules; what is not dominated by bounds cannot be."""
    figures = searched(sampler="grid", trials=9)
    assert figures["solved"] == 9 - number(figures, "pruned")
    assert 0 <= number(figures, "volume_gap") < 1e-2
    assert 0 < number(figures, "outside") < 1
    assert number(figures, "rate") == pytest.approx(9 / number(figures, "wall_s"))


def test_few_trials_miss_something() -> None:
    figures = searched(sampler="random", trials=2)
    assert number(figures, "volume_gap") > 0.02


def test_without_the_exact_front_and_with_two_workers() -> None:
    figures = searched(sampler="tpe", trials=3, workers=2, exact=False)
    assert figures["volume_gap"] is figures["front"] is figures["outside"] is None
    assert number(figures, "solved") + number(figures, "pruned") == 3


def test_the_machines_and_costs_are_those_of_the_front() -> None:
    space = Space(steps=3, bandwidth="300GB/s", technology="nvsim-sram", mm2_per_gbps=0.01)
    graph = training_graph(zoo.network(CASE.network, **CASE.parameters))
    setup = setup_of(CASE, space, tolerance=1e-4, limit_s=20.0)
    options = space.options(CASE, graph)
    for option, point in zip(options, setup.space.points(), strict=True):
        candidate = setup.space.candidate(point)
        instance = candidate.instance(setup.networks[0])
        assert instance.operations == option.instance.operations
        assert instance.machine.spm_bytes == option.machine.spm_bytes
        assert instance.machine.dram_bytes_per_s == option.machine.dram_bytes_per_s
        cost = static_figures(("cost",), candidate, setup.space.cost)["cost"]
        assert cost == pytest.approx(option.cost, rel=1e-12)


def test_what_must_be_reached() -> None:
    for row in find("tune").rows:
        assert {each.figure: each.value for each in row.targets} == {
            "volume_gap": 0.01,
            "outside": 0.05,
        }
        seeds = [row.parts[""].of_run(run).options["seed"] for run in range(3)]
        assert seeds == [0, 1, 2]
        assert row.parts[""].options["trials"] == 200
