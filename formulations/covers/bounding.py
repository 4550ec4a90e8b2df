"""The bound over all covers in a process of its own, beside the search of a cover.

Programs of segments are built in Python: two searches in one process would wait for each other.
What is solved is told as it comes, so that nothing is lost when the process is ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from formulations.covers.listed import Listed
from formulations.covers.paths import CheapestCover, SegmentArcs
from formulations.covers.segment import SegmentValue
from formulations.solver import apart
from spmopt.core.listing import Family, Listing, Segment
from spmopt.core.objective import Objective

Values = dict[Segment, SegmentValue]
News = tuple[CheapestCover, Values, Values]
"""A cover that is the cheapest as far as is known; segments and runs solved since the last."""


def cheapest(
    arcs: SegmentArcs, stop: Callable[[], bool], tell: Callable[[float], None]
) -> CheapestCover:
    """Find the cheapest cover in a process of its own; ``arcs`` takes what is solved there.

    Otherwise as :meth:`~.paths.SegmentArcs.cheapest`.
    """
    listed = arcs.listed
    found = CheapestCover(cover=(), value=0.0, exact=False)
    news = apart.stream(
        "formulations.covers.bounding:improve",
        listed.given,
        listed.objective,
        listed.family,
        stop=stop,
        library="highspy",
    )
    for found, solved, runs in news:
        arcs.runs.solved |= runs
        for segment, value in solved.items():
            if segment not in arcs.solved:
                arcs.take(segment, value)
        tell(found.value)
    return found


def improve(listing: Listing, objective: Objective, family: Family) -> Iterator[News]:
    """Yield cheapest covers, each after the programs of the one before, until one is exact."""
    listed = Listed(listing, objective, family)
    arcs = SegmentArcs(listed, float(listed.capacity))
    known = 0, 0
    for found in arcs.paths():
        solved, runs = list(arcs.solved.items()), list(arcs.runs.solved.items())
        yield found, dict(solved[known[0] :]), dict(runs[known[1] :])
        known = len(solved), len(runs)
