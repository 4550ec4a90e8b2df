"""Least height: what each of the ways down gives, and what a capacity does."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.placement import greedy, tree
from formulations.placement.attempts import Dives
from formulations.placement.parts import split
from formulations.placement.place import place
from formulations.placement.progress import Progress
from spmopt.core.placement import Placement, require_placement
from spmopt.core.result import Status
from spmopt.core.scheduler import Incumbent, Request
from tests.checked import need
from tests.formulations.placement.brute_force import draw, least_height
from tests.formulations.placement.test_place import PUBLISHED, published
from tests.thorough import share, some


def test_dives_come_down() -> None:
    _, (part,) = split(published("D"))
    dives, best = Dives(part), 1250
    for _ in range(share(60, 2)):
        found = dives.dive(part.load, best, bool)
        if found is not None:
            height = greedy.height(part, found[1])
            assert height >= part.load
            best = min(best, height)
    assert best <= 1060  # greedy ways end at 1274, and the load is 963
    assert dives.nodes <= share(60, 2) * 1.5 * len(part)


@given(st.integers(0, 100_000))
@settings(max_examples=share(60), deadline=None)
def test_dives_are_legal_and_never_below_the_least_height(seed: int) -> None:
    buffers = draw(seed, windows=True)
    least = least_height(buffers, 24)
    unit, parts = split(buffers)
    if least is None or len(parts) != 1 or len(parts[0]) != len(buffers):
        return
    dives, kept = Dives(parts[0]), [buffers[k] for k in parts[0].ids]
    for _ in range(10):
        found = dives.dive(parts[0].load, least // unit + 4, bool)
        if found is not None:
            placement = Placement.of(kept, (found[1] * unit).tolist())
            require_placement(kept, placement)
            assert placement.height_bytes >= least


def test_the_lowest_under_a_capacity_is_no_higher_than_any() -> None:
    for name in some(("C", "J"), 2):
        enough = place(published(name), PUBLISHED, Request())
        lowest = place(published(name), PUBLISHED, Request(time_limit_s=2.0), lowest=True)
        assert need(lowest.placement).height_bytes <= need(enough.placement).height_bytes


def test_a_capacity_below_the_least_height_is_proved_to_be() -> None:
    found = place(published("C"), 1039359, Request(time_limit_s=20.0), lowest=True)
    assert (found.status, found.bound_bytes) == (Status.INFEASIBLE, 1039360)


def test_every_way_down_has_its_share() -> None:
    """Where the bound is out of reach, rounds at it do not keep the others from their work."""
    asked = 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked > 300

    progress = Progress(published("D"), Request(time_limit_s=60.0, stop=stop))
    progress.search(None, lowest=True)
    assert progress.bound < need(progress.height) <= 1100


def test_filling_stops_at_the_first_placement() -> None:
    progress = Progress(published("J"), Request())
    progress.search(1024, lowest=False)
    effort = progress.effort
    assert need(progress.height) <= 1024
    progress.search(1024, lowest=False)
    assert progress.effort == effort


def test_dives_help_where_steps_find_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    progress = Progress(published("D"), Request())

    def step(capacity: int) -> None:
        del capacity
        progress.effort += 10_000

    monkeypatch.setattr(progress, "step", step)
    progress.search(1060, lowest=False)
    assert need(progress.height) <= 1060


def test_a_search_that_forgets_proves_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "_REMEMBERED", 2)
    for seed in some(range(30)):
        buffers = draw(seed)
        least, found = (
            least_height(buffers, 24),
            place(buffers, 24, Request(time_limit_s=20.0), lowest=True),
        )
        assert (found.placement and found.placement.height_bytes) == least


@pytest.mark.parametrize("name", some(["C", "J", "E"], 3))
def test_what_is_told_gets_better_and_ends_at_the_answer(name: str) -> None:
    news: list[Incumbent] = []
    request = Request(time_limit_s=1.5, on_incumbent=news.append)
    found = place(published(name), None, request, lowest=True)
    heights = [float(each.value) for each in news if each.value is not None]
    bounds = [float(each.bound) for each in news if each.bound is not None]
    assert heights == sorted(heights, reverse=True)
    assert bounds == sorted(bounds)
    assert heights[-1] == need(found.placement).height_bytes
    assert bounds[-1] <= found.bound_bytes
