"""Estimates of segments: bytes counted as told one by one, covers that are legal, near programs."""

from __future__ import annotations

import numpy as np
import pytest

import spmopt
from formulations.covers import estimates, schedule
from formulations.covers.estimates import Estimates, Uses
from formulations.covers.listed import Listed
from formulations.covers.paths import SegmentArcs
from formulations.covers.search import CoverSearch
from spmopt.core.instance import Instance
from spmopt.core.objective import MAKESPAN
from spmopt.core.pieces.listing import listing_of
from spmopt.core.scheduler import Request
from spmopt.solving import solve
from tests.formulations.covers.random_listing import random_listing


def _moved(listed: Listed, begin: int, end: int) -> list[float]:
    """Return what a segment reads from before, leaves for later, and shares, by its uses."""
    into = out = shared = 0
    for tensor, accesses in enumerate(listed.accesses):
        inside = [(at, reads) for at, reads in accesses if begin <= at < end]
        operations = [listed.listing.operations[at] for at, _ in inside]
        if not inside:
            continue
        size = listed.sizes[tensor]
        into += size * inside[0][1]
        written = any(tensor in each.writes for each in operations)
        out += size * (written and listed.live_after(tensor, inside[-1][0]))
        shared += size * (tensor not in operations[0].cut)
    return [into, out, shared]


def _held(listed: Listed, begin: int, end: int, step: int) -> float:
    """Return what is needed after a step of what was used before it, and not used in it."""
    total = 0
    for tensor, accesses in enumerate(listed.accesses):
        before = [at for at, _ in accesses if begin <= at < step]
        after = [(at, reads) for at, reads in accesses if step <= at < end]
        if before and after and after[0][0] > step:
            total += listed.sizes[tensor] * after[0][1]
    return total


@pytest.mark.parametrize("seed", range(60))
def test_bytes_of_every_segment_are_those_of_its_uses(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However narrow the window of begins."""
    longest = 3 + seed % 5
    monkeypatch.setattr(estimates, "_LONGEST", longest)
    listed = Listed(random_listing(seed, most=12), MAKESPAN)
    uses = Uses(listed)
    for at in range(listed.count):
        first = uses.take(at)
        assert first <= max(at + 1 - longest, 0)
        for begin in range(max(at + 1 - longest, 0), at + 1):
            into, out, shared = _moved(listed, begin, at + 1)
            found = uses.moved[:, begin]
            assert found[:2].tolist() == [into, out]
            one_kind = all(listed.apart[each] < begin for each in range(begin, at + 1))
            assert found[2] + found[3] == shared or not one_kind
            assert (found[4:] <= found[:2]).all()
            for step in range(begin, at + 1):
                held = uses.held[:2, begin - uses.origin, step - uses.origin].sum()
                assert held == _held(listed, begin, at + 1, step)


@pytest.mark.parametrize("seed", range(40))
def test_covers_are_legal_and_cost_what_their_segments_do(seed: int) -> None:
    listing = random_listing(seed, most=8)
    listed = Listed(listing, MAKESPAN, listing.family("batch"))
    found = Estimates(listed)
    cover = found.cover()
    if not cover:
        assert not all(listing.fits(at, 1) for at in range(listed.count))
        return
    listing.require(cover)
    assert not listing.outside(listed.family, cover)
    assert all(listing.fits(at, s.pieces) for s in cover for at in range(s.begin, s.end))


def _resnet() -> Instance:
    workload = spmopt.load("resnet18", training=True, batch=16)
    found = spmopt.lower(workload, spmopt.machine("rtx2080ti", spm="8MB"))
    assert isinstance(found, Instance)
    return found


def test_fewer_steps_are_dearer_and_estimates_near_the_values_of_programs() -> None:
    listing = listing_of(_resnet())
    listed = Listed(listing, MAKESPAN, listing.family("batch"))
    found = Estimates(listed)
    steps = [
        sum((each.end - each.begin) * each.count for each in found.cover(most))
        for most in (np.inf, 700, 400)
    ]
    assert steps[0] > 700 >= steps[1] > 400 >= steps[2]
    search = CoverSearch(SegmentArcs(listed, listed.capacity), bool)
    for cover in (found.cover(), found.cover(400)):
        assert found.cost(cover) == pytest.approx(search.value(cover), rel=0.15)
    fine = found.cover(fine=True)
    assert found.cost(fine, fine=True) <= found.cost(found.cover(), fine=True)
    assert found.cost(found.cover()) < found.cost(found.cover(400))


def test_a_cover_by_estimates_is_scheduled_before_values_are_tabulated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Then no time needs to be left for them."""

    def none(*_: object) -> None:
        raise AssertionError("tabulated first")

    monkeypatch.setattr(schedule, "_MANY", 10)
    monkeypatch.setattr(schedule, "_A_SECOND", 1)
    instance = _resnet()
    tried = list[int]()
    search = schedule._Search(
        listing_of(instance), listing_of(instance).family(), Request(time_limit_s=60.0)
    )
    monkeypatch.setattr(schedule, "SegmentArcs", none)
    monkeypatch.setattr(search, "attempt", lambda cover, **_: tried.append(len(cover)))
    search._by_estimates()
    assert tried
    assert all(number > 1 for number in tried)
    monkeypatch.undo()
    monkeypatch.setattr(schedule, "_MANY", 10)
    monkeypatch.setattr(schedule, "_A_SECOND", 1)
    result = solve(instance, "pieces", Request(time_limit_s=20.0, threads=2, tolerance=0.1))
    (page,) = result.beside
    assert result.value is not None
    assert page.value is not None
    assert result.value < page.value
    assert result.verified
