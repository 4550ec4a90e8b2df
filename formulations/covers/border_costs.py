"""What a cover would cost with one border less, or elsewhere, and with other numbers of pieces.

Segments are priced as in the search (:mod:`formulations.covers.search`): by the mean of two
programs, one that begins and ends with nothing on chip and one with all that fits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import monotonic

from formulations.covers.listed import Listed
from formulations.covers.segment import SegmentProgram
from spmopt.core.objective import Objective
from spmopt.core.pieces.family import Family
from spmopt.core.pieces.listing import Listing
from spmopt.core.pieces.segments import BorderCost, Cover, Segment


def border_costs(
    listing: Listing, cover: Cover, family: Family, objective: Objective, limit_s: float
) -> list[BorderCost]:
    """Return what changes of a cover of ``family`` cost, in units of the objective.

    Those of each segment and of the border at its end, the first segments first; what is not known
    after ``limit_s`` seconds is left out.
    """
    prices, until = _Prices(listing, family, objective), monotonic() + limit_s
    found = list[BorderCost]()
    ways = [(pieces, 1) for pieces in family.pieces]
    ways += [(listing.batch, bands) for bands in family.bands[1:]]
    for index, segment in enumerate(cover):
        following = cover[index + 1] if index + 1 < len(cover) else None
        if listing.outside(family, cover[index : index + 2]):
            continue
        for change, new in _changes(segment, following, ways):
            if monotonic() > until:
                return found
            if listing.outside(family, new) or any(listing.obstacle(each) for each in new):
                continue
            both = following is not None and change != "pieces"
            old = (segment, following) if both and following is not None else (segment,)
            cost = prices.sum(new) - prices.sum(old)
            found.append(BorderCost(segment=index, change=change, cover=new, cost=cost))
    return found


def _changes(
    segment: Segment, following: Segment | None, ways: Sequence[tuple[int, int]]
) -> Iterator[tuple[str, Cover]]:
    """Yield what may stand for a segment, or for it and the one that follows.

    ``ways``: numbers of pieces and of bands of each, the coarsest first.
    """
    at = ways.index((segment.pieces, segment.bands))
    for pieces, bands in ways[max(at - 1, 0) : at + 2]:
        if (pieces, bands) != ways[at]:
            yield "pieces", (replace(segment, pieces=pieces, bands=bands),)
    if following is None:
        return
    for each in dict.fromkeys((ways[at], (following.pieces, following.bands))):
        yield "merged", (replace(segment, end=following.end, pieces=each[0], bands=each[1]),)
    if following.end - following.begin > 1:
        border = segment.end + 1
        yield "later", (replace(segment, end=border), replace(following, begin=border))
    if segment.end - segment.begin > 1:
        border = segment.end - 1
        yield "earlier", (replace(segment, end=border), replace(following, begin=border))


class _Prices:
    """Prices of segments, each solved once."""

    def __init__(self, listing: Listing, family: Family, objective: Objective) -> None:
        self._listed = Listed(listing, objective, family)
        self._known: dict[Segment, float] = {}

    def sum(self, segments: Cover) -> float:
        """Return what segments cost."""
        return sum(self._price(each) for each in segments)

    def _price(self, segment: Segment) -> float:
        if segment not in self._known:
            ends = (0.0, self._listed.capacity)
            values = [SegmentProgram(self._listed, segment, held).solve().value for held in ends]
            self._known[segment] = sum(values) / len(values)
        return self._known[segment]
