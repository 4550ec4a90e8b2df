"""Values of segments: never above what a cover costs, and the program of the list as a whole."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest

from formulations.covers.listed import Listed
from formulations.covers.paths import SegmentArcs
from formulations.covers.rows import in_integers
from formulations.covers.segment import SegmentProgram
from formulations.residency.bound.dual import Dual
from formulations.residency.bound.prices import CostCoefficients, MovePrices, Multipliers
from formulations.residency.bound.ranked import RankedIntervals
from formulations.residency.program.columns import candidates
from formulations.residency.program.master import Master
from formulations.solver.highs import solve
from spmopt.core.errors import InfeasibleError, InputError
from spmopt.core.objective import Objective, objective_named
from spmopt.core.pieces.certificate import CoverCertificate
from spmopt.core.pieces.family import FAMILIES, Family
from spmopt.core.pieces.listing import Listing
from spmopt.core.pieces.segments import Cover, Segment
from spmopt.core.timeline import fitting_timeline
from spmopt.graph.listing import listing
from spmopt.graph.training import training_graph
from spmopt.hardware.machines import load_machine
from spmopt.verifier.cover_bound import cover_bound
from spmopt.verifier.segment_bound import segment_bound
from spmopt.verifier.segment_uses import Liveness
from tests.formulations.covers.random_listing import covers, random_listing
from tests.graph.networks import attention, convolution, lstm, mlp, residual
from tests.thorough import share, some

OBJECTIVES = ("time", "traffic", "energy")


def relaxed(listed: Listing, cover: Cover, objective: Objective) -> tuple[float, float] | None:
    """Bound and value of the relaxation of a cover, bytes in parts; None where nothing fits.

    All columns in one program: what little there is takes an eighth of the time of a search.
    """
    instance, _ = listed.instance(cover)
    try:
        line = fitting_timeline(instance)
    except InfeasibleError:
        return None
    intervals, figures = RankedIntervals(line), CostCoefficients(instance, line, objective)
    free = MovePrices(figures, Multipliers.zero(figures))
    every = candidates(intervals, free, intervals.steps, lambda _, at: np.full(at.size, np.inf))
    built = Master(intervals, figures, every, page_bytes=1)
    answer = solve(built.program, brief=True)
    assert answer.objective is not None
    value = built.value(answer.objective)
    bound = Dual(intervals, figures, built.multipliers(answer)).value
    assert bound == pytest.approx(value, rel=1e-7, abs=1e-15)
    return bound, value


@pytest.mark.parametrize("make", [mlp, convolution, residual, attention, lstm])
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", OBJECTIVES)
def test_one_whole_segment_from_nothing_to_nothing_is_the_relaxation(
    make: object, training: bool, name: str
) -> None:
    assert callable(make)
    graph = training_graph(make(), optimizer="adam") if training else make()
    machine = load_machine("rtx2080ti", {"spm": "16KB"})
    listed, objective = listing(graph, machine), objective_named(name, machine)
    whole = Segment(begin=0, end=len(listed.operations))
    value = SegmentProgram(Listed(listed, objective), whole, 0.0).solve().value
    found = relaxed(listed, (whole,), objective)
    assert found is not None
    assert found[0] * (1 - 1e-6) <= value <= found[1] * (1 + 1e-6)


def test_no_cover_costs_less_than_the_values_of_its_segments() -> None:
    """Every legal schedule is a solution of the programs of its segments."""
    compared = tight = 0
    for seed in some(range(40)):
        listed = random_listing(seed)
        objective = objective_named(OBJECTIVES[seed % 3], listed.machine)
        figures = Listed(listed, objective)
        for cover in islice(covers(listed), 0, 60, 1 + seed % 3):
            found = relaxed(listed, cover, objective)
            if found is None:
                continue
            value = found[1]
            least = sum(
                SegmentProgram(figures, segment, figures.capacity).solve().value
                for segment in cover
            )
            slack = 1e-6 * value + 1e-15
            assert least <= value + slack, (seed, cover)
            compared += 1
            tight += least > 0.8 * value
    assert compared > share(150)
    assert tight > compared / 4


def test_no_cover_is_below_the_bound_over_all() -> None:
    compared = 0
    for seed in some(range(200, 225)):
        listed = random_listing(seed, most=3)
        objective = objective_named(OBJECTIVES[seed % 3], listed.machine)
        figures = Listed(listed, objective)
        values = [relaxed(listed, cover, objective) for cover in covers(listed)]
        known = [value[1] for value in values if value is not None]
        if not known:
            continue
        found = SegmentArcs(figures, float(figures.capacity)).cheapest(lambda: False)
        assert found.exact
        assert found.value <= min(known) * (1 + 1e-6) + 1e-15, seed
        early = SegmentArcs(figures, float(figures.capacity)).cheapest(lambda: True)
        assert early.value <= found.value * (1 + 1e-9) + 1e-15, seed
        compared += 1
    assert compared > share(15)


@pytest.mark.parametrize("exponent", [-18, -9, 9, 18])
def test_prices_are_legal_whatever_a_byte_weighs_against_a_cycle(exponent: int) -> None:
    """As for two objectives in order, which are weighed against each other."""
    byte = Fraction(10) ** exponent / 7
    objective = Objective(
        name="both", unit="cycles", cycle=Fraction(1), dram_in_byte=byte, dram_out_byte=byte
    )
    for seed in some(range(200, 215)):
        listed = random_listing(seed, most=3)
        machine = replace(listed.machine, dram_bytes_per_s=7, clock_hz=3)
        listed = replace(listed, machine=machine)
        figures = Listed(listed, objective)
        arcs = SegmentArcs(figures, float(figures.capacity))
        found = arcs.cheapest(lambda: False)
        if np.isfinite(found.value):
            proved = cover_bound(listed, arcs.certificate())
            assert float(proved) == pytest.approx(found.value, rel=1e-6)


def segments(listed: Listing) -> list[Segment]:
    """All segments of a listing that fit."""
    count = len(listed.operations)
    every = (
        Segment(begin=begin, end=end, pieces=pieces)
        for begin in range(count)
        for end in range(begin + 1, count + 1)
        for pieces in (1, 2, 4)
    )
    return [
        segment
        for segment in every
        if not listed.obstacle(segment)
        and all(listed.fits(at, segment.pieces) for at in range(segment.begin, segment.end))
    ]


def test_cheap_values_are_of_all_segments_and_never_above_programs() -> None:
    compared = 0
    for seed in some(range(60)):
        listed = random_listing(seed)
        figures = Listed(listed, objective_named(OBJECTIVES[seed % 3], listed.machine))
        arcs = SegmentArcs(figures, float(figures.capacity))
        every = segments(listed)
        assert np.isfinite(arcs.value).sum() == len(every)
        for segment in every:
            value = SegmentProgram(figures, segment, figures.capacity).solve().value
            way = figures.pieces.index(segment.pieces)
            cheap = float(arcs.value[segment.end, way, segment.begin])
            assert cheap <= value * (1 + 1e-6) + 1e-15, (seed, segment)
            compared += cheap > 0.5 * value > 0
    assert compared > share(100)


def test_prices_prove_the_values_in_exact_integers() -> None:
    """Of each segment, and over all covers; any other prices prove no more."""
    random = np.random.default_rng(1)
    for seed in some(range(30)):
        listed = random_listing(seed, most=3)
        objective = objective_named(OBJECTIVES[seed % 3], listed.machine)
        figures, live = Listed(listed, objective), Liveness(listed)
        for segment in segments(listed):
            found = SegmentProgram(figures, segment, figures.capacity).solve()
            prices = in_integers(found.prices, 80, figures)
            exact = segment_bound(live, segment, objective, prices, 80)
            assert exact / 2**80 == pytest.approx(found.value, rel=1e-8, abs=1e-18)
            other = {row: int(price * random.uniform(0.3, 1.0)) for row, price in prices.items()}
            assert segment_bound(live, segment, objective, other, 80) <= exact + 2**20


def test_the_bound_over_all_covers_is_recomputed_exactly() -> None:
    compared = 0
    for seed in some(range(200, 240)):
        listed = random_listing(seed, most=3)
        objective = objective_named(OBJECTIVES[seed % 3], listed.machine)
        figures = Listed(listed, objective)
        arcs = SegmentArcs(figures, float(figures.capacity))
        try:
            found = arcs.cheapest(lambda: False)
        except InfeasibleError:
            continue
        exact = cover_bound(listed, arcs.certificate())
        assert float(exact) == pytest.approx(found.value, rel=1e-6, abs=1e-15), seed
        nothing = CoverCertificate(family=figures.family, objective=objective, bits=60, prices={})
        assert cover_bound(listed, nothing) <= exact
        compared += 1
    assert compared > share(20)


def bound_of(listed: Listing, objective: Objective, family: Family) -> float:
    """Return the certified bound over all covers of a family; infinite where none fits."""
    arcs = SegmentArcs(Listed(listed, objective, family), float(Listed(listed, objective).capacity))
    try:
        arcs.cheapest(lambda: False)
    except InfeasibleError:
        return np.inf
    return float(cover_bound(listed, arcs.certificate()))


def test_the_bound_of_a_family_holds_for_its_covers_and_falls_as_it_grows() -> None:
    compared = 0
    for seed in some(range(300, 318)):
        listed = random_listing(seed, most=3)
        objective = objective_named(OBJECTIVES[seed % 3], listed.machine)
        values = {cover: relaxed(listed, cover, objective) for cover in covers(listed)}
        bounds = []
        for name in FAMILIES:
            family = listed.family(name)
            bounds.append(bound_of(listed, objective, family))
            known = [v[1] for c, v in values.items() if v and not listed.outside(family, c)]
            if known and np.isfinite(bounds[-1]):
                assert bounds[-1] <= min(known) * (1 + 1e-6) + 1e-15, (seed, name)
                compared += 1
        least = dict(zip(FAMILIES, bounds, strict=True))
        assert least["none"] >= least["fuse"] * (1 - 1e-9) >= least["all"] * (1 - 2e-9), seed
        assert least["none"] >= least["batch"] * (1 - 1e-9) >= least["all"] * (1 - 2e-9), seed
    assert compared > share(40)


def test_bounds_of_smaller_families_are_higher_where_fusing_pays() -> None:
    machine = load_machine("rtx2080ti", {"page": "16B", "spm": "256B", "bandwidth": "10GB/s"})
    listed = listing(attention(), machine, lowering="panel")
    none, fuse, batch, every = (
        bound_of(listed, objective_named("traffic", machine), listed.family(name))
        for name in FAMILIES
    )
    assert none > 1.1 * fuse
    assert fuse > 1.01 * batch
    assert batch == every


def test_prices_of_segments_outside_the_family_are_refused() -> None:
    listed = random_listing(300, most=3)
    objective = objective_named("time", listed.machine)
    outside = next(each for each in segments(listed) if each.pieces > 1)
    certificate = CoverCertificate(
        family=listed.family("none"), objective=objective, bits=60, prices={outside: {}}
    )
    with pytest.raises(InputError, match=f"{outside.pieces} pieces is none"):
        cover_bound(listed, certificate)
    with pytest.raises(InputError, match="must ascend from 1"):
        Family(name="odd", pieces=(2, 4))
    with pytest.raises(InputError, match="no covers are called 'some'"):
        listed.family("some")
