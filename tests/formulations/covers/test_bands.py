"""Bounds over covers with bands of rows: never above a schedule, and found the same twice."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import islice, pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from formulations.covers import schedule
from formulations.covers.agreement import Agreement
from formulations.covers.border_prices import BorderPrices, PricedSegment
from formulations.covers.listed import Listed
from formulations.covers.paths import SegmentArcs
from spmopt.core.errors import InfeasibleError
from spmopt.core.objective import objective_named
from spmopt.core.operation import Mode
from spmopt.core.pieces.band_bounds import Banded, Skews, followed, tabulated
from spmopt.core.pieces.certificate import CoverCertificate
from spmopt.core.pieces.family import Family
from spmopt.core.pieces.listing import Listing
from spmopt.core.pieces.segments import Cover, Segment
from spmopt.core.scheduler import Request
from spmopt.frontends import zoo
from spmopt.graph.build import GraphBuilder
from spmopt.graph.listing import listing
from spmopt.graph.lower import lower
from spmopt.hardware.machines import load_machine
from spmopt.solving import solve
from spmopt.verifier.cover_bound import CoverPath, cover_bound
from spmopt.verifier.pricing import Pricing
from spmopt.verifier.segment_ends import Ends
from tests.formulations.covers.test_carried import BITS, Prices, priced, random_prices
from tests.formulations.covers.test_segments import relaxed
from tests.graph.feature_maps import feature_maps
from tests.thorough import share

BANDS = (1, 2, 3, 4)
MACHINE = load_machine("rtx2080ti", {"spm": "4MB"})


def covers(found: Listing, begin: int = 0) -> Iterator[Cover]:
    """All covers of the operations from one on, those with many bands and long segments first."""
    count = len(found.operations)
    if begin == count:
        yield ()
        return
    for end in range(count, begin, -1):
        for pieces, bands in [(found.batch, each) for each in (3, 2, 4, 1)] + [(1, 1)]:
            segment = Segment(begin=begin, end=end, pieces=pieces, bands=bands)
            if not found.obstacle(segment):
                for rest in covers(found, end):
                    yield (segment, *rest)


@st.composite
def small(draw: st.DrawFn) -> Listing:
    """A few windows on a machine that holds some rows of them."""
    machine = replace(
        MACHINE,
        spm_bytes=draw(st.sampled_from((64, 128, 256, 512, 1024))),
        page_bytes=draw(st.sampled_from((1, 16))),
        operations_per_s=10 ** draw(st.integers(8, 12)),
        duplex=draw(st.booleans()),
    )
    # Of many rows a full scratchpad at both ends does not hide what is taken twice.
    maps = feature_maps(most=4, height=10, width=2) | feature_maps(most=3, height=48, width=2)
    return listing(draw(maps), machine)


@settings(max_examples=share(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_modes_of_bands_are_those_that_another_process_is_sent(data: st.DataObject) -> None:
    found = data.draw(small())
    sent = pickle.loads(pickle.dumps(tabulated(found, BANDS)))
    assert Banded(sent, BANDS).listing == Banded(found, BANDS).listing
    for segment in {each for cover in islice(covers(found), 40) for each in cover}:
        if segment.bands > 1:
            assert followed(sent, segment) == followed(found, segment), segment


@settings(max_examples=share(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_no_cover_with_bands_is_below_the_bound(data: st.DataObject) -> None:
    """Nor below the sum of its segments' values; what prices prove is what was found."""
    found = data.draw(small())
    objective = objective_named(
        data.draw(st.sampled_from(("time", "traffic", "energy"))), found.machine
    )
    # Of a byte: what a solver takes for nothing.
    tiny = 1e-9 * max(objective.cycle / found.machine.bytes_per_cycle, objective.dram_in_byte)
    family = Family(name="all", pieces=tuple(sorted({1, found.batch})), bands=BANDS)
    arcs = SegmentArcs(Listed(found, objective, family), float(found.machine.spm_bytes))
    some = [*islice(covers(found), 0, data.draw(st.integers(6, 60)), 6)]
    values = {cover: relaxed(found, cover, objective) for cover in some}
    try:
        least = arcs.cheapest(lambda: False).value
    except InfeasibleError:
        assert not any(values.values())
        return
    exact = float(cover_bound(found, arcs.certificate()))
    assert exact == pytest.approx(least, rel=1e-6, abs=float(tiny))
    for cover, value in values.items():
        if value is None:
            continue
        arcs.solve(cover)
        slack = 1e-6 * value[1] + float(tiny)
        assert sum(arcs.solved[segment].value for segment in cover) <= value[1] + slack, cover
        assert exact <= value[1] + slack, cover


@settings(max_examples=share(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_no_cover_with_bands_costs_less_than_its_segments_at_any_prices(
    data: st.DataObject,
) -> None:
    """What is carried across borders cancels; prices of rows prove what the program says."""
    found = data.draw(small())
    objective = objective_named(
        data.draw(st.sampled_from(("time", "traffic", "energy"))), found.machine
    )
    family = Family(name="all", pieces=tuple(sorted({1, found.batch})), bands=BANDS)
    figures, random = Listed(found, objective, family), np.random.default_rng(len(found.tensors))
    byte = figures.dearest_row * found.machine.clock_hz
    prices = random_prices(figures, random)
    certificate = CoverCertificate(
        family=family, objective=objective, bits=BITS, prices={}, carried=prices
    )
    path = CoverPath(found, certificate)
    for cover in islice(covers(found), 0, data.draw(st.integers(6, 60)), 6):
        value = relaxed(found, cover, objective)
        if value is None:
            continue
        total = 0.0
        for segment in cover:
            costs, rows = priced(figures, segment, prices, fine=False)
            exact = path._value(segment, rows, agreed=True) / 2**path.bits
            scale = abs(costs) + byte * figures.capacity
            assert exact == pytest.approx(costs, abs=1e-7 * scale), segment
            total += exact
        assert total <= value[1] * (1 + 1e-6) + 1e-9 * byte, cover


@settings(max_examples=share(20), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(small(), st.sampled_from(("time", "traffic")), st.booleans())
def test_bounds_of_covers_with_bands_rise_and_are_proved(
    found: Listing, name: str, fine: bool
) -> None:
    objective = objective_named(name, found.machine)
    family = Family(name="all", pieces=tuple(sorted({1, found.batch})), bands=BANDS)
    figures = Listed(found, objective, family)
    arcs = SegmentArcs(figures, float(figures.capacity))
    try:
        plain = arcs.cheapest(lambda: False).value
    except InfeasibleError:
        return
    search = Agreement(arcs, fine=fine)
    for _ in islice(search.steps(), 8):
        pass
    exact = float(cover_bound(found, search.certificate()))
    assert exact == pytest.approx(max(search.best, figures.compulsory), rel=1e-6, abs=1e-12)
    assert exact >= plain * (1 - 1e-6) - 1e-12
    for cover in islice(covers(found), 0, 30, 6):
        value = relaxed(found, cover, objective)
        assert value is None or exact <= value[1] * (1 + 1e-6) + 1e-12, cover


@settings(max_examples=share(60), deadline=None)
@given(st.data())
def test_borders_of_all_begins_are_those_of_each(data: st.DataObject) -> None:
    """And the modes of a bound have the least sums of all of them."""
    found = data.draw(small())
    count = len(found.operations)
    for bands in BANDS[1:]:
        skews, banded = Skews(found.operations, bands), Banded(found, (1, bands))
        pieces = found.batch * bands
        seen: list[set[tuple[int, ...]]] = [set() for _ in range(count)]
        for begin, last in enumerate(skews.reach):
            for end in range(begin + 1, count + 1):
                segment = Segment(begin=begin, end=end, pieces=found.batch, bands=bands)
                assert bool(found.obstacle(segment)) == (end > last)
            if last > begin:
                whole = Segment(begin=begin, end=last, pieces=found.batch, bands=bands)
                exact, alone = followed(found, whole)
                for at, own in enumerate(found.borders(whole), begin):
                    seen[at].add(own)
                    least = banded.listing.operations[at].modes[pieces]
                    mine = exact.operations[at].modes[alone.pieces]
                    assert total(found, at, own) == mine.first.compute_cycles + (
                        (pieces - 1) * mine.later.compute_cycles
                    )
                    assert total(found, at, own) >= least.first.compute_cycles + (
                        (pieces - 1) * least.later.compute_cycles
                    )
        assert [set(each) for each in skews.borders] == seen


def total(found: Listing, at: int, own: tuple[int, ...]) -> int:
    """Cycles of all bands of an operation."""
    assert found.band_mode is not None
    modes = [found.band_mode(at, *band) for band in pairwise(own)]
    return found.batch * sum(mode.compute_cycles for mode in modes)


def test_bytes_that_wait_for_the_next_band_are_not_followed() -> None:
    """Of two windows of three rows, and a sum with what goes in: two rows less in each band."""
    b = GraphBuilder("residual")
    x = y = b.add("Relu", [b.input("x", (2, 1, 12, 1))], name="r")
    for k in range(2):
        y = b.add("Conv", [y, b.weight(f"w{k}", (1, 1, 3, 1))], name=f"c{k}", pads=(1, 0, 1, 0))
    found = listing(b.finish([b.add("Add", [y, x], name="sum")]), MACHINE)
    segment = Segment(begin=0, end=4, pieces=2, bands=3)
    assert found.borders(segment)[-1] == (0, 2, 6, 12)
    exact, whole = followed(found, segment)
    assert whole.pieces == 6
    rows = {tensor.name: tensor.size_bytes // 8 for tensor in exact.tensors}
    # Of four rows each of r, the first two bands leave two for the sum of the next.
    assert rows == {"x": 12, "r": 8, "c0": 12, "c1": 12, "sum": 12, "w0": 1, "w1": 1}


@pytest.mark.parametrize("more", [None, 1, -1])
@pytest.mark.parametrize("begin", [1, 2])
def test_bytes_that_are_not_followed_are_carried_across_in_full(
    begin: int, more: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A byte more or less of ``r``, or none, proves another value: where it is made, and read."""
    b = GraphBuilder("residual")
    x = y = b.add("Relu", [b.add("Relu", [b.input("x", (2, 1, 12, 1))], name="p")], name="r")
    for k in range(2):
        y = b.add("Conv", [y, b.weight(f"w{k}", (1, 1, 3, 1))], name=f"c{k}", pads=(1, 0, 1, 0))
    last = b.add("Add", [b.add("Add", [y, x], name="sum"), x], name="last")
    machine = replace(MACHINE, spm_bytes=512, page_bytes=1)
    found = listing(b.finish([last]), machine)
    traffic = objective_named("traffic", machine)
    segment = Segment(begin=begin, end=5, pieces=2, bands=3)
    figures = Listed(found, traffic, Family(name="all", pieces=(1, 2), bands=(1, 3)))
    prices: Prices = {
        (border, group): (3 * 2**BITS // 4, 2**BITS // 4)
        for border, crossed in enumerate(figures.crossing)
        for group in crossed
    }
    costs, rows = priced(figures, segment, prices, fine=False)
    add = Ends.add_beside

    def wrong(self: Ends, pricing: Pricing, beside: dict[int, int]) -> None:
        add(self, pricing, {t: size + more for t, size in beside.items()} if more else {})

    certificate = CoverCertificate(
        family=figures.family, objective=traffic, bits=BITS, prices={}, carried=prices
    )
    path = CoverPath(found, certificate)
    right = path._value(segment, rows, agreed=True) / 2**path.bits
    assert right == pytest.approx(costs, rel=1e-9)
    monkeypatch.setattr(Ends, "add_beside", wrong)
    assert path._value(segment, rows, agreed=True) / 2**path.bits != pytest.approx(right, rel=1e-6)


def test_rows_of_a_halo_count_once() -> None:
    """They may stay: an image of 48 rows in 8 bands moves no more than in one, and no less."""
    b = GraphBuilder("halo")
    x, w = b.input("x", (1, 2, 48, 2)), b.weight("w", (2, 2, 5, 1))
    graph = b.finish([b.add("Conv", [x, w], name="y", pads=(2, 0, 2, 0))])
    found = listing(graph, replace(MACHINE, spm_bytes=192, page_bytes=1), lowering="panel")
    traffic = objective_named("traffic", found.machine)
    cover = (Segment(begin=0, end=1, bands=8),)
    arcs = SegmentArcs(Listed(found, traffic), float(found.machine.spm_bytes))
    arcs.solve(cover)
    value = relaxed(found, cover, traffic)
    assert value is not None
    assert 0.7 * value[1] <= arcs.solved[cover[0]].value <= value[1] * (1 + 1e-6)


def test_bands_that_fit_in_some_segment_only_have_no_value_in_others() -> None:
    """Of even ones the last takes more scratch than there is; of others the program is solved."""
    b = GraphBuilder("two")
    x = b.add("Relu", [b.input("x", (1, 1, 8, 1))], name="r")
    w = b.weight("w", (1, 1, 3, 1))
    found = listing(b.finish([b.add("Conv", [x, w], name="c", pads=(1, 0, 1, 0))]), MACHINE)
    given = found.band_mode
    assert given is not None

    def mode(at: int, begin: int, end: int) -> Mode:
        dear = (at, begin) == (1, 4)
        return replace(given(at, begin, end), scratch_bytes=3 * MACHINE.spm_bytes if dear else 0)

    found = replace(found, band_mode=mode)
    alone, both = Segment(begin=1, end=2, bands=2), Segment(begin=0, end=2, bands=2)
    assert found.borders(alone)[-1] == (0, 4, 8)
    assert found.borders(both)[-1] == (0, 3, 8)
    figures = Listed(found, objective_named("time", found.machine))
    arcs = SegmentArcs(figures, float(figures.capacity))
    arcs.solve((alone, both))
    assert arcs.solved[alone].value == np.inf
    assert 0 < arcs.solved[both].value < np.inf
    priced_alone = PricedSegment(figures, alone, BorderPrices(figures), fine=False)
    priced_alone.solve(np.ones(BorderPrices(figures).count))
    assert priced_alone.value == np.inf


def test_bands_beyond_the_rows_there_are_take_no_time() -> None:
    found = listing(zoo.network("mobilenetv2", batch=1), MACHINE)
    banded = Banded(found, (1, 10**12))
    assert banded.reach == {10**12: list(range(len(found.operations)))}
    assert "in some of 1000000000000 bands" in found.obstacle(Segment(begin=0, end=1, bands=10**12))


def test_bands_pay_where_an_image_does_not_fit() -> None:
    """Values of all covers, with bands and without, and the least that computing takes."""
    found = listing(zoo.network("mobilenetv2", batch=4), MACHINE)
    time = objective_named("time", MACHINE)
    bounds = []
    for name in ("batch", "all"):
        figures = Listed(found, time, found.family(name))
        arcs = SegmentArcs(figures, float(figures.capacity))
        bounds.append(arcs.cheapest(lambda: False).value)
        floor = np.min([figures.cycles(pieces) for pieces in figures.pieces], axis=0).sum()
        assert bounds[-1] >= floor * (1 - 1e-9)
    assert bounds[1] < 0.8 * bounds[0]


def test_the_search_finds_bands_and_says_what_it_is_a_bound_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Covers of the batch are left after two counted seconds; the limit is for a busy machine.
    monkeypatch.setattr(schedule, "_BATCH_SHARE", 0.025)
    monkeypatch.setattr(schedule, "_FIRST_SHARE", 0.035)
    graph, machine = zoo.network("mobilenetv2", batch=1), load_machine("rtx2080ti", {"spm": "2MB"})
    instance = replace(lower(graph, machine), listed=partial(listing, graph))
    result = solve(instance, "pieces", Request(threads=1, time_limit_s=60, tolerance=0.25))
    assert result.pieces is not None
    assert result.pieces.certificate is not None
    assert any(segment.bands > 1 for segment in result.pieces.cover)
    assert result.pieces.certificate.family.bands == (1, 2, 4, 8)
    assert result.cover_gap is not None
    assert 0 <= result.cover_gap < 0.3
