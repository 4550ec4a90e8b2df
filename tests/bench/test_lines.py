"""Runs folded to figures, figures held against targets."""

from dataclasses import replace

import pytest

from spmopt.bench.lines import fold, line
from spmopt.bench.record import Runs
from spmopt.bench.suite import Figures, Target
from tests.bench.small import row, suite


def test_seconds_are_medians_and_gaps_the_worst() -> None:
    runs = [
        {"wall_s": wall, "class_gap": gap} for wall, gap in ((9.0, 0.1), (1.0, 0.3), (2.0, 0.2))
    ]
    assert fold(runs) == {"wall_s": 2.0, "class_gap": 0.3}


def test_one_unverified_run_is_enough() -> None:
    assert fold([{"verified": True}, {"verified": True}]) == {"verified": True}
    assert fold([{"verified": True}, {"verified": False}]) == {"verified": False}


def test_what_one_run_does_not_know_is_unknown() -> None:
    assert fold([{"gap": 0.1, "bound": 1.0}, {"gap": None}]) == {"gap": None, "bound": None}


def test_texts_are_listed_once_each() -> None:
    runs = [{"ending": text} for text in ("optimal", "time limit", "optimal")]
    assert fold(runs) == {"ending": "optimal; time limit"}


@pytest.mark.parametrize(
    ("target", "figure", "met"),
    [
        (Target(figure="x", value=2), 2.0, True),
        (Target(figure="x", value=2), 2.001, False),
        (Target(figure="x", value=2, at_least=True), 2.0, True),
        (Target(figure="x", value=2, at_least=True), 1.999, False),
        (Target(figure="x", value=2), None, False),
        (Target(figure="x", value=2), "fast", False),
    ],
)
def test_targets(target: Target, figure: float | str | None, met: bool) -> None:
    assert target.met({"x": figure}) is met


def test_a_target_for_a_figure_that_is_not_there_is_missed() -> None:
    assert not Target(figure="x", value=2).met({})


def test_a_line_names_what_it_misses() -> None:
    wall, gap = Target(figure="wall_s", value=1), Target(figure="gap", value=0.1)
    own = row("one", wall, gap)
    found = line(suite(own), own, {"": [{"wall_s": 0.5, "gap": 0.2}]})
    assert (found.mark, found.missed) == ("miss", (gap,))
    assert line(suite(own), own, {"": [{"wall_s": 0.5, "gap": 0.1}]}).mark == "pass"


def test_a_line_without_targets_is_done() -> None:
    own = row("one")
    assert line(suite(own), own, {"": [{"wall_s": 0.5}]}).mark == "done"


def test_one_failed_run_fails_the_line() -> None:
    own = row("one", Target(figure="wall_s", value=1))
    runs: Runs = {"a": [{"wall_s": 0.5}, {"error": "out of memory"}], "b": [{"wall_s": 0.5}]}
    found = line(suite(own), own, runs)
    assert found.mark == "failed"
    assert found.figures["error"] == "out of memory"
    assert found.missed == own.targets


def test_labels_name_figures_for_what_is_derived() -> None:
    def ratio(figures: Figures) -> Figures:
        slow, fast = figures["slow.wall_s"], figures["fast.wall_s"]
        assert isinstance(slow, float)
        assert isinstance(fast, float)
        return {"ratio": slow / fast}

    own = row("one", Target(figure="ratio", value=4, at_least=True))
    runs: Runs = {"slow": [{"wall_s": 8.0}], "fast": [{"wall_s": 2.0}]}
    found = line(replace(suite(own), derive=ratio), own, runs)
    assert found.figures == {"slow.wall_s": 8.0, "fast.wall_s": 2.0, "ratio": 4.0}
    assert found.mark == "pass"
