"""Values of runs of operations: never above what their steps cost in any segment that has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice, pairwise, product

import numpy as np
import pytest

from formulations.covers.listed import Listed
from formulations.covers.paths import SegmentArcs
from formulations.covers.rows import in_integers
from formulations.covers.segment import SegmentProgram
from spmopt.core.errors import InfeasibleError, InputError
from spmopt.core.graph import Graph
from spmopt.core.objective import objective_named
from spmopt.core.pieces.certificate import CoverCertificate, Row
from spmopt.core.pieces.segments import Cover, Segment
from spmopt.graph.listing import listing
from spmopt.graph.training import training_graph
from spmopt.hardware.machines import load_machine
from spmopt.verifier.cover_bound import cover_bound
from spmopt.verifier.segment_bound import segment_bound
from spmopt.verifier.segment_uses import Liveness
from tests.formulations.covers.random_listing import covers, random_listing
from tests.formulations.covers.test_segments import OBJECTIVES, relaxed, segments
from tests.graph.networks import attention, convolution, mlp, residual
from tests.thorough import share, some


def cases(seeds: Iterable[int]) -> Iterator[tuple[Listed, Cover, float]]:
    """Yield random listings, covers, each in runs at random, and what the covers cost."""
    random = np.random.default_rng(5)
    for seed in seeds:
        listed = random_listing(seed, most=5)
        objective = objective_named(OBJECTIVES[seed % 3], listed.machine)
        figures = Listed(listed, objective)
        for cover in islice(covers(listed), 0, 120, 1 + seed % 7):
            if all(each.pieces == 1 or each.end - each.begin == 1 for each in cover):
                continue
            found = relaxed(listed, cover, objective)
            if found is None:
                continue
            runs = list[Segment]()
            for each in cover:
                inside = range(each.begin + 1, each.end)
                cuts = [at for at in inside if random.random() < 0.7]
                for begin, end in pairwise([each.begin, *cuts, each.end]):
                    runs.append(Segment(begin=begin, end=end, pieces=each.pieces))
            yield figures, tuple(runs), found[1]


def too_high(seeds: Iterable[int], *, inner: bool, full: bool = True) -> tuple[int, int]:
    """Return how many sums of runs are above what their cover costs, and how many are near it.

    Each piece of a run finds and leaves a ``full`` scratchpad, or all pieces together do.
    """
    above = near = 0
    for figures, runs, value in cases(seeds):
        most = [1.0 if full else 1 / run.pieces for run in runs]
        least = sum(
            SegmentProgram(figures, run, part * figures.capacity, inner=inner).solve().value
            for run, part in zip(runs, most, strict=True)
        )
        above += least > value * (1 + 1e-6) + 1e-15
        near += least > 0.5 * value
    return above, near


TELLING = (15, 46, 57, 64, 66, 87, 102, 126, 133, 135)
"""Listings, of 150, in which some run costs more as a segment of its own, or with less to find."""


def test_no_cover_costs_less_than_the_runs_of_its_segments() -> None:
    above, near = too_high([*range(40), *TELLING], inner=True)
    assert above == 0
    assert near > 20


def test_a_run_costs_less_than_a_segment_of_the_same_operations() -> None:
    """What each piece finds may come from others' steps; so may all that fits, before each."""
    assert too_high(TELLING, inner=False)[0] > 0
    assert too_high(TELLING, inner=True, full=False)[0] > 0


def test_prices_prove_the_values_of_runs_in_exact_integers() -> None:
    """Any other prices prove no more."""
    random = np.random.default_rng(1)
    for seed in range(30):
        listed = random_listing(seed, most=3)
        objective = objective_named(OBJECTIVES[seed % 3], listed.machine)
        figures, live = Listed(listed, objective), Liveness(listed)
        for run in segments(listed):
            found = SegmentProgram(figures, run, figures.capacity, inner=True).solve()
            prices = in_integers(found.prices, 80, figures)
            exact = segment_bound(live, run, objective, prices, 80, inner=True)
            assert exact / 2**80 == pytest.approx(found.value, rel=1e-8, abs=1e-18)
            other = {row: int(price * random.uniform(0.3, 1.0)) for row, price in prices.items()}
            assert segment_bound(live, run, objective, other, 80, inner=True) <= exact + 2**20


@pytest.mark.parametrize("make", [mlp, convolution, residual, attention])
def test_runs_raise_values_of_segments_that_are_not_solved(make: Callable[[], Graph]) -> None:
    """As far as the verifier proves them: a certificate of runs alone is worth what they say."""
    raised = 0
    for spm, name in product(("2KB", "4KB", "8KB"), OBJECTIVES):
        machine = load_machine("small-npu", {"spm": spm, "page": "64B"})
        listed = listing(training_graph(make()), machine)
        figures = Listed(listed, objective_named(name, machine))
        arcs = SegmentArcs(figures, float(figures.capacity))
        try:
            arcs.cheapest(lambda: True)
        except InfeasibleError:
            continue
        plain = arcs.value.copy()
        runs = arcs.runs.inside(segments(listed))
        arcs.runs.solve(runs)
        arcs.raise_by_runs({each.pieces for each in runs})
        found = arcs.cheapest(lambda: True)
        certificate = arcs.certificate()
        assert not certificate.prices
        exact = float(cover_bound(listed, certificate))
        assert exact == pytest.approx(found.value, rel=1e-6, abs=1e-15)
        raised += int(np.count_nonzero(arcs.value > plain * 1.001))
    assert raised > 20


def test_prices_of_runs_that_there_are_not_are_refused() -> None:
    listed = random_listing(3)
    objective = objective_named("time", listed.machine)
    figures = Listed(listed, objective)
    count = len(listed.operations)
    for run, message in (
        (Segment(begin=0, end=count + 1), "is none"),
        (Segment(begin=0, end=1, pieces=3), "is none"),
        (Segment(begin=0, end=1), "no row is called"),
    ):
        proof = CoverCertificate(
            family=figures.family,
            objective=objective,
            bits=60,
            prices={},
            runs={run: {("found", 0): 1}},
        )
        with pytest.raises(InputError, match=message):
            cover_bound(listed, proof)


def test_runs_whose_prices_prove_next_to_nothing_lower_no_bound() -> None:
    """Far below what 64 bits hold."""
    listed = random_listing(3)
    objective = objective_named("time", listed.machine)
    proof = CoverCertificate(
        family=Listed(listed, objective).family, objective=objective, bits=60, prices={}
    )
    dear: dict[Row, int] = {("room", 0, 0): -(2**200)}
    runs = {Segment(begin=0, end=1): dear}
    assert cover_bound(listed, replace(proof, runs=runs)) == cover_bound(listed, proof)


def test_equal_segments_at_the_ends_of_the_listing_have_values_of_their_own() -> None:
    """Before the first and after the last nothing is on chip; between them a scratchpad is full."""
    compared = 0
    for seed in some(range(60)):
        listed = random_listing(seed, most=4)
        figures = Listed(listed, objective_named(OBJECTIVES[seed % 3], listed.machine))
        arcs = SegmentArcs(figures, float(figures.capacity))
        every = segments(listed)
        arcs.solve(every[::-1])
        for segment in every:
            value = SegmentProgram(figures, segment, figures.capacity).solve().value
            assert arcs.solved[segment].value == pytest.approx(value, rel=1e-6, abs=1e-15)
            compared += 1
    assert compared > share(300)
