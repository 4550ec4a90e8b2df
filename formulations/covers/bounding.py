"""The bound over all covers in a process of its own, beside the search of a cover.

Programs of segments are built in Python: two searches in one process would wait for each other.
What is solved is told as it comes, so that nothing is lost when the process is ended. When all of
the cheapest cover is solved, or that takes long, prices at borders raise the bound
(:mod:`~.agreement`), unless the list is a long one: proofs of that are told now and then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import inf
from time import monotonic
from typing import NamedTuple

from formulations.covers.agreement import Agreement
from formulations.covers.listed import Listed
from formulations.covers.paths import CheapestCover, SegmentArcs
from formulations.covers.segment import SegmentValue
from formulations.solver import apart
from spmopt.core.objective import Objective
from spmopt.core.pieces.band_bounds import tabulated
from spmopt.core.pieces.certificate import CoverCertificate
from spmopt.core.pieces.family import Family
from spmopt.core.pieces.listing import Listing
from spmopt.core.pieces.segments import Segment

Values = dict[Segment, SegmentValue]
News = tuple[CheapestCover, Values, Values, CoverCertificate | None]
"""A cover that is the cheapest as far as is known; segments and runs solved since the last; a proof
of a higher bound."""
_SHORT = 0.1, 0.3
"""Of what prices at borders raise a bound by: what its proof may lose so that it is short."""
_WORTH = 5e-4
"""Of the bound: what it must rise by for a proof, which takes seconds to check."""
_SEGMENT_S, _TENSOR_S, _CHECK_SHARE = 1.5e-3, 6e-7, 0.25
"""Seconds that a segment takes to check, and a tensor in a step of it; and the share of all that a
proof may take."""
_PLAIN_SHARE = 0.25
"""Of the time: the bound without prices at borders. The traffic of MobileNetV2 on 4 MB is bounded
by 518 MB after 10 s; with prices from 4 s on by 526 MB."""
_SHORT_STEPS = 24
"""Steps of segments whose first and last piece are told from the others: this triples programs."""
_OFTEN = 10.0
"""Times as long as a proof takes to make: between two."""


class Problem(NamedTuple):
    """What the bound is searched of."""

    listing: Listing
    objective: Objective
    family: Family


def cheapest(
    problem: Problem,
    stop: Callable[[], bool],
    tell: Callable[[CheapestCover, CoverCertificate | None], None],
    learn: Callable[[Values, Values], None],
    *,
    seconds: float = inf,
    more: Callable[[], bool] = lambda: True,
    note: Callable[[str], None] = lambda _: None,
) -> CheapestCover:
    """Find the cheapest cover in a process of its own; ``learn`` takes what is solved there.

    Otherwise as :meth:`~.paths.SegmentArcs.cheapest`; ``tell`` of a cover and, where its segments
    agree at borders, the proof of its value, which is higher then; in ``seconds``, of which its
    check takes few, and while ``more`` is wanted than that value. ``note`` is told of a process
    that died and was replaced.

    Raises
    ------
    Exception
        Whatever ended the search there.
    """
    listing, objective, family = problem
    found = CheapestCover(cover=(), value=0.0, exact=False)
    news = apart.stream(
        "formulations.covers.bounding:improve",
        tabulated(listing, family.bands),
        objective,
        family,
        seconds,
        stop=lambda: stop() or (found.exact and not more()),
        library="highspy",
        note=note,
    )
    for each, solved, runs, better in news:
        learn(solved, runs)
        if each.value >= found.value or not found.exact:  # less where it has begun anew
            found = each
            tell(found, better)
    return found


def improve(
    listing: Listing, objective: Objective, family: Family, seconds: float = inf
) -> Iterator[News]:
    """Yield cheapest covers, each after the programs of the one before, until one is exact.

    Then proofs of higher bounds, of which each takes a small share of ``seconds`` to check.
    """
    listed = Listed(listing, objective, family)
    arcs = SegmentArcs(listed, float(listed.capacity))
    known, begun = (0, 0), monotonic()
    for found in arcs.paths():
        solved, runs = list(arcs.solved.items()), list(arcs.runs.solved.items())
        yield found, dict(solved[known[0] :]), dict(runs[known[1] :]), None
        known = len(solved), len(runs)
        if monotonic() - begun > _PLAIN_SHARE * seconds:
            break
    if arcs.lengths.all:
        yield from _agreed(arcs, found, seconds)


def _agreed(arcs: SegmentArcs, plain: CheapestCover, seconds: float) -> Iterator[News]:
    """Yield proofs of bounds at prices at borders, each worth its time."""
    steps = sum(each.end - each.begin for each in arcs.solved)
    fine = steps <= _SHORT_STEPS * len(arcs.solved)
    search, proved, since, took = Agreement(arcs, fine=fine), plain.value, monotonic(), 0.0
    for best in search.steps():
        if best < proved + _WORTH * abs(proved) or monotonic() - since < _OFTEN * took:
            continue
        begun = monotonic()
        for lost in _SHORT:
            least = best - lost * (best - plain.value)
            proof = search.certificate(least)
            if least > proved and _check_s(arcs.listed, proof) <= _CHECK_SHARE * seconds:
                proved = least
                yield replace(plain, cover=search.cover, value=least), {}, {}, proof
                break
        since, took = monotonic(), monotonic() - begun


def _check_s(listed: Listed, proof: CoverCertificate) -> float:
    """Return how long the check of a proof takes, by its segments."""
    total = 0.0
    for each in (*proof.prices, *proof.agreed, *proof.runs):
        count = 1 if each.bands > 1 else each.pieces
        steps = range(each.begin, each.end)
        tensors = len({use.tensor for at in steps for use in listed.modes(at, count)})
        classes = 3 if proof.fine and each in proof.agreed and each.bands == 1 else 1
        total += classes * (_SEGMENT_S + _TENSOR_S * tensors * len(steps))
    return total
