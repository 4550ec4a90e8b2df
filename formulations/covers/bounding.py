"""The bound over all covers in a process of its own, beside the search of a cover.

Programs of segments are built in Python: two searches in one process would wait for each other.
What is solved is told as it comes, so that nothing is lost when the process is ended. When all of
the cheapest cover is solved, prices at borders raise the bound (:mod:`~.agreement`): proofs of
that are told now and then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from time import monotonic

from formulations.covers.agreement import Agreement
from formulations.covers.listed import Listed
from formulations.covers.paths import CheapestCover, SegmentArcs
from formulations.covers.segment import SegmentValue
from formulations.solver import apart
from spmopt.core.listing import CoverCertificate, Family, Listing, Segment
from spmopt.core.objective import Objective

Values = dict[Segment, SegmentValue]
News = tuple[CheapestCover, Values, Values, CoverCertificate | None]
"""A cover that is the cheapest as far as is known; segments and runs solved since the last; a proof
of a higher bound."""
_SHORT = 0.3
"""Of what prices at borders raise a bound by: what its proof may lose so that it is short."""
_WORTH = 2e-3
"""Of the bound: what it must rise by for a proof, which takes seconds to check."""
_OFTEN = 10.0
"""Times as long as a proof takes to make: between two."""


def cheapest(
    arcs: SegmentArcs, stop: Callable[[], bool], tell: Callable[[float], None]
) -> tuple[CheapestCover, CoverCertificate | None]:
    """Find the cheapest cover in a process of its own; ``arcs`` takes what is solved there.

    Otherwise as :meth:`~.paths.SegmentArcs.cheapest`. With it comes the proof of a bound that is
    higher than its value, if one was found.
    """
    listed = arcs.listed
    found = CheapestCover(cover=(), value=0.0, exact=False)
    proof: CoverCertificate | None = None
    news = apart.stream(
        "formulations.covers.bounding:improve",
        listed.given,
        listed.objective,
        listed.family,
        stop=stop,
        library="highspy",
    )
    for found, solved, runs, better in news:
        proof = better or proof
        arcs.take_runs(runs)
        for segment, value in solved.items():
            if segment not in arcs.solved:
                arcs.take(segment, value)
        tell(found.value)
    return found, proof


def improve(listing: Listing, objective: Objective, family: Family) -> Iterator[News]:
    """Yield cheapest covers, each after the programs of the one before, until one is exact."""
    listed = Listed(listing, objective, family)
    arcs = SegmentArcs(listed, float(listed.capacity))
    known = 0, 0
    for found in arcs.paths():
        solved, runs = list(arcs.solved.items()), list(arcs.runs.solved.items())
        yield found, dict(solved[known[0] :]), dict(runs[known[1] :]), None
        known = len(solved), len(runs)
    yield from _agreed(arcs, found)


def _agreed(arcs: SegmentArcs, plain: CheapestCover) -> Iterator[News]:
    """Yield proofs of bounds at prices at borders, each worth its time."""
    search, proved, since, took = Agreement(arcs), plain.value, monotonic(), 0.0

    def news() -> News:
        least = search.best - _SHORT * (search.best - plain.value)
        return replace(plain, value=least), {}, {}, search.certificate(least)

    for best in search.steps():
        rise = (1 - _SHORT) * (best - plain.value) - (proved - plain.value)
        if rise > _WORTH * abs(proved) and monotonic() - since > _OFTEN * took:
            begun = monotonic()
            yield news()
            since, took = monotonic(), monotonic() - begun
            proved += rise
    if (1 - _SHORT) * (search.best - plain.value) > proved - plain.value + _WORTH * abs(proved):
        yield news()
