"""Of a small listing the scheduler of pieces finds the best cover of each family, and no less."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from spmopt.audit import audit
from spmopt.core.errors import InfeasibleError, ScheduleError
from spmopt.core.instance import Instance
from spmopt.core.objective import Objective, objective_named
from spmopt.core.pieces import certificate as sizes
from spmopt.core.pieces.family import FAMILIES
from spmopt.core.pieces.listing import Listing
from spmopt.core.pieces.segments import Cover, Segment
from spmopt.core.result import Status
from spmopt.core.scheduler import Request
from spmopt.solving import solve
from tests.formulations.covers.random_listing import covers, random_listing
from tests.thorough import some

OBJECTIVES = ("time", "traffic", "energy")


def instance_of(listed: Listing) -> Instance:
    """Return the list as given, which knows its listing."""
    whole = (Segment(begin=0, end=len(listed.operations)),)
    return replace(listed.instance(whole)[0], listed=lambda machine: listed)


def values(listed: Listing, objective: Objective) -> dict[Cover, float]:
    """Return what ``page`` finds for every cover that fits."""
    found = {}
    for cover in covers(listed):
        result = solve(listed.instance(cover)[0], "page", asked(objective))
        if result.value is not None:
            found[cover] = float(result.value)
    return found


def asked(objective: Objective) -> Request:
    return Request(objective=objective, tolerance=0.0, time_limit_s=60.0, threads=1)


@cache
def compared(seed: int) -> int:
    """Check one listing, all families; return how many had a cover that fits."""
    listed = random_listing(seed, most=3)
    objective = objective_named(OBJECTIVES[seed % 3], listed.machine)
    every, done = values(listed, objective), 0
    for name in FAMILIES:
        family = listed.family(name)
        known = [v for cover, v in every.items() if not listed.outside(family, cover)]
        instance = instance_of(listed)
        try:
            result = solve(instance, f"pieces:family={name}", asked(objective))
        except (InfeasibleError, ScheduleError):
            assert not known, (seed, name)
            continue
        if result.status is Status.INFEASIBLE:
            assert not known, (seed, name)
            continue
        assert known, (seed, name)
        assert result.value is not None
        assert result.cover_bound is not None
        assert result.pieces is not None
        slack = 1e-9 * min(known) + 1e-18
        assert float(result.value) <= min(known) + slack, (seed, name)
        assert float(result.cover_bound) <= min(known) + slack, (seed, name)
        wrong = [
            each.message
            for each in audit(result.pieces.instance, result).violations
            if "without a graph" not in each.message
        ]
        assert wrong == [], (seed, name)
        done += 1
    return done


@pytest.mark.parametrize("seed", some([400, 401, *range(403, 412)]))
def test_it_finds_the_best_of_all_covers_of_a_family(seed: int) -> None:
    compared(seed)


def test_most_listings_have_covers_that_fit() -> None:
    found = [compared(seed) for seed in (400, 405, 410)]
    assert sum(found) > 4


@pytest.mark.parametrize("seed", [147, 259])
def test_of_a_long_list_one_operation_fits_in_few_pieces_and_one_in_many(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that it fits in no uniform cover, which is no proof that it fits in none."""
    monkeypatch.setattr(sizes, "ALL_OF", 0)
    monkeypatch.setattr(sizes, "MOST_OPERATIONS", 1)
    listed = random_listing(seed, most=3)
    assert not any(fit(listed, listed.uniform(pieces)) for pieces in (1, 2, 4))
    assert any(fit(listed, cover) for cover in covers(listed))
    result = solve(instance_of(listed), "pieces", asked(objective_named("time", listed.machine)))
    assert result.verified
    for name in ("_search", "_end", "_apart"):
        monkeypatch.setattr(f"formulations.covers.schedule._Search.{name}", lambda *_: ())
    result = solve(instance_of(listed), "pieces", asked(objective_named("time", listed.machine)))
    assert result.status is Status.UNKNOWN


def fit(listed: Listing, cover: Cover) -> bool:
    """Return whether each operation of a cover fits."""
    return all(listed.fits(at, s.pieces) for s in cover for at in range(s.begin, s.end))
