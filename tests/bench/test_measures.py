"""The measures, on a network of 64 operations; one of them in a process of its own."""

from dataclasses import replace

import pytest

from spmopt.bench.runner import launch, select
from spmopt.bench.suite import Case, Figures, Options, Part
from spmopt.bench.suites import SUITES
from spmopt.bench.worker import build, measure_named
from spmopt.core.errors import ScheduleError
from spmopt.core.instance import Instance
from spmopt.core.objective import TRAFFIC
from spmopt.core.scheduler import Request
from spmopt.solve import solve
from tests.bench.small import CASE

TIME: Options = {"scheduler": "page", "objective": "time", "tolerance": 1e-3, "limit_s": 10.0}


@pytest.fixture(scope="module")
def instance() -> Instance:
    return build(CASE)


def number(figures: Figures, name: str) -> float:
    value = figures[name]
    assert isinstance(value, int | float)
    return value


def test_seconds_to_a_certified_gap(instance: Instance) -> None:
    figures = measure_named("reach")(instance, **TIME)
    assert figures["operations"] == len(instance.operations) == 64
    assert figures["verified"] is True
    assert 0 <= number(figures, "gap") <= 1e-2
    assert figures["class_gap"] is None
    assert 0 < number(figures, "wall_s") < 10
    assert 20 < number(figures, "peak_mb") <= number(figures, "peak_checked_mb")


def test_whole_tensors_are_held_against_both_bounds(instance: Instance) -> None:
    options = {**TIME, "scheduler": "whole", "objective": "traffic", "tolerance": 1e-4}
    figures = measure_named("reach")(instance, **options)
    assert -1e-9 <= number(figures, "class_gap") <= 1e-4
    assert number(figures, "class_gap") <= number(figures, "gap")


def test_another_order_is_held_against_its_own_bound(instance: Instance) -> None:
    options = {**TIME, "scheduler": "tsai", "objective": "traffic"}
    figures = measure_named("reach")(instance, **options)
    outcome = solve(instance, "tsai", Request(objective=TRAFFIC, tolerance=1e-5))
    assert outcome.order is not None
    assert number(figures, "gap") == pytest.approx(outcome.gap, abs=1e-4)


def test_no_schedule_is_a_failure(instance: Instance) -> None:
    with pytest.raises(ScheduleError, match="fluid: no schedule within 10 s"):
        measure_named("reach")(instance, **{**TIME, "scheduler": "fluid"})


def test_every_stage_of_the_walk(instance: Instance) -> None:
    figures = measure_named("walk")(instance, policy="belady")
    stages = [number(figures, f"{name}_s") for name in ("policy", "assemble", "verify", "replay")]
    assert min(stages) > 0
    assert figures["verified"] is True


def test_greedy_rules_are_not_below_the_bound(instance: Instance) -> None:
    figures = measure_named("gaps")(instance, schedulers="stream,belady,page", limit_s=5.0)
    stream, belady, page = (number(figures, f"{n}_gap") for n in ("stream", "belady", "page"))
    assert 0 <= page <= min(stream, belady)
    assert page < 1e-2
    assert figures["verified"] is True


def test_ranges_are_held_against_pages(instance: Instance) -> None:
    figures = measure_named("contiguity")(instance, tolerance=1e-4, limit_s=5.0)
    page, ranges = number(figures, "page_ms"), number(figures, "ms")
    assert number(figures, "cost") == pytest.approx(ranges / page - 1)
    assert 0 <= number(figures, "page_gap") <= number(figures, "gap")
    assert figures["verified"] is True


def test_two_models_of_one_relaxation_agree(instance: Instance) -> None:
    figures = {
        f"{label}.{name}": value
        for label, part in SUITES["plain"].rows[0].parts.items()
        for name, value in measure_named(part.measure)(instance, **part.options).items()
    }
    derived = SUITES["plain"].derive(figures)
    assert derived["best"] in ("simplex", "simplex, no presolve")
    slow = min(number(figures, f"{way}.wall_s") for way in ("simplex", "simplex, no presolve"))
    assert derived["ratio"] == slow / number(figures, "priced.wall_s")
    wrong = {**figures, "priced.value": 0.99 * number(figures, "priced.bound")}
    assert "is not that of the priced model" in str(SUITES["plain"].derive(wrong)["error"])
    unfinished = {name: "time limit" if "ending" in name else x for name, x in figures.items()}
    assert SUITES["plain"].derive(unfinished) == {}


def test_a_process_of_its_own() -> None:
    figures = launch(CASE, Part(measure="reach", options=TIME))
    assert figures["operations"] == 64
    assert figures["verified"] is True


def test_a_process_that_fails_says_why() -> None:
    case = replace(CASE, spm="none")
    error = str(launch(case, Part(measure="walk", options={"policy": "lru"}))["error"])
    assert error.startswith("spmopt.core.errors.InputError: machine option: spm")


def test_lines_by_words() -> None:
    names = [row.name for row in select(SUITES["page"], "ResNet50 24MB")]
    assert names == ["resnet50 24MB page", "resnet50 24MB fluid"]
    assert select(SUITES["page"], "gnmt") == ()


def test_titles_hold_parameters() -> None:
    case = Case(network="gnmt", spm="64MB", parameters={"plain": 1, "steps": 5})
    assert case.title == "gnmt, plain=1, steps=5"
