"""Least height: what each of the ways down gives, and what a capacity does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.placement import greedy, tree
from formulations.placement.attempts import Dives, SearchLimit
from formulations.placement.branch import ScaledPart
from formulations.placement.parts import Verdict, in_units, split
from formulations.placement.place import minimize, place
from formulations.placement.progress import Progress
from spmopt.core.placement import Placement, require_placement
from spmopt.core.result import Status
from tests.checked import need
from tests.formulations.placement.brute_force import draw, least_height
from tests.formulations.placement.test_place import PUBLISHED, published
from tests.thorough import share, some


def test_dives_come_down_and_stay_legal() -> None:
    buffers = published("D")
    (part,) = split(in_units(buffers))
    dives, best = Dives(ScaledPart.of(part)), 1250
    for _ in range(share(60, 2)):
        found = dives.dive(part.load, best, bool)
        if found is not None:
            height = greedy.height(part, found[1])
            assert height >= part.load
            best = min(best, height)
    assert best <= 1060  # greedy ways end at 1274, and the load is 963
    assert dives.nodes <= share(60, 2) * 1.5 * len(part)
    kept = [buffers[k] for k in part.ids]
    again, offsets = Dives(ScaledPart.of(part)), None
    while offsets is None:
        found = again.dive(part.load, 1250, bool)
        offsets = None if found is None else found[1]
    require_placement(kept, Placement.of(kept, (offsets * 1024).tolist()))


@given(st.integers(0, 100_000))
@settings(max_examples=share(60), deadline=None)
def test_dives_are_never_below_the_least_height(seed: int) -> None:
    buffers = draw(seed, windows=True)
    least = least_height(buffers, 24)
    units = in_units(buffers)
    parts = split(units)
    if least is None or len(parts) != 1 or units.ids.size != len(buffers):
        return
    dives = Dives(ScaledPart.of(parts[0]))
    for _ in range(10):
        found = dives.dive(parts[0].load, units.floor(least) + 4, bool)
        if found is not None:
            placement = Placement.of(
                units.members, (found[1][np.argsort(parts[0].ids)] * units.unit_bytes).tolist()
            )
            require_placement(units.members, placement)
            assert placement.height_bytes >= least


def test_with_a_capacity_it_is_never_worse_than_without_minimize() -> None:
    for name in some(("C", "J"), 2):
        enough = place(published(name), PUBLISHED, 60.0)
        lowest = minimize(published(name), PUBLISHED, 2.0)
        assert need(lowest.placement).height_bytes <= need(enough.placement).height_bytes


def test_a_capacity_below_the_least_height_is_proved_to_be() -> None:
    found = minimize(published("C"), 1039359, 20.0)
    assert (found.status, found.bound_bytes) == (Status.INFEASIBLE, 1039360)


def test_every_way_down_has_its_share() -> None:
    """Where the bound is out of reach, rounds at it do not keep the others from their work."""
    asked = 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked > 300

    progress = Progress(published("D"), SearchLimit(time_limit_s=60.0, stop=stop))
    progress.descend(None)
    assert progress.bound < need(progress.height) <= 1100


def test_filling_stops_at_the_first_placement() -> None:
    progress = Progress(published("J"), SearchLimit(time_limit_s=60.0))
    progress.fill(1024)
    effort = progress.effort
    assert need(progress.height) <= 1024
    progress.fill(1024)
    assert progress.effort == effort


def test_dives_help_where_steps_find_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    progress = Progress(published("D"), SearchLimit(time_limit_s=60.0))

    def step(capacity: int) -> Verdict:
        progress.effort += 10_000
        found = progress.height is not None and progress.height <= capacity
        return Verdict.FOUND if found else Verdict.OPEN

    monkeypatch.setattr(progress, "step", step)
    progress.fill(1060)
    assert need(progress.height) <= 1060


def test_a_search_that_forgets_proves_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "_REMEMBERED", 2)
    for seed in some(range(30)):
        buffers = draw(seed)
        least, found = least_height(buffers, 24), minimize(buffers, 24, 20.0)
        assert (found.placement and found.placement.height_bytes) == least


@pytest.mark.parametrize("name", some(["C", "J", "E"], 3))
def test_what_is_told_gets_better_and_ends_at_the_answer(name: str) -> None:
    news: list[tuple[int | None, int]] = []
    found = minimize(published(name), None, 1.5, on_improved=lambda *told: news.append(told))
    heights = [height for height, _ in news if height is not None]
    bounds = [bound for _, bound in news]
    assert heights == sorted(heights, reverse=True)
    assert bounds == sorted(bounds)
    assert heights[-1] == need(found.placement).height_bytes
    assert bounds[-1] <= found.bound_bytes
