"""The bound over the fusion space in a process of its own.

And what becomes of it where that ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, prod
from time import monotonic, sleep

import pytest

import spmopt
from formulations.fusion.bounding import BoundingTask, BoundSearch, News, improve
from formulations.fusion.paths import CheapestFusionPlan, FusedGroupArcs
from formulations.fusion.schedule import _Search
from formulations.fusion.tileable import Listed
from formulations.solver import apart
from spmopt.core.fusion.tileable_graph import tileable_graph_of
from spmopt.core.graph import Graph
from spmopt.core.objective import MAKESPAN
from spmopt.core.problem import Problem
from spmopt.core.scheduler import Incumbent, Request
from spmopt.graph import operators
from spmopt.graph.build import GraphBuilder
from spmopt.graph.operators.spec import OperatorSpec, Style
from spmopt.solving import solve
from tests.checked import need

OWN = "com.acme.Swirl"


@pytest.fixture
def swirl() -> Iterator[str]:
    """Register an operator at run time, by functions that no other process knows."""
    operators.register_operators(
        [
            OperatorSpec(
                name=OWN,
                style=Style.POINTWISE,
                shapes=lambda inputs, attributes: (inputs[0],),
                operations=lambda inputs, results, attributes: 3 * prod(results[0]),
                computes=operators.lookup("Relu").computes,
            )
        ]
    )
    yield OWN
    operators.SPECS.added.pop(OWN)


def stack(activation: str, count: int) -> Graph:
    """Build convolutions, an activation after each."""
    b = GraphBuilder("stack")
    x = b.input("x", (4, 16, 32, 32))
    for k in range(count):
        x = b.add(
            "Conv", [x, b.weight(f"w{k}", (16, 16, 3, 3))], pads=(1, 1, 1, 1), name=f"conv{k}"
        )
        x = b.add(activation, [x], name=f"{activation}{k}")
    return b.finish([x])


def lowered(activation: str, count: int = 3) -> Problem:
    found = spmopt.lower(stack(activation, count), spmopt.machine("large-npu", spm="64KiB"))
    assert isinstance(found, Problem)
    return found


def test_operators_of_this_process_need_not_be_known_there(swirl: str) -> None:
    tileable, began = tileable_graph_of(lowered(swirl)), monotonic()
    fusion_space = tileable.fusion_space()
    assert len(fusion_space.stripes) > 1
    search = BoundSearch(
        BoundingTask(tileable, MAKESPAN, fusion_space),
        lambda news: None,
        lambda solved, runs: None,
        stop=lambda: monotonic() - began > 30,
    )
    search.finish(lambda work_s: search.found.exact)
    figures = Listed(tileable, MAKESPAN, fusion_space)
    here = FusedGroupArcs(figures, float(figures.capacity)).cheapest(lambda: False)
    assert search.found.exact
    assert search.found.value == pytest.approx(here.value)


def test_what_is_heard_depends_on_counted_time_alone() -> None:
    """A process that is slow, one that is fast and none tell the same at the same points."""
    tileable = tileable_graph_of(lowered("Relu", 3))
    problem = BoundingTask(tileable, MAKESPAN, tileable.fusion_space())
    points = (0.0, 0.51, 0.54, 0.58, 0.62, 0.66, 0.7, 0.8, 1.0)

    def heard(apart: bool, pause_s: float) -> list[tuple[float, float, int]]:
        told: list[tuple[float, float, int]] = []
        learned: list[int] = [0]
        search = BoundSearch(
            problem,
            lambda news: told.append((point, news.found.value, learned[0])),
            lambda solved, runs: learned.append(learned.pop() + len(solved) + len(runs)),
            seconds=30.0,
            apart=apart,
        )
        for point in points:
            sleep(pause_s)
            search.upto(point)
        point = inf
        search.finish(lambda work_s: search.found.exact)
        return told

    alone = heard(apart=False, pause_s=0.0)
    assert len({point for point, *_ in alone}) > 3
    assert heard(apart=True, pause_s=0.0) == alone
    assert heard(apart=True, pause_s=0.2) == alone


def telling(
    monkeypatch: pytest.MonkeyPatch, news: Sequence[tuple[float, float]]
) -> tuple[BoundSearch, list[float]]:
    """A search that finds values at points of counted time, and what is heard of it."""

    def told(*_: object) -> Iterator[News]:
        for work_s, value in news:
            yield News(
                CheapestFusionPlan(fusion_plan=(), value=value, exact=False), {}, {}, None, work_s
            )

    heard = list[float]()
    monkeypatch.setattr("formulations.fusion.bounding.improve", told)
    tileable = tileable_graph_of(lowered("Relu"))
    search = BoundSearch(
        BoundingTask(tileable, MAKESPAN, tileable.fusion_space()),
        lambda news: heard.append(news.found.value),
        lambda solved, runs: None,
        apart=False,
    )
    return search, heard


def test_a_search_that_has_begun_anew_takes_no_bound_back(monkeypatch: pytest.MonkeyPatch) -> None:
    news = ((0.1, 5.0), (0.2, 8.0), (0.1, 2.0), (0.2, 6.0), (0.3, 9.0))
    search, heard = telling(monkeypatch, news)
    search.finish(lambda work_s: False)
    assert heard == [5.0, 8.0, 9.0]
    assert search.found.value == 9.0


def test_news_is_late_by_a_share_of_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    search, heard = telling(monkeypatch, ((0.1, 0.1), (1.0, 1.0), (2.0, 2.0)))
    for work_s, expected in ((0.6, []), (0.7, [0.1]), (1.7, [0.1]), (1.8, [0.1, 1.0])):
        search.upto(work_s)
        assert heard == expected
    search.finish(lambda work_s: work_s > 1)
    assert heard == [0.1, 1.0, 2.0]


@pytest.mark.parametrize("threads", [1, 2])
def test_the_bound_is_searched_beside_the_first_schedule_where_a_thread_is_left(
    threads: int,
) -> None:
    tileable = tileable_graph_of(lowered("Relu", 10))
    search = _Search(tileable, tileable.fusion_space(), Request(threads=threads))
    assert search._begins_early() == (threads > 1)


def test_the_search_goes_on_where_the_process_of_the_bound_dies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    serve, take, problem = apart._SERVE, apart._take, lowered("Relu", 6)
    whole = need(solve(problem, "residency", Request(tolerance=1e-2)).value)
    begun, news, notes = list[str](), list[Incumbent](), list[str]()
    note_down = _Search._note
    # Of few operations the bound has no process of its own.
    monkeypatch.setattr(_Search, "_has_many", True)

    def dying(library: str) -> apart._Process:
        ends = library == "highspy"  # that of the bound; others schedule
        if ends:
            begun.append(library)
        monkeypatch.setattr(apart, "_SERVE", "import os; os._exit(3)" if ends else serve)
        return take(library)

    def told(search: _Search, message: str) -> None:
        notes.append(message)
        note_down(search, message)

    def enough() -> bool:
        """All have died, which was noticed, and a fusion plan is found.

        However long a busy machine takes: a death after the stop would say nothing.
        """
        better = any(each.of_fusion_plans and (each.value or whole) < whole for each in news)
        return better and any("goes on in" in each for each in notes)

    monkeypatch.setattr(_Search, "_note", told)
    monkeypatch.setattr(apart, "_idle", [])
    monkeypatch.setattr(apart, "_take", dying)
    asked = Request(tolerance=1e-2, on_incumbent=news.append, stop=enough)
    result = solve(problem, "fusion", asked)
    assert len(begun) == apart.LIVES
    (note,) = (each for each in result.notes if "goes on in this process" in each)
    assert "the solver's process ended by" in note
    assert len(need(result.fused).fusion_plan) >= 1
    assert need(result.fusion_bound) <= need(result.value) < whole


def test_a_guess_is_told_before_the_programs_of_any_fusion_plan() -> None:
    tileable = tileable_graph_of(lowered("Relu", 8))
    fusion_space = tileable.fusion_space()
    news = improve(BoundingTask(tileable, MAKESPAN, fusion_space))
    told = next(each for each in news if each.guess or each.named)
    assert told.guess
    assert not told.named
    assert not tileable.outside(fusion_space, told.guess)
    tileable.require(told.guess)
    # Its programs are solved first.
    named = next(each.named for each in news if each.named)
    assert named[0][0] == told.guess
