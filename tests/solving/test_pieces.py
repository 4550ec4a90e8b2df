"""The scheduler of pieces: never worse than page, never below its bound, best of all covers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

import spmopt
from formulations.covers.listed import Listed
from formulations.covers.paths import SegmentArcs
from formulations.covers.search import CoverSearch
from formulations.residency import page
from spmopt.audit import audit
from spmopt.core.errors import InputError
from spmopt.core.graph import Graph
from spmopt.core.instance import Instance
from spmopt.core.objective import MAKESPAN
from spmopt.core.pieces import certificate as sizes
from spmopt.core.pieces.certificate import CoverCertificate
from spmopt.core.pieces.family import FAMILIES
from spmopt.core.pieces.listing import Listing
from spmopt.core.pieces.segments import Cover, Segment
from spmopt.core.result import Outcome, Result
from spmopt.core.scheduler import Incumbent, Request
from spmopt.graph.build import GraphBuilder
from spmopt.graph.training import training_graph
from spmopt.solving import compare, solve
from spmopt.verifier import require_legal
from spmopt.verifier.cover_bound import cover_bound
from tests.graph.networks import attention, convolution, mlp


def lowered(graph: spmopt.Workload | Graph, spm: str) -> Instance:
    found = spmopt.lower(graph, spmopt.machine("rtx2080ti", spm=spm))
    assert isinstance(found, Instance)
    return found


def tight(graph: Graph) -> Instance:
    """Lower a tiny graph for a machine on which it does not fit."""
    machine = spmopt.machine("rtx2080ti", spm="256B", page="16B", bandwidth="10GB/s")
    found = spmopt.lower(graph, machine)
    assert isinstance(found, Instance)
    return found


def request(**given: Any) -> Request:
    return replace(Request(time_limit_s=8.0), **given)


@pytest.mark.parametrize("objective", ["time", "traffic", "energy"])
def test_it_is_never_worse_than_page_nor_below_its_bound(objective: str) -> None:
    from spmopt.core.objective import objective_named

    instance = lowered(spmopt.load("resnet18", batch=4), "1MB")
    aim = objective_named(objective, instance.machine)
    asked = replace(request(time_limit_s=1.5), objective=aim, tolerance=1e-2)
    page, pieces = compare(instance, ["page", "pieces"], asked)
    assert pieces.value is not None
    assert page.value is not None
    assert pieces.value <= page.value
    assert pieces.cover_bound is not None
    assert pieces.cover_bound == page.cover_bound
    assert pieces.cover_bound <= pieces.value
    assert pieces.pieces is not None
    assert pieces.schedule is not None
    require_legal(pieces.pieces.instance, pieces.schedule)
    assert pieces.pieces.certificate is not None
    assert cover_bound(pieces.pieces.listing, pieces.pieces.certificate) == pieces.cover_bound


def covers(listing: Listing) -> list[Cover]:
    """All of them."""
    count, found = len(listing.operations), list[Cover]()
    numbers = sorted({pieces for each in listing.operations for pieces in each.modes})
    for cuts in product((False, True), repeat=count - 1):
        ends = [at + 1 for at, cut in enumerate(cuts) if cut] + [count]
        begins = [0, *ends[:-1]]
        for chosen in product(numbers, repeat=len(ends)):
            cover = tuple(
                Segment(begin=b, end=e, pieces=k)
                for b, e, k in zip(begins, ends, chosen, strict=True)
            )
            if not any(listing.obstacle(each) for each in cover):
                found.append(cover)
    return found


def layers() -> Graph:
    """Two layers of four samples: few covers."""
    b = GraphBuilder("layers")
    hidden = b.add("Gemm", [b.input("x", (4, 4)), b.weight("w1", (4, 16)), b.weight("b1", (16,))])
    relu = b.add("Relu", [hidden])
    return b.finish([b.add("Gemm", [relu, b.weight("w2", (16, 3)), b.weight("b2", (3,))])])


def least_of(instance: Instance, most: Fraction) -> Fraction:
    """What an instance takes at least; where this may be below ``most``, the time of a schedule."""
    bound = solve(instance, "fluid", request(tolerance=1e-3)).bound
    assert bound is not None
    if bound >= most:
        return Fraction(bound)
    value = solve(instance, "page", request(tolerance=1e-3)).value
    assert value is not None
    return value


@pytest.mark.parametrize("make", [layers, convolution])
def test_of_a_tiny_network_it_finds_the_best_of_all_covers(make: object) -> None:
    assert callable(make)
    instance = tight(make())
    result = solve(instance, "pieces", request(tolerance=0.0, time_limit_s=60.0))
    assert result.pieces is not None
    assert result.value is not None
    every = covers(result.pieces.listing)
    # Segments that are whole make one instance, whatever their borders.
    apart = {tuple(each for each in cover if each.count > 1): cover for cover in every}
    assert len(apart) > 30
    for cover in apart.values():
        chunked, _ = result.pieces.listing.instance(cover)
        least = least_of(chunked, result.value)
        assert result.cover_bound is not None
        assert result.cover_bound <= least
        assert result.value <= least * 1001 / 1000
    page = solve(instance, "page", request(tolerance=1e-4)).value
    assert page is not None
    assert page > result.value * 101 / 100


def test_covers_are_scheduled_once_and_as_long_as_they_may_be_best(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Covers that differ in borders of whole segments are one; others end once it is proved."""
    tried, ended, given = list[Instance](), list[Instance](), page.schedule

    def remember(instance: Instance, asked: Request) -> Outcome:
        outcome = given(instance, asked)
        tried.append(instance)
        if asked.stop():
            ended.append(instance)
        return outcome

    monkeypatch.setattr(page, "schedule", remember)
    result = solve(tight(convolution()), "pieces", request(tolerance=1e-5))
    assert result.pieces is not None
    assert result.value is not None
    others = [each for each in tried if each != result.pieces.instance]
    assert len(others) > 5
    assert not any(each in others[:at] for at, each in enumerate(others))
    assert len(ended) > 1
    for instance in ended[:8]:
        assert least_of(instance, result.value) >= result.value


def test_prices_of_few_segments_prove_what_those_of_all_do() -> None:
    instance = tight(attention())
    assert instance.listed is not None
    listing = instance.listed(instance.machine)
    assert isinstance(listing, Listing)
    listed = Listed(listing, MAKESPAN)
    arcs = SegmentArcs(listed, listed.capacity)
    found = arcs.cheapest(bool)
    count, pieces = len(listing.operations), max(listed.pieces)
    every = (Segment(begin=0, end=end, pieces=pieces) for end in range(1, count + 1))
    arcs.solve(each for each in every if not listing.obstacle(each))
    certificate = arcs.certificate()
    assert len(certificate.prices) < len(arcs.solved)
    assert float(cover_bound(listing, certificate)) == pytest.approx(found.value, rel=1e-6)


def test_an_instance_without_a_graph_is_refused_in_one_line() -> None:
    instance = lowered(spmopt.load("resnet18", batch=4), "1MB")
    with pytest.raises(InputError, match="pieces need a network"):
        solve(replace(instance, listed=None), "pieces", request())
    with pytest.raises(InputError, match="was changed after it was lowered"):
        solve(replace(instance, lowering="mine"), "pieces", request())


def test_a_time_limit_of_nothing_still_gives_a_schedule() -> None:
    instance = lowered(spmopt.load("resnet18", batch=4), "1MB")
    result: Result = solve(instance, "pieces", request(time_limit_s=0.0))
    assert result.value is not None
    assert result.verified


def test_of_a_small_listing_too_what_is_left_is_not_solved_when_time_is_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All of its 180 segments took seconds after an interrupt."""
    instance, solved, solve_one = tight(training_graph(mlp())), list[Segment](), SegmentArcs._solve

    def counted(self: SegmentArcs, segment: Segment, *, twice: bool) -> Any:
        solved.append(segment)
        return solve_one(self, segment, twice=twice)

    monkeypatch.setattr(SegmentArcs, "_solve", counted)
    result = solve(instance, "pieces", request(time_limit_s=0.0, threads=1))
    assert result.verified
    assert len(solved) < 20


def of_families(graph: Graph, tolerance: float) -> list[float]:
    """Return what is found in each family, once its covers and claims are checked."""
    instance = tight(graph)
    found = {
        name: solve(instance, f"pieces:family={name}", request(tolerance=tolerance))
        for name in FAMILIES
    }
    page = solve(instance, "page", request(tolerance=tolerance))
    assert found["none"].value == page.value
    for name, result in found.items():
        assert result.pieces is not None
        assert result.pieces.certificate is not None
        family = result.pieces.certificate.family
        assert family.name == name
        assert not result.pieces.listing.outside(family, result.pieces.cover)
        assert audit(result.pieces.instance, result).violations == ()
    return [float(result.value or 0) for result in found.values()]


def pooled() -> Graph:
    """A small convolution, ReLU and pooling."""
    b = GraphBuilder("pooled")
    c = b.add("Conv", [b.input("x", (2, 2, 4, 4)), b.weight("w", (2, 2, 3, 3))], pads=(1, 1, 1, 1))
    relu = b.add("Relu", [c])
    return b.finish([b.add("MaxPool", [relu], kernel_shape=(2, 2), strides=(2, 2))])


def test_a_smaller_family_is_no_better_and_its_covers_are_of_it() -> None:
    """Of a listing whose covers are few: each search ends because all are tried."""
    none, fuse, batch, every = of_families(pooled(), 1e-3)
    assert none >= fuse >= every > 0
    assert none >= batch >= every
    assert none > every


def test_covers_of_attention_are_of_their_family_too() -> None:
    """All of them would take minutes; the first that is near enough the bound will do."""
    none, *others = of_families(attention(), 0.25)
    assert all(0 < each < none for each in others)


def test_a_cover_outside_the_family_of_its_bound_is_refused() -> None:
    instance = tight(mlp())
    result = solve(instance, "pieces", request(tolerance=0.2))
    assert result.pieces is not None
    assert result.pieces.certificate is not None
    assert max(each.pieces for each in result.pieces.cover) > 1
    family = result.pieces.listing.family("none")
    certificate = CoverCertificate(family=family, objective=MAKESPAN, bits=60, prices={})
    claimed = replace(result, pieces=replace(result.pieces, certificate=certificate))
    said = [each.message for each in audit(result.pieces.instance, claimed).violations]
    assert any("over other covers than the schedule's" in each for each in said)


def test_the_list_as_given_comes_first_with_its_bound() -> None:
    instance, news = lowered(spmopt.load("alexnet", batch=2), "1MB"), list[Incumbent]()
    result = solve(instance, "pieces", replace(request(tolerance=1e-2), on_incumbent=news.append))
    (page,) = result.beside
    assert (page.scheduler, page.pieces) == ("page", None)
    assert page.value is not None
    assert page.bound is not None
    assert result.value is not None
    assert result.value <= page.value
    assert page.bound <= page.value
    names = list(dict.fromkeys(each.scheduler for each in news))
    assert names == ["page", "pieces"]
    assert {each.of_covers for each in news if each.scheduler == "pieces"} == {True}
    certain = [each.bound for each in news if each.scheduler == "page" and each.certified]
    assert certain[-1] == page.bound
    first = next(at for at, each in enumerate(news) if each.scheduler == "pieces")
    assert any(each.certified for each in news[:first])


def test_a_long_list_has_values_of_short_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values of all segments of 10,000 operations would take 7 GB in each table."""
    instance = tight(training_graph(mlp()))
    few = request(tolerance=0.3, threads=1)
    every = solve(instance, "pieces", few)
    monkeypatch.setattr(sizes, "ALL_OF", 1)
    monkeypatch.setattr(sizes, "MOST_OPERATIONS", 4)
    result = solve(instance, "pieces", few)
    (page,) = result.beside
    assert result.pieces is not None
    proof = result.pieces.certificate
    assert proof is not None
    assert len(result.pieces.listing.operations) > 8
    assert max(each.end - each.begin for each in (*proof.prices, *proof.runs)) <= 4
    assert every.cover_bound is not None
    assert every.value is not None
    assert result.cover_bound is not None
    assert result.value is not None
    assert page.value is not None
    assert 0.8 * every.cover_bound < result.cover_bound <= min(result.value, every.value)
    assert result.value < page.value
    assert result.verified


def test_the_search_of_all_covers_begins_with_those_of_the_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else what has bands is searched until the time is up, and what lies near is not found."""
    from formulations.covers import schedule
    from formulations.covers.schedule import _Search

    b = GraphBuilder("stack")
    x = b.input("x", (4, 16, 32, 32))
    for k in range(6):
        x = b.add("Conv", [x, b.weight(f"w{k}", (16, 16, 3, 3))], pads=(1, 1, 1, 1))
        x = b.add("Relu", [x])
    instance = spmopt.lower(b.finish([x]), spmopt.machine("large-npu", spm="64KiB"))
    assert isinstance(instance, Instance)
    plain, tried = _Search.attempt, dict[str, list[Cover]]()

    def bands(family: str) -> bool:
        known = tried.get(family, [])
        return len(known) > 3 if family == "batch" else any(e.bands > 1 for c in known for e in c)

    def noted(search: _Search, cover: Cover, *given: Any, **options: Any) -> None:
        if cover:
            tried.setdefault(search.family.name, []).append(cover)
        plain(search, cover, *given, **options)

    monkeypatch.setattr(_Search, "attempt", noted)
    # Covers of the batch are left after two counted seconds; the limit is for a busy machine.
    monkeypatch.setattr(schedule, "_BATCH_SHARE", 0.03)
    monkeypatch.setattr(schedule, "_FIRST_SHARE", 0.04)
    for family in ("batch", "all"):
        # Until one with bands is tried; of the batch there is none.
        asked = request(threads=1, time_limit_s=60.0, stop=lambda family=family: bands(family))
        assert solve(instance, f"pieces:family={family}", asked).verified
    first = tried["all"][0]
    assert first == tried["batch"][0]
    assert all(each.bands == 1 for each in first)
    assert any(each.bands > 1 for cover in tried["all"] for each in cover)


def test_covers_are_searched_between_natural_borders_then_between_all() -> None:
    instance = tight(mlp())
    assert instance.listed is not None
    listing = instance.listed(instance.machine)
    assert isinstance(listing, Listing)
    listed = Listed(listing, MAKESPAN)
    search = CoverSearch(SegmentArcs(listed, listed.capacity), bool)
    covers = list(search.covers())
    assert search.exact
    assert len(covers) == 6
    natural = {0, *listed.borders, listed.count}
    assert len(natural) <= listed.count
    assert all(each.begin in natural for cover in covers[:2] for each in cover)
    # At the last weight, that of the bound, none of all covers is better.
    least = search.held.cheapest(lambda: False).value
    values = [sum(search.held.solved[each].value for each in cover) for cover in covers]
    assert values[-1] <= 1.05 * least


def test_the_estimate_of_a_cover_is_between_its_two_values() -> None:
    instance = lowered(mlp(), "64KiB")
    assert instance.listed is not None
    listing = instance.listed(instance.machine)
    assert isinstance(listing, Listing)
    listed = Listed(listing, MAKESPAN)
    search = CoverSearch(SegmentArcs(listed, listed.capacity), bool)
    for pieces in listed.pieces:
        cover = listing.uniform(pieces)
        estimate = search.estimate(cover)
        held, empty = (
            sum(arcs.solved[segment].value for segment in cover)
            for arcs in (search.held, search.empty)
        )
        moved = sum(search.empty.solved[segment].moved_bytes for segment in cover)
        assert 0 < held <= empty
        # What bytes and steps cost beside is small.
        assert 0.99 * held <= estimate <= empty + 0.1 * moved / listed.bytes_per_cycle
