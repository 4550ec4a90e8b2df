"""Time in bins: more events than a picture has pixels are added up, never left out."""

from __future__ import annotations

import numpy as np

from spmopt.analysis.steps import Reals
from spmopt.core.table import Ints

MOST_BINS = 540
"""About two pixels each."""


def edges(cycles: int, *marks: Ints) -> Reals:
    """Edges of bins from 0 to ``cycles``: the ``marks`` themselves where they are few enough."""
    found = np.unique(np.concatenate((*marks, [0, max(1, cycles)])))
    if found.size - 1 <= MOST_BINS:
        return found.astype(float)
    return np.linspace(0.0, float(cycles), MOST_BINS + 1)


def means(
    edges: Reals,
    spans: tuple[Ints, Ints],
    value: Reals | Ints,
    grouped: tuple[Ints, int] | None = None,
) -> Reals:
    """(groups, bins) Mean over every bin of what is ``value`` in [start, stop), 0 elsewhere.

    ``grouped`` has the group of each span and their number; without it there is one. What lasts no
    time counts for nothing. The sums of all bins, times their widths, are those of the spans,
    whichever the bins.
    """
    start, stop = spans
    group, groups = grouped or (np.zeros_like(start), 1)
    found = np.zeros((groups, edges.size - 1))
    for number in range(groups):
        chosen = group == number
        upto = _upto(edges, start[chosen], value[chosen]) - _upto(
            edges, stop[chosen], value[chosen]
        )
        found[number] = np.diff(upto) / np.diff(edges)
    return np.maximum(found, 0.0)


def _upto(edges: Reals, since: Ints, value: Reals | Ints) -> Reals:
    """(edges,) Integral up to every edge of values that begin at ``since`` and never end."""
    order = np.argsort(since, kind="stable")
    place = np.searchsorted(since[order], edges, side="left")
    rate = np.concatenate(([0.0], np.cumsum(value[order], dtype=float)))[place]
    begun = np.concatenate(([0.0], np.cumsum(value[order] * since[order].astype(float))))[place]
    found: Reals = rate * edges - begun
    return found
